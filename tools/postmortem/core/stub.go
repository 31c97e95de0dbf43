package core

// Which memory of a machine behind a gdb stub is worth reading. A stub says nothing of RAM, and
// gives some megabytes a second. The page tables say what is mapped, and the kernel where RAM ends
// and which of it has never been used (kernel/mem, frames.go): that part is not in the core.

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// mostStubRAM bounds what a machine may say of where its RAM ends.
const mostStubRAM = 1 << 42

// wordAt reads the word at a physical address.
func wordAt(s *memory.Stub, addr uint64) (uint64, error) {
	var b [8]byte
	err := s.ReadPhysical(b[:], addr)
	return binary.LittleEndian.Uint64(b[:]), err
}

// StubBlocks tells a stub which memory of the machine to read, by the image at path. Errors are
// those of the stub and the file.
func StubBlocks(s *memory.Stub, path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	symbols, err := kernelVariables(f)
	if err != nil {
		return fmt.Errorf(
			"%s has no symbols, by which the kernel's map of the RAM is found; give the image as it was built", path)
	}
	var failed error
	word := func(name string) (w uint64) {
		if v, ok := symbols[name]; ok {
			var err error
			w, err = wordAt(s, v.Value)
			failed = errors.Join(failed, err)
		}
		return w
	}
	root, highest, count, direct := word("kernel/mem.root"), word("kernel/mem.highest"),
		word("kernel/mem.numRanges"), word("arch/amd64.direct")
	ranges := symbols["kernel/mem.ranges"]
	if failed != nil {
		return failed
	}
	if root == 0 || highest == 0 || highest > mostStubRAM {
		return ErrNoTables
	}

	s.SetDirectMap(direct)
	s.SetBlocks([]memory.Block{{Start: 0, Size: highest &^ (memory.PageSize - 1)}})
	var mapped []memory.Block
	space := &memory.Space{Memory: s, Root: root}
	if err := space.Walk(func(r memory.Run) error {
		mapped = append(mapped, memory.Block{Start: r.Physical, Size: r.Size})
		return nil
	}); err != nil {
		return err
	}
	var unused []memory.Block
	for i := range min(count, ranges.Size/16) {
		lo, err := wordAt(s, ranges.Value+16*i)
		hi, err2 := wordAt(s, ranges.Value+16*i+8)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if lo < hi && lo%memory.PageSize == 0 && hi%memory.PageSize == 0 {
			unused = append(unused, memory.Block{Start: lo, Size: hi - lo})
		}
	}
	s.SetBlocks(without(mapped, unused))
	return nil
}

// without merges blocks, and takes others out of them.
func without(all, out []memory.Block) (left []memory.Block) {
	out = memory.Union(out)
	for _, b := range memory.Union(all) {
		for _, o := range out {
			if o.End() <= b.Start || o.Start >= b.End() {
				continue
			}
			if o.Start > b.Start {
				left = append(left, memory.Block{Start: b.Start, Size: o.Start - b.Start})
			}
			b = memory.Block{Start: o.End(), Size: b.End() - min(o.End(), b.End())}
		}
		if b.Size > 0 {
			left = append(left, b)
		}
	}
	return left
}
