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
	symbols, err := f.Symbols()
	if err != nil {
		return fmt.Errorf(
			"%s has no symbols, by which the kernel's map of the RAM is found; give the image as it was built", path)
	}
	var root, highest, count, direct uint64
	ranges := elf.Symbol{}
	var failed error
	for _, v := range symbols {
		for name, to := range map[string]*uint64{"kernel/mem.root": &root, "kernel/mem.highest": &highest,
			"kernel/mem.numRanges": &count,
			"arch/amd64.direct":    &direct} {
			if v.Name == kernelPath+name {
				w, err := wordAt(s, v.Value)
				*to, failed = w, errors.Join(failed, err)
			}
		}
		if v.Name == kernelPath+"kernel/mem.ranges" {
			ranges = v
		}
	}
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
