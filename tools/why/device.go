package why

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// A device writes to memory without an instruction: no watchpoint stops there. When it did is found by looking
// at the word at ever closer points; which device, by the buffers of the virtio queues.

// samples is how many points one replay looks at.
const samples = 48

// byDevice says which device has written a word that had another value after lo instructions than after hi.
func (w *Why) byDevice(ctx context.Context, p place, lo, hi uint64) string {
	const words = "it was written by a device"
	for hi-lo > 1 {
		w.say("when a device has written %#x, between instructions %d and %d", p.addr, lo, hi)
		m, err := w.start(ctx)
		if err != nil {
			return words
		}
		step := max((hi-lo)/samples, 1)
		var value uint64
		var queue string
		found := false
		for at := lo; at <= hi; at += step {
			if m.to(at) != nil {
				break
			}
			v, _ := m.word(p.addr)
			if at == lo {
				value = v
			} else if v != value {
				lo, hi, found = at-step, at, true
				queue = m.queueOf(p.addr)
				break
			}
		}
		m.end()
		if !found {
			return words
		}
		if step == 1 {
			if queue != "" {
				return fmt.Sprintf("%s (%s), when %d instructions had been run", words, queue, hi)
			}
			return fmt.Sprintf("%s, when %d instructions had been run", words, hi)
		}
	}
	return words
}

// queueOf names the virtio device and its queue that have a buffer with this address; "" if there is none, or QEMU
// does not tell (it does from 7.2 on: x-query-virtio).
func (m *machine) queueOf(addr uint64) string {
	type device struct{ Path, Name string }
	var devices []device
	b, err := m.vm.QMP("x-query-virtio", nil)
	if err != nil || json.Unmarshal(b, &devices) != nil {
		return ""
	}
	for _, d := range devices {
		for q := range 16 {
			var status struct {
				Num   uint64 `json:"vring-num"`
				Desc  uint64 `json:"vring-desc"`
				InUse bool   `json:"inuse"`
			}
			b, err := m.vm.QMP("x-query-virtio-queue-status", map[string]any{"path": d.Path, "queue": q})
			if err != nil {
				break
			}
			if json.Unmarshal(b, &status) != nil || status.Desc == 0 || status.Num > 1<<15 {
				continue
			}
			for i := range status.Num {
				// struct virtq_desc: address, length, flags, next (virtio 1.2, 2.7.5). The kernel maps all RAM where it is.
				at, _ := m.word(status.Desc + 16*i)
				n, _ := m.word(status.Desc + 16*i + 8)
				if addr >= at && addr < at+n&0xffffffff {
					return fmt.Sprintf("%s, queue %d", strings.TrimSuffix(d.Name, "-device"), q)
				}
			}
		}
	}
	return ""
}
