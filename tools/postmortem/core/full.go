package core

// A full core: all of a machine's memory, by the addresses that it had itself. The file is a copy
// of the RAM, pages of zeros left out as holes, and behind it the notes and the program headers.
// Those say of each run of virtual addresses where in the copy it lies, so that what is mapped
// twice, as the heap is in the kernel's map of all RAM, is in the file once. Nothing has to be kept
// in memory for that.
//
// Debuggers look for an address in one segment after the other, and there can be one for each page.
// When there are more than mostRuns, what lies scattered is copied once more, behind the RAM, in
// its virtual order.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// mostRuns is how many segments a core has, if that can be.
const mostRuns = 2048

// FullOptions say what a full core is made of.
type FullOptions struct {
	Path    string             // of the image
	Symbols Symbols            // of it
	Force   bool               // take the memory of another build, too
	Done    func(n, of uint64) // is told how many of how many bytes of RAM are copied; nil: nobody
}

// FullInfo says what a full core holds.
type FullInfo struct {
	Threads int
	RAM     uint64 // bytes
	Used    uint64 // of them, what is no page of zeros
	Reason  string // of the death; "": the machine had not died
	Missing error  // what could not be had beside the memory; nil: nothing
}

// Errors of WriteFull.
var (
	// ErrBuild is returned for the memory of another build.
	ErrBuild = errors.New("the machine runs another build")
	// ErrNoTables is returned when there are no page tables of the kernel.
	ErrNoTables = errors.New(
		"no page tables lead to the image: the memory is of another one, or not whole")
)

// WriteFull writes a full core of a machine to an empty file. Errors are those of the machine and
// the file, ErrBuild and ErrNoTables. Host.
func WriteFull(file *os.File, from memory.Source, o FullOptions) (info FullInfo, err error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return info, err
	}
	image, err := elf.Open(path)
	if err != nil {
		return info, fmt.Errorf("%s: %w", path, err)
	}
	defer image.Close()
	files, _, err := imageOf(path)
	if err != nil {
		return info, err
	}
	store, err := memory.NewStore(file, memory.PageSize, from.Blocks())
	if err != nil {
		return info, err
	}
	if err := store.Fill(from, o.Done); err != nil {
		return info, err
	}
	layout, missing := readLayout(path, image)
	info.Missing = missing
	space, err := findSpace(store, from.CPUs(), layout, image, o.Force)
	if err != nil {
		return info, err
	}

	var st state
	if missing == nil {
		if st, err = readState(layout, space, from.CPUs(), o.Symbols); err != nil {
			info.Missing = fmt.Errorf("the kernel's records of its threads are not whole: %w", err)
		}
	}
	if len(st.places) == 0 {
		for i, c := range from.CPUs() {
			st.places = append(st.places, place{thread{regs: c}, CPUThreads + i})
		}
	}
	if len(st.places) == 0 {
		return info,
			errors.New("no thread is known: the memory came without registers, and the kernel had none yet")
	}

	f := &fullFile{file: file, store: store, space: space, end: store.End()}
	if err := f.segments(); err != nil {
		return info, err
	}
	if missing == nil {
		// What cannot be read of the kernel's table is left out, as it is of another kernel.
		gaps, most, err := untouched(space, (&variables{layout: layout, read: space.Read}).areas())
		if err != nil {
			return info, err
		}
		f.zeros(gaps, most)
	}
	notes := notesOf(st.places, path, st.death, files, auxv(image.Entry))
	if err := f.finish(notes); err != nil {
		return info, err
	}
	for _, b := range store.Blocks() {
		info.RAM += b.Size
	}
	info.Threads, info.Used = len(st.places), store.Used
	if st.death != nil {
		info.Reason = st.death.Reason
	}
	return info, nil
}

// findSpace returns the address space of the kernel: of the page tables that a CPU uses, or the
// kernel's own, those that lead to the image.
func findSpace(store *memory.Store, cpus []memory.CPU, l *layout, image *elf.File,
	force bool) (*memory.Space, error) {
	var roots []uint64
	for _, c := range cpus {
		if cr3, ok := c["cr3"]; ok && c["cr0"]>>31 != 0 {
			roots = append(roots, cr3)
		}
	}
	// The image lies at physical addresses that are its virtual ones.
	var root [8]byte
	if s, ok := l.symbols["kernel/mem.root"]; ok && store.ReadPhysical(root[:], s.Value) == nil {
		roots = append(roots, binary.LittleEndian.Uint64(root[:]))
	}
	var first error
	for _, r := range roots {
		s := &memory.Space{Memory: store, Root: r}
		err := sameImage(s, image)
		if err == nil || force && errors.Is(err, ErrBuild) {
			return s, nil
		}
		if first == nil || errors.Is(err, ErrBuild) {
			first = err
		}
	}
	if errors.Is(first, ErrBuild) {
		return nil, first
	}
	return nil, ErrNoTables
}

// sameImage compares the notes of the image, which have its build ID, with those in memory.
func sameImage(s *memory.Space, image *elf.File) error {
	for _, p := range image.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz == 0 || p.Filesz > maxHeaders {
			continue
		}
		want, have := make([]byte, p.Filesz), make([]byte, p.Filesz)
		if _, err := p.ReadAt(want, 0); err != nil && err != io.EOF {
			return err
		}
		if err := s.Read(have, p.Vaddr); err != nil {
			return err
		}
		if !bytes.Equal(want, have) {
			return ErrBuild
		}
	}
	return nil
}

// fullFile is a core file that is being written, behind the copy of the RAM.
type fullFile struct {
	file  *os.File
	store *memory.Store
	space *memory.Space
	end   int64
	progs bytes.Buffer
	count int
}

// prog adds a segment.
func (f *fullFile) prog(r memory.Run, off int64) {
	flags := elf.PF_R
	if r.Write {
		flags |= elf.PF_W
	}
	if r.Execute {
		flags |= elf.PF_X
	}
	put(&f.progs, elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(flags), Off: uint64(off),
		Vaddr: r.Virtual, Paddr: r.Physical, Filesz: r.Size, Memsz: r.Size, Align: memory.PageSize})
	f.count++
}

// segments adds a segment for each run; or, if that is too many, one for all that lies behind each
// other by virtual addresses.
func (f *fullFile) segments() error {
	n := 0
	if err := f.space.Walk(func(memory.Run) error { n++; return nil }); err != nil {
		return err
	}
	if n <= mostRuns {
		return f.space.Walk(func(r memory.Run) error {
			at, _, _ := f.store.Offset(r.Physical)
			f.prog(r, at)
			return nil
		})
	}
	// A run that is alone stays where it is; what follows upon another one is copied.
	room := f.store.End() // what is copied is no more than what there is
	var group []memory.Run
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		whole := group[0]
		at, _, _ := f.store.Offset(whole.Physical)
		if len(group) > 1 {
			at = f.end
			whole.Size, whole.Physical = 0, 0
			for _, r := range group {
				if room -= int64(r.Size); room < 0 {
					return fmt.Errorf("%w: they map more than there is", memory.ErrTables)
				}
				if err := f.copy(r); err != nil {
					return err
				}
				whole.Size, whole.Write, whole.Execute = whole.Size+r.Size, whole.Write || r.Write,
					whole.Execute || r.Execute
			}
		}
		f.prog(whole, at)
		group = group[:0]
		return nil
	}
	err := f.space.Walk(func(r memory.Run) error {
		const large = 2 << 20 // a map of all RAM is made of such pages
		if l := len(group) - 1; l >= 0 && (group[l].Virtual+group[l].Size != r.Virtual ||
			r.Size >= large || group[l].Size >= large) {
			if err := flush(); err != nil {
				return err
			}
		}
		group = append(group, r)
		return nil
	})
	if err == nil {
		err = flush()
	}
	return err
}

// copy appends a run's memory to the file, but for zeros.
func (f *fullFile) copy(r memory.Run) error {
	var b, zero [memory.PageSize]byte
	for off := uint64(0); off < r.Size; off += memory.PageSize {
		if err := f.store.ReadPhysical(b[:], r.Physical+off); err != nil {
			return err
		}
		if b != zero {
			if _, err := f.file.WriteAt(b[:], f.end); err != nil {
				return err
			}
		}
		f.end += memory.PageSize
	}
	return nil
}

// finish writes the notes, the program headers and the header.
func (f *fullFile) finish(notes []byte) error {
	const sectionSize = 64
	var b, head bytes.Buffer
	at := uint64(f.end)
	b.Write(notes)
	b.Write(make([]byte, -b.Len()&7))
	h := header(at+uint64(b.Len()), 1+f.count)
	put(&b, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint64(len(notes)), Align: 4})
	b.Write(f.progs.Bytes())
	if 1+f.count >= 0xffff { // PN_XNUM: the first section's sh_info has the number
		h.Shoff, h.Shentsize, h.Shnum = at+uint64(b.Len()), sectionSize, 1
		put(&b, elf.Section64{Info: uint32(1 + f.count)})
	}
	if _, err := f.file.WriteAt(b.Bytes(), f.end); err != nil {
		return err
	}
	put(&head, h)
	_, err := f.file.WriteAt(head.Bytes(), 0)
	return err
}

// auxv is what Linux tells a program of itself, as far as debuggers look at it.
func auxv(entry uint64) []byte {
	const null, pageSize, entryPoint = 0, 6, 9
	var b bytes.Buffer
	put(&b, []uint64{pageSize, memory.PageSize, entryPoint, entry, null, 0})
	return b.Bytes()
}
