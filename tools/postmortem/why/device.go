package why

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A device writes to memory without an instruction: no watchpoint stops there. When it did is found
// by looking at the word at ever closer points; which device, by the buffers of the virtio queues.

// samples is how many points one replay looks at.
const samples = 48

// deviceWrite is a write to memory by a device.
type deviceWrite struct {
	count      uint64 // instructions run, behind it; 0: not known
	value      uint64 // what it has written, if count is known
	queue      string // the device's name and its queue; "": not known
	stored     bool   // an instruction may have written it just then: the device is in doubt
	descriptor uint64 // where the queue has the buffer's address, if the queue is known
}

// String says what has written.
func (d *deviceWrite) String() string {
	if d.queue == "" {
		return "a device"
	}
	return "a device (" + d.queue + ")"
}

// byDevice finds out which device has written a word that had another value after lo instructions
// than after hi. What is not found out is left out; count is 0 then. Errors are the context's and
// those of the replay's start.
func (w *Why) byDevice(p place, lo, hi uint64) (d deviceWrite, err error) {
	for hi-lo > 1 {
		w.say("when a device has written %#x, between instructions %d and %d", p.addr, lo, hi)
		m, err := w.start()
		if err != nil {
			return d, err
		}
		step := max((hi-lo)/samples, 1)
		var value uint64
		found := false
		for at := lo; ; at = min(at+step, hi) {
			if err = m.To(at); err != nil {
				break
			}
			v, _ := m.word(p.addr)
			if v &= mask(p.size); at == lo {
				value = v
			} else if v != value {
				lo, hi, found = max(at-step, lo), at, true
				d.value = v
				d.queue, d.descriptor = m.queueOf(p.addr)
				if e, err := m.now(); err == nil && step == 1 {
					d.stored = m.mayWrite(&e, p, false)
				}
				break
			}
			if at == hi {
				break
			}
		}
		m.End()
		if w.ctx.Err() != nil {
			return d, w.ctx.Err()
		}
		if !found {
			// A replay that stops at the very instruction at which the device has written may stop before or
			// behind that.
			return d, nil
		}
		d.count = hi
		if step == 1 {
			break
		}
	}
	return d, nil
}

// queueOf names the virtio device and its queue that have a buffer with this address, and says
// where the queue has that address; "" if there is none, or QEMU does not tell (it does from 7.2
// on: x-query-virtio).
func (m *machine) queueOf(addr uint64) (name string, descriptor uint64) {
	type device struct{ Path, Name string }
	var devices []device
	b, err := m.VM.QMP("x-query-virtio", nil)
	if err != nil || json.Unmarshal(b, &devices) != nil {
		return "", 0
	}
	for _, d := range devices {
		for q := range 16 {
			var status struct {
				Num  uint64 `json:"vring-num"`
				Desc uint64 `json:"vring-desc"`
			}
			b, err := m.VM.QMP("x-query-virtio-queue-status", map[string]any{"path": d.Path, "queue": q})
			if err != nil {
				break
			}
			if json.Unmarshal(b, &status) != nil || status.Desc == 0 || status.Num > 1<<15 {
				continue
			}
			for i := range status.Num {
				// struct virtq_desc: address, length, flags, next (virtio 1.2, 2.7.5). The kernel maps all RAM
				// where it is.
				at, _ := m.word(status.Desc + 16*i)
				n, _ := m.word(status.Desc + 16*i + 8)
				const writes = 2 // a flag: the device writes to the buffer
				if n>>32&writes != 0 && addr >= at && addr < at+n&0xffffffff {
					return fmt.Sprintf("%s, queue %d", strings.TrimSuffix(d.Name, "-device"), q),
						status.Desc + 16*i
				}
			}
		}
	}
	return "", 0
}
