package locks

import (
	"cmp"
	"maps"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// inst is one instruction.
type inst struct {
	x86asm.Inst
	pc, next uint64
}

// function is the code of one function with its blocks.
type function struct {
	name       string
	start, end uint64
	spDelta    func(pc uint64) (uint64, bool)
	insts      []inst
	leads      map[uint64]bool   // where a block begins
	taken      map[int64]bool    // stack words whose address is computed
	short      map[uint64]uint64 // of a call of a long way: the instruction of the short one
	*values
	before   map[uint64]*state   // of each block
	atReturn *state              // nil if it never returns
	next     map[uint64][]uint64 // of each block: the blocks that may follow
	ops      map[uint64][]op     // by the call's address
	calls    map[path]value      // those that name no function: where each led last
	targets  map[path]uint64     // the functions of these, as a stack has it; nil if none was asked
	work     int                 // see maxWork
	failed   bool
}

// maxCode bounds the code of a function that is looked at, in bytes.
const maxCode = 256 << 10

// read decodes a function.
func (p *Program) read(pc uint64) *function {
	g, ok := p.file.GoFunc(pc)
	if !ok || g.End-g.Entry > maxCode {
		return nil
	}
	if f := p.decoded[g.Entry]; f != nil {
		return f
	}
	text := p.bytes(g.Entry, g.End)
	f := &function{name: g.Name, start: g.Entry, end: g.End, spDelta: g.SPDelta,
		leads: map[uint64]bool{g.Entry: true}}
	for at := g.Entry; at < g.Entry+uint64(len(text)); {
		x, err := x86asm.Decode(text[at-g.Entry:], 64)
		if err != nil || x.Len == 0 {
			if text[at-g.Entry] == 0xcc {
				break // padding
			}
			// What x86asm does not know writes anything.
			x = x86asm.Inst{Len: 1}
			if n := p.length(at); n > 0 {
				x.Len = n
			}
		}
		f.insts = append(f.insts, inst{x, at, at + uint64(x.Len)})
		at += uint64(x.Len)
	}
	for i := range f.insts {
		in := &f.insts[i]
		if to, ok := in.target(); ok && in.Op != x86asm.CALL && f.holds(to) {
			f.leads[to] = true
		}
		if in.branches() {
			f.leads[in.next] = true
		}
	}
	p.decoded[g.Entry] = f
	return f
}

// fresh returns the function to be gone through with these targets.
func (f *function) fresh(targets map[path]uint64) *function {
	c := *f
	c.leads, c.targets = maps.Clone(f.leads), targets
	c.taken, c.short, c.values = make(map[int64]bool), make(map[uint64]uint64), newValues()
	return &c
}

func (f *function) holds(pc uint64) bool { return pc-f.start < f.end-f.start }

// index returns the number of the instruction at pc.
func (f *function) index(pc uint64) (int, bool) {
	return slices.BinarySearchFunc(f.insts, pc, func(i inst, pc uint64) int { return cmp.Compare(i.pc, pc) })
}

// target returns where a direct call or jump leads.
func (i *inst) target() (uint64, bool) {
	if rel, ok := i.Args[0].(x86asm.Rel); ok {
		return i.next + uint64(int64(rel)), true
	}
	return 0, false
}

// branches reports whether another instruction than the next may follow.
func (i *inst) branches() bool {
	switch i.Op {
	case x86asm.JMP, x86asm.RET, x86asm.UD2, x86asm.INT, x86asm.HLT:
		return true
	}
	return i.conditional()
}

func (i *inst) conditional() bool {
	if _, ok := i.Args[0].(x86asm.Rel); !ok {
		return false
	}
	return i.Op != x86asm.CALL && i.Op != x86asm.JMP
}
