package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// The latest events of the CPU that died (percpu/ring.go), at the end of its trace.

// lastEvents is the number of events in a trace. Set once at boot.
var lastEvents uint32

// usualEvents is the value of lastEvents without the option last=.
const usualEvents = 20

// diedAt is the value of the time stamp counter when the machine died. Panic path only.
var diedAt uint64

// SetLast reads the option last=N. Early context.
func SetLast() {
	lastEvents = usualEvents
	if n, ok := option.Number("last"); ok {
		lastEvents = uint32(n)
	}
}

// The kinds of events are the same in both packages.
const _ = -uint(uint(percpu.EventSend) ^ uint(tracer.EventSend))

// endEvents stops the event ring of the dying CPU.
func endEvents() {
	if diedAt == 0 {
		diedAt = clock.Counter()
	}
	percpu.This().EndRing()
}

// noteTrap records a fault as an event.
func noteTrap(r *percpu.Record, f *arch.TrapFrame) {
	addr := uintptr(0)
	if f.Trap == arch.TrapPage {
		addr = f.Addr
	}
	r.Note(percpu.EventFault, uint32(f.Trap)|uint32(f.Error)<<8, f.PC, addr)
}

// eventWords holds an event for the compact form. Panic path only.
var eventWords [tracer.EventWords]uintptr

// writeEvents writes the events of the CPU that died, the oldest first. They are left out of the
// screen's codes, which would need one code more.
func writeEvents(d *Details) {
	if d.other || diedAt == 0 || toCodes {
		return
	}
	r := percpu.This()
	n := uint32(0)
	for n < lastEvents {
		if _, ok := r.EventBefore(n); !ok {
			break
		}
		n++
	}
	for i := n; i > 0; i-- {
		e, _ := r.EventBefore(i - 1)
		ago := clock.Nanos(diedAt - min(e.When, diedAt))
		v := tracer.Event{Ago: ago, Kind: tracer.EventKind(e.Kind), Thread: uint32(e.Thread),
			Number: e.Number, A: uint64(e.A), B: uint64(e.B)}
		if v.Kind == tracer.EventLock {
			v.B = clock.Nanos(v.B)
		}
		if writer.Form >= tracer.Compact {
			eventWords = [...]uintptr{uintptr(v.Ago), uintptr(v.Kind) | uintptr(v.Thread)<<8 |
				uintptr(v.Number)<<32, uintptr(v.A), uintptr(v.B)}
			writer.Mem(tracer.EventMark+uintptr(n-i)*tracer.EventWords*8, eventWords[:])
			continue
		}
		name := ""
		if v.Kind == tracer.EventCall || v.Kind == tracer.EventReturn {
			name = linux.CallName(int(v.Number))
		}
		writer.Event(&v, name)
	}
}
