package stacks

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/unwind"
)

// Program is a program of which the stacks are to be bounded. Its methods may not be
// called from several goroutines at once.
type Program struct {
	f      *symbol.File
	code   *code.Image
	graph  *code.Graph
	tables *unwind.Tables
	notes  *Notes
	names  map[string][]int // of all functions
	funcs  map[int]*function
	given  map[target]given
}

// ErrNoCode is returned for a file without code that can be read here.
var ErrNoCode = errors.New("there is no code for the 64-bit x86 with functions in it")

// New reads a program, with notes on it: [KernelNotes] for what runs in early and kernel
// context, others or nil for the rest, which has a runtime and goroutines. The file must
// stay open. It returns [ErrNoCode]. Host.
func New(f *symbol.File, notes *Notes) (*Program, error) {
	m := f.Code()
	if m == nil || len(m.Funcs()) == 0 {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNoCode)
	}
	if notes == nil {
		notes = &Notes{}
	}
	p := &Program{f: f, code: m, graph: m.Graph(), tables: unwind.New(f), notes: notes,
		funcs: map[int]*function{}, given: map[target]given{}}
	p.names = make(map[string][]int, len(p.graph.Nodes))
	for i := range p.graph.Nodes {
		name := p.name(p.graph.Nodes[i].Start)
		p.names[name] = append(p.names[name], i)
	}
	return p, nil
}

// index returns the function of that name. Of an assembly function and the wrapper that
// the linker makes for it, which have the same name, it is the former.
func (p *Program) index(name string) (index int, ok bool) {
	list := p.names[name]
	for _, i := range list {
		if g, ok := p.f.GoFunc(p.graph.Nodes[i].Start); ok && g.Asm {
			return i, true
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return list[0], true
}

// at returns the function that begins at the address.
func (p *Program) at(addr uint64) (index int, ok bool) {
	return slices.BinarySearchFunc(p.graph.Nodes, addr,
		func(n code.Node, addr uint64) int { return cmp.Compare(n.Start, addr) })
}

// Find returns the full name of a function: name itself, or the one name that ends with
// it behind a slash or a dot. An error says what there is. Host.
func (p *Program) Find(name string) (full string, err error) {
	if _, ok := p.names[name]; ok {
		return name, nil
	}
	var found []string
	for n := range p.names {
		if rest, ok := strings.CutSuffix(n, name); ok && rest != "" &&
			(strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, ".")) {
			found = append(found, n)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%s has no function %s; it may have been inlined", p.f.Name(), name)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%s could be %s or %s; name one", name, min(found[0], found[1]),
		max(found[0], found[1]))
}

// given is what is passed to a function.
type given struct {
	to    []int
	wrong string
}

// resolve returns whom a target of a note means.
func (p *Program) resolve(t *target) (to []int, wrong string) {
	switch {
	case t.variable != "":
		addr, size, ok := p.f.Symbol(t.variable)
		if !ok {
			return nil, "" // not linked, so not set
		}
		for off := uint64(0); off+8 <= size; off += 8 {
			if v, ok := p.word(addr + off); ok {
				if i, ok := p.funcValue(v); ok {
					to = append(to, i)
				}
			}
		}
		return to, ""
	case t.given != "":
		g, ok := p.given[*t]
		if !ok {
			g = p.gather(t)
			p.given[*t] = g
		}
		return g.to, g.wrong
	}
	i, ok := p.index(t.name)
	if !ok {
		return nil, "" // not linked, so not called
	}
	return []int{i}, ""
}

// word reads a word of the image. What the file does not have is zero.
func (p *Program) word(addr uint64) (uint64, bool) {
	b, ok := p.f.BytesAt(addr, 8)
	if !ok {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// funcValue returns the function of a Go func value: the address of a word that holds
// the function's.
func (p *Program) funcValue(v uint64) (index int, ok bool) {
	if v == 0 {
		return 0, false
	}
	if v, ok = p.word(v); !ok {
		return 0, false
	}
	return p.at(v)
}

// gather finds what all calls of a function pass in a register.
func (p *Program) gather(t *target) (g given) {
	callee := map[int]bool{}
	for _, i := range p.names[t.given] {
		callee[i] = true
	}
	if len(callee) == 0 {
		return g
	}
	for i := range p.graph.Nodes {
		n := &p.graph.Nodes[i]
		for _, c := range n.Calls {
			if c.Func < 0 || !callee[c.Func] || callee[i] {
				continue
			}
			v, ok := p.passed(n, c.At, t.reg)
			f, isFunc := p.funcValue(v)
			switch {
			case ok && v == 0: // nil
			case ok && isFunc:
				g.to = append(g.to, f)
			default:
				g.wrong = fmt.Sprintf("what is given to %s at %s is not known", t.given, p.where(c.At))
			}
		}
	}
	return g
}

// passed returns the constant that a register holds at a call: what the last instruction
// before it that writes the register has put there.
func (p *Program) passed(n *code.Node, call uint64, reg string) (v uint64, ok bool) {
	p.code.Insts(&n.Func, func(pc uint64, i code.Inst) bool {
		if pc >= call {
			return false
		}
		if i.Op != code.Other {
			if i.Op != code.Nop {
				ok = false // another way may lead here, or the callee has used it
			}
			return true
		}
		b, _ := p.f.BytesAt(pc, uint64(i.Len))
		x, err := x86asm.Decode(b, 64)
		if err != nil {
			ok = false
			return true
		}
		dst, isReg := x.Args[0].(x86asm.Reg)
		if !isReg || !same(dst, reg) {
			return true
		}
		mem, isMem := x.Args[1].(x86asm.Mem)
		switch {
		case x.Op == x86asm.LEA && isMem && mem.Base == x86asm.RIP:
			v, ok = pc+uint64(i.Len)+uint64(mem.Disp), true
		case x.Op == x86asm.XOR && x.Args[0] == x.Args[1]:
			v, ok = 0, true
		case x.Op == x86asm.CMP || x.Op == x86asm.TEST:
		default:
			ok = false
		}
		return true
	})
	return v, ok
}

// same reports whether r is the 64-bit register of that name, as Go's assembler calls
// it, or its lower half.
func same(r x86asm.Reg, name string) bool {
	if r >= x86asm.EAX && r <= x86asm.R15L {
		r += x86asm.RAX - x86asm.EAX
	}
	return r.String() == name || r.String() == "R"+name
}
