package stacks

// A function as far as stacks are concerned: how deep it gets by itself, and from how
// deep it calls whom.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol/unwind"
)

// function is one that a bound has to do with.
type function struct {
	name  string
	node  *code.Node
	own   int64 // the most bytes below its return address, without its calls
	sites []site
	wrong []string // why there is no bound
}

// site is a call or a jump to another function.
type site struct {
	at   uint64
	take int64 // bytes below the caller's return address, that of the call included
	to   int   // index of the node
}

// function returns what is known of the function with that index. fresh is for one
// that begins an entry's stack, and runs then what it is given to call.
func (p *Program) function(index int, fresh bool, runs string) *function {
	if fresh || runs != "" {
		return p.read(index, fresh, runs)
	}
	f := p.funcs[index]
	if f == nil {
		f = p.read(index, false, "")
		p.funcs[index] = f
	}
	return f
}

// fail adds what is wrong with a function.
func (f *function) fail(format string, a ...any) {
	f.wrong = append(f.wrong, fmt.Sprintf(format, a...))
}

func (p *Program) read(index int, fresh bool, runs string) *function {
	n := &p.graph.Nodes[index]
	f := &function{name: p.name(n.Start), node: n}
	parts := []*code.Node{n}
	for i := 0; i < len(parts); i++ {
		for _, s := range parts[i].Tails {
			if s.Func >= 0 && p.isPart(f, s.Func) && !slices.Contains(parts, &p.graph.Nodes[s.Func]) {
				parts = append(parts, &p.graph.Nodes[s.Func])
			}
		}
	}
	depth := p.depths(f, parts, fresh)
	if p.notes.sets["ends"][f.name] {
		f.wrong = nil
		return f
	}
	add := func(at uint64, to int, push int64) {
		d, ok := depth(at)
		if !ok {
			return // on no stack, or on another one
		}
		f.sites = append(f.sites, site{at: at, take: d + push, to: to})
	}
	for _, part := range parts {
		if part.Unknown > 0 || part.Cut {
			f.fail("%s has %d bytes that are no known instruction", f.name, part.Unknown)
		}
		for _, s := range part.Calls {
			if s.Func < 0 {
				f.fail("call of what is no function in the file (%#x) at %s", s.Target, p.where(s.At))
				continue
			}
			add(s.At, s.Func, 8)
		}
		for _, s := range part.Tails {
			switch {
			case s.Func < 0:
				f.fail("jump to what is no function in the file (%#x) at %s", s.Target, p.where(s.At))
			case !slices.Contains(parts, &p.graph.Nodes[s.Func]):
				add(s.At, s.Func, 0)
			}
		}
		for _, at := range part.Indirect {
			p.indirect(f, at, 8, runs, depth, add)
		}
		for _, at := range part.IndirectTails {
			p.indirect(f, at, 0, runs, depth, add)
		}
	}
	return f
}

// isPart reports whether the function with that index is a part of f which the compiler
// has put elsewhere: gcc's name.cold, which has f's name in DWARF. Its table counts from
// the whole function's return address.
func (p *Program) isPart(f *function, index int) bool {
	n := &p.graph.Nodes[index]
	rest, ok := strings.CutPrefix(p.name(n.Start), f.name)
	if !ok || n.Start == f.node.Start || rest != "" && !strings.HasPrefix(rest, ".cold") {
		return false
	}
	if _, isGo := p.f.GoFunc(n.Start); isGo {
		return false
	}
	row, ok := p.tables.Row(n.Start)
	return ok && (row.Source == unwind.EHFrame || row.Source == unwind.DebugFrame)
}

// indirect adds whom an indirect call may call, as the notes say.
func (p *Program) indirect(f *function, at uint64, push int64, runs string,
	depth func(uint64) (int64, bool), add func(uint64, int, int64)) {
	if _, ok := depth(at); !ok {
		return
	}
	if runs != "" {
		if to, ok := p.index(runs); ok {
			add(at, to, push)
		} else {
			f.fail("there is no function %s to run", runs)
		}
		return
	}
	in := p.source(at)
	list, ok := p.notes.calls[in]
	if !ok {
		f.fail("indirect call at %s, in %s", p.where(at), in)
		return
	}
	for i := range list {
		to, wrong := p.resolve(&list[i])
		if wrong != "" {
			f.fail("indirect call at %s, in %s: %s", p.where(at), in, wrong)
		}
		for _, t := range to {
			add(at, t, push)
		}
	}
}

// depths returns how deep the stack is before each instruction of f, and sets f.own.
// It has no answer for an instruction that runs on another stack.
func (p *Program) depths(f *function, parts []*code.Node,
	fresh bool) func(pc uint64) (int64, bool) {
	fn := &f.node.Func
	g, isGo := p.f.GoFunc(fn.Start)
	if isGo && !g.Asm && !g.SPWrite && !fresh {
		p.code.Insts(fn, func(pc uint64, _ code.Inst) bool {
			if d, ok := g.SPDelta(pc); ok {
				f.own = max(f.own, int64(d))
			}
			return true
		})
		return func(pc uint64) (int64, bool) {
			d, ok := g.SPDelta(pc)
			return int64(d), ok
		}
	}
	ends := func(target uint64) bool { return p.notes.sets["ends"][p.name(target)] }
	w := &spWalk{fresh: fresh, ends: ends}
	var fns []*code.Func
	for _, part := range parts {
		fns = append(fns, &part.Func)
	}
	states := w.follow(p.code, p.f.BytesAt, fns, p.rows(isGo))
	for pc, s := range states {
		if !s.known {
			continue
		}
		f.own = max(f.own, s.depth)
		if b, ok := p.f.BytesAt(pc, maxInst); ok && !isGo {
			f.own = max(f.own, s.depth+redZone(b))
		}
	}
	switch {
	case w.variable != 0:
		f.fail("%s has a frame of variable size at %s", f.name,
			p.where(w.variable))
	case w.grows != 0:
		f.fail("the stack of %s grows in a loop at %s", f.name,
			p.where(w.grows))
	case w.loads != 0 && !p.notes.sets["leaves"][f.name]:
		f.fail("%s loads SP at %s", f.name, p.where(w.loads))
	}
	return func(pc uint64) (int64, bool) {
		s, ok := states[pc]
		return s.depth, ok && s.known
	}
}

// maxInst is the longest instruction in bytes.
const maxInst = 15

// rows gives what call frame information says of an instruction. Go's own says less
// than its pc tables, and of assembly no more than those.
func (p *Program) rows(isGo bool) func(pc uint64, s *spState) bool {
	if isGo {
		return nil
	}
	var row unwind.Row
	have := false
	return func(pc uint64, s *spState) bool {
		if !have || pc < row.Start || pc >= row.End {
			if row, have = p.tables.Row(pc); !have || row.Source != unwind.EHFrame &&
				row.Source != unwind.DebugFrame {
				have = false
				return false
			}
		}
		if row.CFA.Kind != unwind.InReg {
			return false
		}
		switch row.CFA.Reg {
		case unwind.RSP:
			s.depth, s.known = row.CFA.Off-8, true
			return true
		case unwind.RBP:
			s.bp, s.framed = row.CFA.Off-8, true
		}
		return false
	}
}

// source is the function that has the instruction in the source, be it inlined.
func (p *Program) source(pc uint64) string {
	if calls := p.f.Lookup(pc, false); len(calls) > 0 {
		return calls[0].Function
	}
	return p.name(pc)
}

// name is the function that has the instruction in the code.
func (p *Program) name(pc uint64) string {
	if calls := p.f.Lookup(pc, false); len(calls) > 0 {
		return calls[len(calls)-1].Function
	}
	return fmt.Sprintf("%#x", pc)
}

// where is the instruction's place in the source, or its address.
func (p *Program) where(pc uint64) string {
	if calls := p.f.Lookup(pc, false); len(calls) > 0 && calls[0].File != "" {
		return place(calls[0])
	}
	return fmt.Sprintf("%#x", pc)
}

// place shortens a file to the last two elements of its path, which name the package.
func place(c lookup.Call) string {
	file := c.File
	if i := strings.LastIndexByte(file, '/'); i > 0 {
		if j := strings.LastIndexByte(file[:i], '/'); j >= 0 {
			file = file[j+1:]
		}
	}
	return fmt.Sprintf("%s:%d", file, c.Line)
}
