package why

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/memory"
)

// Three values come from nowhere: of a key that a map has not got, of a channel that is closed, and of a word that nobody
// has written. Who has deleted the key, closed the channel or allocated the word has made them so.

// zeroValue is what the runtime answers with where a map has not got the key.
const zeroValue = "runtime.zeroVal"

// How the runtime's functions for maps take a key: by its bytes in a register, as a string, or by its address.
var mapKinds = map[string]uint64{"": 0, "_fast32": 4, "_fast64": 8, "_faststr": 16}

// mapFunctions are the entries of some of them, each with its kind; several in one image are of one kind.
func (w *Why) mapFunctions(names ...string) map[uint64]string {
	all := map[uint64]string{}
	for _, name := range names {
		for kind := range mapKinds {
			if a := w.entry(name + kind); a != 0 {
				all[a] = kind
			}
		}
	}
	return all
}

// keyOf reads the key that a function for maps was called with, at its start; nil if it cannot be read.
func (w *Why) keyOf(m *machine, e *entry, kind string) []byte {
	switch kind {
	case "_fast32", "_fast64":
		var b []byte
		for i := range mapKinds[kind] {
			b = append(b, byte(e.gpr[rcx]>>(8*i)))
		}
		return b
	case "_faststr":
		return m.bytes(e.gpr[rcx], e.gpr[rdi])
	}
	field, ok := w.fields["abi.MapType.Key"]
	if !ok {
		return nil
	}
	key, _ := m.word(e.gpr[rax] + uint64(field))
	size, _ := m.word(key) // the first word of a type
	return m.bytes(e.gpr[rcx], size)
}

// bytes reads n bytes, 4096 at most; nil if they cannot be read.
func (m *machine) bytes(addr, n uint64) []byte {
	if n > 4096 {
		return nil
	}
	b := make([]byte, n)
	if m.Read(b, addr) != nil {
		return nil
	}
	return b
}

// deleted finds who has deleted the key that the latest look-up in front of path[at] has not found. ok is false where
// it was not there before, or that cannot be told.
func (w *Why) deleted(ctx context.Context, path []entry, at int) (h Hop, ok bool, err error) {
	lookups := w.mapFunctions("runtime.mapaccess1", "runtime.mapaccess2")
	kind := ""
	for at--; at >= 0; at-- {
		if kind, ok = lookups[path[at].pc]; ok {
			break
		}
	}
	used, known := w.fields["maps.Map.used"]
	if at < 0 || !known {
		return h, false, nil
	}
	table, before := path[at].gpr[rbx], path[at].count
	key := w.keyOf(w.at, &path[at], kind)
	if key == nil || table == 0 {
		return h, false, nil
	}

	w.say("who deleted the key from the map at %#x last, before instruction %d", table, before)
	deletes, clears := w.mapFunctions("runtime.mapdelete"), w.entry("runtime.mapclear")
	last, err := w.lastCall(ctx, before, append(keys(deletes), clears), func(m *machine, e *entry) bool {
		return e.gpr[rbx] == table && (e.pc == clears || bytes.Equal(w.keyOf(m, e, deletes[e.pc]), key))
	})
	if err != nil || last == 0 {
		return h, false, err
	}
	if path, err = w.pathTo(ctx, last, windows[0]); err != nil {
		return h, false, err
	}
	call := &path[len(path)-1]
	h = w.hop(path, len(path)-1)
	h.How = "deleted"
	entries := func() uint64 { n, _ := w.at.word(table + uint64(used)); return n }
	had := entries()
	// It has deleted something if the map has less behind the call.
	behind, _ := w.at.word(call.gpr[rsp])
	if err = w.at.Break(behind); err == nil {
		err = w.at.Proceed()
	}
	return h, err == nil && entries() < had, err
}

// lastCall replays up to an instruction, and returns before which one a function was entered last where is is true; 0
// if it never was.
func (w *Why) lastCall(ctx context.Context, before uint64, functions []uint64, is func(*machine, *entry) bool) (last uint64, err error) {
	m, f, err := w.followed(ctx)
	if err != nil {
		return 0, err
	}
	defer w.keep(f)
	defer m.End()
	for _, f := range functions {
		if f != 0 {
			if err := m.Break(f); err != nil {
				return 0, err
			}
		}
	}
	if err := m.VM.StopAt(before); err != nil {
		return 0, err
	}
	for {
		if err := m.Proceed(); errors.Is(err, memory.ErrEnded) {
			return last, nil
		} else if err != nil {
			return 0, err
		}
		n, err := m.VM.Instructions()
		if err != nil || n >= before {
			return last, err
		}
		e, err := m.now()
		if err != nil {
			return 0, err
		}
		if is(m, &e) {
			last = n
			f.found(n, windows[0])
		}
		if err := m.Step(ctx); err != nil { // the stub would stop at the breakpoint again
			return 0, err
		}
	}
}

func keys(m map[uint64]string) (all []uint64) {
	for a := range m {
		all = append(all, a)
	}
	return all
}

// closed is for memory that path[i] has cleared, since a channel that was received from is closed: the word that says
// so, and the instruction in front of which it has done so.
func (w *Why) closed(path []entry, i int) (at int, p place, ok bool) {
	if start, _ := w.file.FuncStart(path[i].pc); start != w.memclr {
		return 0, p, false
	}
	if i = w.last(path[:i+1], w.memclr); i < 0 {
		return 0, p, false
	}
	to := path[i].gpr[rax]
	for k := i; ; {
		if k, ok = callerOf(path, k); !ok {
			return 0, p, false
		}
		calls := w.file.Lookup(path[k].pc, false)
		if len(calls) == 0 || !strings.HasPrefix(calls[len(calls)-1].Function, "runtime.") {
			return 0, p, false
		}
		channel := uint64(0)
		switch name := calls[len(calls)-1].Function; name {
		case "runtime.chanrecv":
			// chanrecv(channel, to, block); it clears the buffer's places, too.
			if at = w.last(path[:k], w.entry(name)); at >= 0 && path[at].gpr[rbx] == to {
				channel = path[at].gpr[rax]
			}
		case "runtime.selectgo":
			// selectgo(cases, order, pc, sends, receives, block): a case is a channel, and where its value goes.
			if at = w.last(path[:k], w.entry(name)); at >= 0 {
				for n := range min(path[at].gpr[rdi]+path[at].gpr[rsi], 1<<16) {
					if elem, _ := w.at.word(path[at].gpr[rax] + 16*n + 8); elem == to {
						channel, _ = w.at.word(path[at].gpr[rax] + 16*n)
					}
				}
			}
		default:
			continue
		}
		return at, place{kind: inMemory, addr: channel + uint64(w.fields["runtime.hchan.closed"]), size: 4}, channel != 0
	}
}

// allocated is for a word of zeros that path[at] has read by a pointer and nothing has written: who has allocated it.
func (w *Why) allocated(ctx context.Context, path []entry, at int, p place) (h Hop, ok bool, err error) {
	if v, ok := w.at.word(p.addr); !ok || v&mask(min(p.size, 8)) != 0 || p.kind != inMemory {
		return h, false, nil
	}
	for _, a := range path[at].inst.Args {
		m, isMemory := a.(x86asm.Mem)
		if from := addressPlaces(a); isMemory && len(from) > 0 && m.Base != x86asm.RSP && m.Base != x86asm.RBP {
			hops, _, err := w.chain(ctx, new(Story), path, at, from[0], func(h *Hop) bool {
				return h.Own && strings.HasPrefix(h.By, "runtime.mallocgc") && p.addr-h.Value < 1<<16
			})
			if n := len(hops); n > 0 && strings.HasPrefix(hops[n-1].By, "runtime.mallocgc") && hops[n-1].Own {
				h = hops[n-1]
				h.How, h.Place, h.Value, h.Store = "constant", p.String(), 0, true
				return h, true, nil
			}
			return h, false, err
		}
	}
	return h, false, nil
}
