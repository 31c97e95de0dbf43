package stacks

// The kernel's stacks.

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

//go:embed kernel.txt
var kernelText string

// KernelNotes are the notes on the kernel. Host.
func KernelNotes() *Notes {
	n, err := ParseNotes(strings.NewReader(kernelText))
	if err != nil {
		panic("kernel.txt: " + err.Error())
	}
	return n
}

// Stack is one of the kernel's stacks with its bound.
type Stack struct {
	Name string
	// Entry is the one that leads deepest, or the first one without a bound.
	Entry Entry
	Bound Bound
}

// KernelStacks returns the names of the stacks that are known, in the order of the
// kernel's table, and their entries. Host.
func KernelStacks() (names []string, entries map[string][]Entry) {
	n := KernelNotes()
	entries = map[string][]Entry{}
	for _, s := range n.stacks {
		if !slices.Contains(names, s.name) {
			names = append(names, s.name)
		}
		entries[s.name] = append(entries[s.name], s.entry)
	}
	return names, entries
}

// kernelPackage is where the kernel is in every program that has it.
const kernelPackage = "github.com/zeroframe/zeroframe/kernel"

// HasKernel reports whether the program has the kernel in it. Host.
func HasKernel(f *symbol.File) bool {
	_, _, ok := f.Symbol(kernelPackage + "/fault.Trap")
	return ok
}

// KernelContext reports whether the function of that full name runs in early and kernel
// context, so that [KernelNotes] hold for it. Host.
func KernelContext(name string) bool {
	rest, ok := strings.CutPrefix(name, strings.TrimSuffix(kernelPackage, "kernel"))
	first, _, _ := strings.Cut(rest, ".")
	first, _, _ = strings.Cut(first, "/")
	return ok && !strings.HasPrefix(rest, "kernel/crashlab") &&
		(first == "arch" || first == "boot" || first == "kernel" || first == "tracer")
}

// OnStack returns the bound that a function has on the kernel's stacks, and which of them it is
// the entry of, if it is one. It reports false if it has none there, or does not run there, as
// far as the notes tell: one that they say to end is not followed. Host.
func (p *Program) OnStack(name string) (b Bound, entryOf string, ok bool) {
	for _, s := range p.Stacks() {
		if s.Entry.Func == name && s.Entry.Fresh && s.Entry.Runs == "" && len(s.Bound.Why) == 0 {
			return s.Bound, s.Name, true
		}
	}
	if p.notes.sets["ends"][name] {
		return b, "", false
	}
	for i := range p.notes.stacks {
		w := p.walk(&p.notes.stacks[i].entry)
		if w == nil {
			continue
		}
		for _, k := range w.reach() {
			if w.reached[k].name == name {
				b = p.Bound(Entry{Func: name, Base: 8})
				return b, "", len(b.Why) == 0
			}
		}
	}
	return b, "", false
}

// Stacks returns the bounds of the kernel's stacks, in the order of its table. Host.
func (p *Program) Stacks() []Stack {
	var list []Stack
	for _, s := range p.notes.stacks {
		if _, linked := p.index(s.entry.Runs); s.entry.Optional && !linked {
			continue
		}
		b := p.Bound(s.entry)
		i := slices.IndexFunc(list, func(o Stack) bool { return o.Name == s.name })
		switch {
		case i < 0:
			list = append(list, Stack{s.name, s.entry, b})
		case len(list[i].Bound.Why) > 0:
		case len(b.Why) > 0 || b.Bytes > list[i].Bound.Bytes:
			list[i].Entry, list[i].Bound = s.entry, b
		}
	}
	return list
}
