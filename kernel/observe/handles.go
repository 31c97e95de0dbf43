package observe

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/observe/stackid"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Package handle's connection to the kernel: its options, memory, and the stacks.

// The log's memory in bytes, unless options say otherwise.
const (
	defaultRing = 64 << 10
	defaultOpen = 4096 // things that may be open
	minOpen     = 64
)

// StartHandles starts the log, if the option record= asks for one. Early context, after mem.Init
// and before mem.Release.
func StartHandles() {
	if !parts.Observe {
		return
	}
	if off, ok := option.Word("memprofile"); ok && off == 0 {
		handle.SetBuildID(image.BuildID())
		handle.SendHeaps()
	}
	value, ok := option.Value("record")
	if !ok || ascii.Same(value, "off") {
		return
	}
	if wrong := handle.Select(value); wrong != nil || len(value) == 0 {
		option.Ignored("record", wrong,
			"want pages, maps, fds, threads, timers, futexes, user or all, with commas between")
		return
	}
	if !stackid.On() {
		option.Ignored("record", value, noDepot)
		return
	}
	open := uint64(defaultOpen)
	if handle.Wanted(handle.Pages) {
		open += min(mem.Total()/arch.PageSize, 1<<18)
	}
	var m handle.Memory
	m.RingBytes = logSize("record.ring", defaultRing, uint64(handle.MinRing))
	m.TableBytes = logSize("record.open", open, minOpen) * handle.EntryBytes
	m.Ring, m.Table = mem.Contiguous(m.RingBytes), mem.Contiguous(m.TableBytes)
	if m.Ring == 0 || m.Table == 0 {
		option.Ignored("record", value,
			"there is not enough RAM; make record.ring=, record.open= or depot= smaller")
		return
	}
	handle.SetBuildID(image.BuildID())
	handle.Start(&m)
	thread.OnEvent(logThread)
	if handle.Wanted(handle.Pages) {
		mem.OnFrame(logFrame)
	}
}

// logFrame logs a frame that is taken or freed.
func logFrame(frame uintptr, taken bool) {
	e := handle.Close
	if taken {
		e = handle.Open
	}
	handle.Log(e, handle.Pages, frame, arch.PageSize)
}

// logThread logs threads, and their waits for a futex and for a time.
func logThread(e thread.Event, t *thread.Thread, deadline uint64) {
	event := handle.Open
	if e == thread.Ended || e == thread.Woken {
		event = handle.Close
	}
	switch {
	case e == thread.Began || e == thread.Ended:
		handle.Log(event, handle.Threads, uintptr(t.TID), 0)
	case t.Why == thread.ForFutex:
		handle.LogWait(event, handle.Futexes, t.Key, 0, t.TID)
	case t.Why == thread.ForTime:
		left := uint64(0)
		if now := clock.Now(); e == thread.Waits && deadline > now {
			left = deadline - now
		}
		handle.Log(event, handle.Timers, handle.TimerSleep+uintptr(t.TID), uintptr(left))
	}
}

// logSize reads an option that is a number of at least least.
func logSize(name string, size, least uint64) uintptr {
	n, ok := option.Number(name)
	if ok && n >= least {
		return uintptr(n)
	}
	if ok {
		console.String(name)
		console.Printf(" is ignored: want a number from %d\n", least)
	}
	return uintptr(size)
}

// SendHandles sends a snapshot of the log, and the heap profile, when the machine ends, once. If
// that faults, it is another crash, which sends none.
func SendHandles(reason string) {
	if !parts.Observe || handlesSent {
		return
	}
	handlesSent = true
	handle.Send(reason)
}

var handlesSent bool // under the kernel lock; the panic path takes none
