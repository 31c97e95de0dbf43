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

// Stacks returns the bounds of the kernel's stacks, in the order of its table. Host.
func (p *Program) Stacks() []Stack {
	var list []Stack
	for _, s := range p.notes.stacks {
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
