package core

import (
	"debug/elf"
	"slices"
	"sync"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// Running is what the kernel's records say of a machine with one CPU that runs, and stands still
// for a debugger. They are read by virtual addresses, with the function that each method takes.
type Running struct{ look func() (*layout, error) }

// Thread is one of the program's, without the CPU. It stands where it has lost it, or has entered
// the kernel.
type Thread struct {
	ID        int
	Registers memory.CPU
	FPU       []byte // an FXSAVE area; nil: the thread is in a system call
}

// NewRunning takes the path of the image that the machine runs.
func NewRunning(path string) *Running {
	return &Running{sync.OnceValues(func() (*layout, error) {
		f, err := elf.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readLayout(path, f)
	})}
}

// Untouched reports whether an address that is not mapped is of memory that the program has and has
// never touched.
func (r *Running) Untouched(read func(p []byte, addr uint64) error, addr uint64) bool {
	l, err := r.look()
	if err != nil {
		return false
	}
	return slices.ContainsFunc((&variables{layout: l, read: read}).areas(),
		func(a area) bool { return a.lo <= addr && addr < a.hi })
}

// Threads returns the threads that are not what the CPU runs, which has these registers. There are
// none where the kernel's records cannot be read, or the machine dies.
func (r *Running) Threads(read func(p []byte, addr uint64) error, cpu memory.CPU) (all []Thread) {
	l, err := r.look()
	if err != nil {
		return nil
	}
	k := &kernelState{variables: variables{layout: l, read: read}, cpus: []memory.CPU{cpu},
		seen: map[int]bool{}}
	record := k.word(k.variable("kernel/percpu.records"), 8)
	if k.deadCPU([]uint64{record}) >= 0 || k.err != nil {
		return nil
	}
	k.cpu(0, record, -1)
	k.waiting()
	for _, p := range k.places {
		if p.id != k.first && p.regs["fs_base"] != 0 {
			all = append(all, Thread{p.id, p.regs, p.fpu})
		}
	}
	return all
}
