package why

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// Three values come from nowhere: of a key that a map has not got, of a channel that is closed, and
// of a word that nobody has written. Who has deleted the key, closed the channel or allocated the
// word has made them so.

// zeroValue is what the runtime answers with where a map has not got the key.
const zeroValue = "runtime.zeroVal"

// How the runtime's functions for maps take a key: by its bytes in a register, as a string, or by
// its address.
var mapKinds = map[string]uint64{"": 0, "_fast32": 4, "_fast64": 8, "_faststr": 16}

// mapFunctions are the entries of some of them, each with its kind; several in one image are of one
// kind.
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

// keyOf reads the key that a function for maps was called with, at its start; nil if it cannot be
// read.
func (w *Why) keyOf(m *machine, e *entry, kind string) []byte {
	switch kind {
	case "_fast32", "_fast64":
		return binary.LittleEndian.AppendUint64(nil, e.gpr[rcx])[:mapKinds[kind]]
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

// text reads the bytes of the string at an address, 4096 at most; nil if they cannot be read.
func (m *machine) text(addr uint64) []byte {
	p, _ := m.word(addr)
	n, _ := m.word(addr + 8)
	return m.bytes(p, n)
}

// deleted finds who has taken away the key that the latest look-up in front of path[at] has not
// found. No hops: that cannot be told.
func (w *Why) deleted(path []entry, at int) (hops []Hop, end string, err error) {
	lookups := w.mapFunctions("runtime.mapaccess1", "runtime.mapaccess2")
	kind, ok := "", false
	for at--; at >= 0; at-- {
		if kind, ok = lookups[path[at].pc]; ok {
			break
		}
	}
	used, known := w.fields["maps.Map.used"]
	if at < 0 || !known {
		return nil, "", nil
	}
	table, before := path[at].gpr[rbx], path[at].count
	key := w.keyOf(w.at, &path[at], kind)
	if key == nil || table == 0 {
		return nil, "", nil
	}

	w.say("who deleted the key from the map at %#x last, before instruction %d", table, before)
	deletes, clears := w.mapFunctions("runtime.mapdelete"), w.entry("runtime.mapclear")
	last, err := w.lastCall(0, before, append(slices.Collect(maps.Keys(deletes)), clears),
		func(m *machine, e *entry) bool {
			return e.gpr[rbx] == table && (e.pc == clears || bytes.Equal(w.keyOf(m, e, deletes[e.pc]), key))
		})
	if err != nil {
		return nil, "", err
	}
	if last == 0 {
		return w.neverPut(path[at], kind, key)
	}
	path, h, err := w.hopAt(last)
	if err != nil {
		return nil, "", err
	}
	h.How = "deleted"
	entries := func() uint64 { n, _ := w.at.word(table + uint64(used)); return n }
	had := entries()
	// It has deleted something if the map has less behind the call.
	behind, _ := w.at.word(path[len(path)-1].gpr[rsp])
	if err = w.at.Break(behind); err == nil {
		err = w.at.Proceed()
	}
	if err != nil || entries() >= had {
		return nil, "", err
	}
	return []Hop{h}, "the map had the key until then", nil
}

// neverPut is for a key that nobody has deleted from the map that was looked into: another map had
// it, whose place this one has taken; or nobody has ever put it in.
func (w *Why) neverPut(lookup entry, kind string, key []byte) (hops []Hop, end string, err error) {
	if w.Begins > 0 {
		return nil, "", nil
	}
	puts, clones := w.mapFunctions("runtime.mapassign"), w.entry("maps.clone")
	puts[w.entry("runtime.mapassign_fast64ptr")], puts[w.entry(
		"runtime.mapassign_fast32ptr")] = "_fast64", "_fast32"
	var into uint64 // the map that had it; 1: that is in doubt
	last, err := w.lastCall(0, lookup.count, append(slices.Collect(maps.Keys(puts)), clones),
		func(m *machine, e *entry) bool {
			if e.pc == clones {
				into = 1
			} else if e.gpr[rax] == lookup.gpr[rax] && bytes.Equal(w.keyOf(m, e, puts[e.pc]), key) {
				into = e.gpr[rbx]
			} else {
				return false
			}
			return true
		})
	if err != nil || last != 0 && (into == 1 || into == lookup.gpr[rbx]) {
		return nil, "", err
	}
	path, h, err := w.hopAt(lookup.count)
	if err != nil {
		return nil, "", err
	}
	if last == 0 {
		h.How, h.Place = "never", "the key "+keyText(kind, key)
		return []Hop{h}, "never written: nothing has put the key in", nil
	}
	hops, end, err = w.chain(new(Story), path, len(path)-1, register(rbx), nil)
	return hops, "another map had the key, and this one has taken its place; " + end, err
}

// keyText names a key of a map.
func keyText(kind string, key []byte) string {
	if kind == "_faststr" {
		return fmt.Sprintf("%.40q", key)
	}
	var n [8]byte
	if len(key) <= len(n) {
		copy(n[:], key)
	}
	return fmt.Sprint(binary.LittleEndian.Uint64(n[:]))
}

// missed is for a false or a zero that the standard library has answered at path[at], in a step of
// the program, or that the program has made itself: if that was a look-up in a map, or because of
// one, who has taken the key away. No hops: it was something else, or that cannot be told.
func (w *Why) missed(path []entry, at int, h *Hop) (hops []Hop, end string, err error) {
	switch {
	case strings.HasPrefix(h.By, "runtime.mapaccess2"),
		strings.HasPrefix(h.By, "internal/runtime/maps."):
		return w.deleted(path, at)
	case strings.HasPrefix(h.By, "internal/sync.(*HashTrieMap["):
		return w.deletedSync(path, at)
	case h.Own && h.By == "":
		if test, ok := w.branchBefore(path, at); ok && w.vain(path, test) && w.decides(path, test+1, at) {
			return w.deleted(path, test)
		}
	}
	return nil, "", nil
}

// vain reports whether path[test] asks whether a map had the key that was looked up right before,
// and a branch follows.
func (w *Why) vain(path []entry, test int) bool {
	in := &path[test].inst
	if in.Op != x86asm.TEST || in.Args[0] != x86asm.BL || in.Args[1] != x86asm.BL ||
		path[test+1].inst.Op.String()[0] != 'J' {
		return false
	}
	for i := test - 1; i >= max(0, test-6); i-- { // the value may be taken before
		if path[i].inst.Op == x86asm.RET {
			return strings.HasPrefix(w.function(path[i].pc, false), "runtime.mapaccess2")
		}
	}
	return false
}

// trie are the methods of the map behind sync.Map, by their names.
func (w *Why) trie(names ...string) (all []uint64) {
	for _, n := range names {
		all = append(all,
			w.entry("internal/sync.(*HashTrieMap[go.shape.interface {},go.shape.interface {}])."+n))
	}
	return all
}

// deletedSync is deleted for a sync.Map: its methods take the map, a dictionary, and the key as an
// interface.
func (w *Why) deletedSync(path []entry, at int) (hops []Hop, end string, err error) {
	load := w.trie("Load")[0]
	for at--; at >= 0 && path[at].pc != load; at-- {
	}
	if at < 0 || load == 0 {
		return nil, "", nil
	}
	lookup := path[at]
	key := w.keyOfAny(w.at, lookup.gpr[rcx], lookup.gpr[rdi])
	if key == nil {
		return nil, "", nil
	}
	same := func(m *machine, e *entry) bool {
		return e.gpr[rax] == lookup.gpr[rax] && e.gpr[rcx] == lookup.gpr[rcx] &&
			bytes.Equal(w.keyOfAny(m, e.gpr[rcx], e.gpr[rdi]), key)
	}
	clear := w.trie("Clear")[0]
	puts := w.trie("LoadOrStore", "Swap", "CompareAndSwap")
	w.say("who deleted the key from the sync.Map at %#x last, before instruction %d", lookup.gpr[rax],
		lookup.count)
	had := false // the key was put in before
	last, gone := uint64(0), uint64(0)
	_, err = w.lastCall(0, lookup.count, append(append(w.trie("LoadAndDelete", "Delete",
		"CompareAndDelete"), clear), puts...), func(m *machine, e *entry) bool {
		switch {
		case e.pc == clear && e.gpr[rax] != lookup.gpr[rax], e.pc != clear && !same(m, e):
			return false
		case slices.Contains(puts, e.pc):
			had = true
		case had:
			had, gone = false, e.count
		}
		last = max(last, gone)
		return false
	})
	if err != nil || had {
		return nil, "", err
	}
	how, place, end := "deleted", "", "the map had the key until then"
	if last == 0 {
		if w.Begins > 0 {
			return nil, "", nil
		}
		last = lookup.count
		how, place, end = "never", "the key", "never written: nothing has put the key in"
	}
	_, h, err := w.hopAt(last)
	if err != nil {
		return nil, "", err
	}
	h.How, h.Place = how, place
	return []Hop{h}, end, nil
}

// keyOfAny reads the value of an interface with these words; nil if it cannot be read.
func (w *Why) keyOfAny(m *machine, typ, data uint64) []byte {
	size, ok := m.word(typ) // abi.Type: Size_, PtrBytes, Hash, TFlag, Align_, FieldAlign_, Kind_
	kind, ok2 := m.word(typ + 16)
	if !ok || !ok2 {
		return nil
	}
	const kindMask, kindString, direct = 1<<5 - 1, 24, 1 << 5
	switch k := kind >> 56; {
	case k&direct != 0: // the pointer is the value
		return binary.LittleEndian.AppendUint64(nil, data)
	case k&kindMask == kindString:
		return m.text(data)
	}
	return m.bytes(data, size)
}

// zeroed reports whether path[i] is in the runtime's allocation, which has cleared the memory.
func (w *Why) zeroed(path []entry, i int) bool {
	for range 4 {
		call, ok := callerOf(path, i)
		if !ok {
			return false
		}
		i = call
		if strings.HasPrefix(w.function(path[i].pc, false), "runtime.mallocgc") {
			return true
		}
	}
	return false
}

// lastCall replays from one instruction up to another one, and returns before which one a function
// was entered last where is is true, nil meaning anywhere; 0 if it never was.
func (w *Why) lastCall(from, before uint64, functions []uint64,
	is func(*machine, *entry) bool) (last uint64, err error) {
	m, f, err := w.followed()
	if err != nil {
		return 0, err
	}
	defer w.keep(f)
	defer m.End()
	if err := m.To(from); err != nil {
		return 0, err
	}
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
		e, err := m.stop()
		switch {
		case errors.Is(err, memory.ErrEnded):
			return last, nil
		case err != nil || e.count >= before:
			return last, err
		case slices.Contains(functions, e.pc) && (is == nil || is(m, &e)):
			last = e.count
			f.found(last, windows[0])
		}
		if err := m.Step(m.ctx); err != nil { // the stub would stop at the breakpoint again
			return 0, err
		}
	}
}

// closed is for memory that path[i] has cleared, since a channel that was received from is closed:
// the word that says so, and the instruction in front of which it has done so.
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
		name := w.function(path[k].pc, false)
		if !strings.HasPrefix(name, "runtime.") {
			return 0, p, false
		}
		channel := uint64(0)
		switch name {
		case "runtime.chanrecv":
			// chanrecv(channel, to, block); it clears the buffer's places, too.
			if at = w.last(path[:k], w.entry(name)); at >= 0 && path[at].gpr[rbx] == to {
				channel = path[at].gpr[rax]
			}
		case "runtime.selectgo":
			// selectgo(cases, order, pc, sends, receives, block): a case is a channel, and where its value
			// goes.
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
		return at, bytesAt(channel+uint64(w.fields["runtime.hchan.closed"]), 4), channel != 0
	}
}

// allocated is for a word of zeros that path[at] has read by a pointer and nothing has written: who
// has allocated it.
func (w *Why) allocated(path []entry, at int, p place) (h Hop, ok bool, err error) {
	if v, ok := w.at.word(p.addr); !ok || v&p.mask() != 0 || p.kind != inMemory {
		return h, false, nil
	}
	for _, a := range path[at].inst.Args {
		m, isMemory := a.(x86asm.Mem)
		if from := addressPlaces(a); isMemory && len(from) > 0 && m.Base != x86asm.RSP &&
			m.Base != x86asm.RBP {
			hops, _, err := w.chain(new(Story), path, at, from[0], func(h *Hop) bool {
				return h.Own && strings.HasPrefix(h.By, "runtime.mallocgc") && p.addr-h.Value < 1<<16
			})
			if n := len(hops); n > 0 && strings.HasPrefix(hops[n-1].By, "runtime.mallocgc") &&
				hops[n-1].Own {
				h = hops[n-1]
				h.How, h.Place, h.to, h.Value, h.Store = "never", p.String(), p, 0, true
				return h, true, nil
			}
			return h, false, err
		}
	}
	return h, false, nil
}
