package memory

// A dump, read from its beginning to its end, since it may come through a pipe. QEMU writes an ELF
// core: the program headers, the notes, and RAM, in the order of its physical addresses, which are
// in p_paddr (dump/dump.c). With paging=true it has a segment for each run of virtual addresses,
// with the physical one beside it, so that segments share bytes of the file: such a one is no pipe.
// The same walk of the tables then serves as with any other, if the tables are mapped. Anything
// that is no ELF file is RAM from address 0 on, as pmemsave writes it.

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Dump is a dump that is being read.
type Dump struct {
	r        *bufio.Reader
	file     io.ReaderAt // the same, if it is a file; nil: it is a pipe
	at       uint64      // read so far
	length   uint64      // of the file, in bytes; 0: it is not known
	segments []segment
	blocks   []Block
	cpus     []CPU
	direct   func(start, size uint64) (func(p []byte, addr uint64) error, error)
}

// segment is a part of a dump's file.
type segment struct{ off, addr, size uint64 }

// piece is how much of a dump is in memory at a time, in bytes.
const piece = 1 << 20

// Limits of what a dump may have: QEMU has a segment for a block of RAM, or for a run of pages.
const (
	mostSegments = 1 << 20
	mostNotes    = 4 << 20
)

// ErrDump is returned for a file that is no dump of a machine that is known here.
var ErrDump = errors.New("it is no dump of an x86-64 machine")

// OpenDump reads the beginning of a dump. size is that of the file, or -1 if it comes through a
// pipe. Errors are ErrDump, ErrCut and those of r.
func OpenDump(r io.Reader, size int64) (*Dump, error) {
	d := &Dump{r: bufio.NewReaderSize(r, piece)}
	if size >= 0 {
		d.file, _ = r.(io.ReaderAt)
		d.length = uint64(size)
	}
	head, err := d.r.Peek(len(elf.ELFMAG))
	if err != nil {
		return nil, cut(err)
	}
	switch {
	case string(head) == elf.ELFMAG:
		err = d.open(size)
	case string(head) == "KDUM", string(head) == "make":
		err = fmt.Errorf(
			"%w: it is in the format of kdump; have QEMU write it as ELF, dump-guest-memory without -z, -l, -s", ErrDump)
	case size < 0:
		err = ErrDump
	case size%PageSize != 0:
		err = fmt.Errorf("%w: neither ELF nor whole pages of RAM", ErrDump)
	default:
		d.segments = []segment{{0, 0, uint64(size)}}
		d.blocks = []Block{{0, uint64(size)}}
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// cut makes an early end an ErrCut.
func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrCut
	}
	return err
}

// read fills p from what comes next.
func (d *Dump) read(p []byte) error {
	n, err := io.ReadFull(d.r, p)
	d.at += uint64(n)
	return cut(err)
}

// decode reads a structure of the file from what comes next.
func (d *Dump) decode(v any) error {
	b := make([]byte, binary.Size(v))
	if err := d.read(b); err != nil {
		return err
	}
	_, err := binary.Decode(b, binary.LittleEndian, v)
	return err
}

// skip goes on to an offset.
func (d *Dump) skip(to uint64) error {
	for d.at < to {
		n, err := d.r.Discard(int(min(to-d.at, 1<<30)))
		d.at += uint64(n)
		if err != nil {
			return cut(err)
		}
	}
	return nil
}

// open reads an ELF dump up to its memory.
func (d *Dump) open(size int64) error {
	var h elf.Header64
	if err := d.decode(&h); err != nil {
		return err
	}
	if h.Ident[elf.EI_CLASS] != byte(elf.ELFCLASS64) ||
		h.Ident[elf.EI_DATA] != byte(elf.ELFDATA2LSB) || h.Type != uint16(elf.ET_CORE) ||
		h.Machine != uint16(elf.EM_X86_64) {
		return fmt.Errorf("%w: an ELF file of another kind", ErrDump)
	}
	count := uint64(h.Phnum)
	const progSize, sectionSize = 56, 64
	if h.Phnum == 0xffff { // PN_XNUM: the first section's sh_info has it
		if h.Shoff < d.at || h.Shoff > mostNotes || h.Phoff < h.Shoff+sectionSize {
			return fmt.Errorf("%w: too many segments", ErrDump)
		}
		var s elf.Section64
		if err := errors.Join(d.skip(h.Shoff), d.decode(&s)); err != nil {
			return err
		}
		count = uint64(s.Info)
	}
	if h.Phentsize != progSize || h.Phoff < d.at || h.Phoff > mostNotes ||
		count > mostSegments || count == 0 {
		return fmt.Errorf("%w: its program headers are damaged", ErrDump)
	}
	if err := d.skip(h.Phoff); err != nil {
		return err
	}
	var notes []segment
	for range count {
		var p elf.Prog64
		if err := d.decode(&p); err != nil {
			return err
		}
		s := segment{p.Off, p.Paddr, p.Filesz}
		if s.size > mostRAM || s.off > mostRAM || s.addr > mostRAM {
			return fmt.Errorf("%w: a segment of %#x bytes at %#x", ErrDump, s.size, s.addr)
		}
		if size >= 0 && s.off+s.size > uint64(size) {
			return ErrCut
		}
		switch kind := elf.ProgType(p.Type); {
		case kind == elf.PT_NOTE:
			notes = append(notes, s)
		case kind == elf.PT_LOAD && s.size > 0 && s.addr != ^uint64(0):
			d.segments = append(d.segments, s)
		}
	}
	slices.SortStableFunc(d.segments, func(a, b segment) int { return cmp.Compare(a.off, b.off) })
	if err := d.readNotes(notes); err != nil {
		return err
	}
	return d.findBlocks(size)
}

// readNotes reads the CPUs' registers.
func (d *Dump) readNotes(notes []segment) error {
	for _, n := range notes {
		if n.size > mostNotes || n.off < d.at || len(d.segments) > 0 && n.off+n.size > d.segments[0].off {
			return fmt.Errorf("%w: its notes are damaged", ErrDump)
		}
		b := make([]byte, n.size)
		if err := errors.Join(d.skip(n.off), d.read(b)); err != nil {
			return err
		}
		d.cpus = append(d.cpus, cpusOf(b)...)
	}
	return nil
}

// findBlocks makes the blocks of the segments, which may overlap, as those of virtual addresses do.
func (d *Dump) findBlocks(size int64) error {
	all := make([]Block, 0, len(d.segments))
	for _, s := range d.segments {
		lo, hi := s.addr&^(PageSize-1), (s.addr+s.size+PageSize-1)&^(PageSize-1)
		all = append(all, Block{lo, hi - lo})
	}
	d.blocks = Union(all)
	total := uint64(0)
	for _, b := range d.blocks {
		total += b.Size
	}
	switch {
	case total == 0:
		return fmt.Errorf("%w: there is no memory in it", ErrDump)
	case size >= 0 && total/2 > uint64(size): // blocks are whole pages, segments need not be
		return fmt.Errorf("%w: it says that it has more memory than it is long", ErrDump)
	}
	return nil
}

// CPUs implements [Source].
func (d *Dump) CPUs() []CPU { return d.cpus }

// Blocks implements [Source].
func (d *Dump) Blocks() []Block { return d.blocks }

// Direct has Copy take the memory from elsewhere where that is faster than a pipe: open returns
// what reads so many bytes from a physical address on. Where it fails, or has not at a segment's
// beginning what the pipe has, the memory comes by the pipe.
func (d *Dump) Direct(open func(start, size uint64) (read func(p []byte, addr uint64) error,
	err error)) {
	d.direct = open
}

// copyDirect gives the memory of a segment to put, from elsewhere, and reports whether it has. What
// the pipe has of the segment is in first, and put has that already.
func (d *Dump) copyDirect(s segment, first []byte,
	put func(addr uint64, data []byte) error) (done bool, err error) {
	read, err := d.direct(s.addr, s.size)
	if err != nil {
		return false, nil
	}
	buf := make([]byte, piece)
	n := uint64(len(first))
	if read(buf[:n], s.addr) != nil || !bytes.Equal(buf[:n], first) {
		return false, nil
	}
	for n < s.size {
		b := buf[:min(piece, s.size-n)]
		if err := read(b, s.addr+n); err != nil {
			return true, fmt.Errorf("%w: %w", ErrCut, err)
		}
		if err := put(s.addr+n, b); err != nil {
			return true, err
		}
		n += uint64(len(b))
	}
	return true, nil
}

// readAt reads what is at off: of what comes one after the other, that is the next.
func (d *Dump) readAt(b []byte, off uint64) error {
	if d.file == nil {
		return d.read(b)
	}
	n, err := d.file.ReadAt(b, int64(off))
	if n == len(b) {
		return nil
	}
	return cut(err)
}

// Copy implements [Source]. It can be called once.
func (d *Dump) Copy(put func(addr uint64, data []byte) error) error {
	segments := d.segments
	if d.file != nil {
		segments = d.once()
		left := d.length
		for _, s := range segments {
			if s.size > left {
				return fmt.Errorf("%w: two segments share bytes of the file", ErrDump)
			}
			left -= s.size
		}
	}
	buf := make([]byte, piece)
	direct := false // the segments up to now have come from elsewhere
	for i, s := range segments {
		if d.file == nil {
			if direct {
				var err error
				if direct, err = d.copyDirect(s, nil, put); err != nil {
					return err
				}
				if direct {
					continue
				}
			}
			if s.off < d.at {
				return fmt.Errorf("%w: two segments share bytes of the file", ErrDump)
			}
			if err := d.skip(s.off); err != nil {
				return err
			}
		}
		whole := s
		for s.size > 0 {
			b := buf[:min(piece, s.size)]
			err := d.readAt(b, s.off)
			if err != nil {
				return err
			}
			if err := put(s.addr, b); err != nil {
				return err
			}
			n := uint64(len(b))
			s.addr, s.off, s.size = s.addr+n, s.off+n, s.size-n
			if d.direct == nil || d.file != nil || i > 0 || s.addr != whole.addr+n {
				continue
			}
			if direct, err = d.copyDirect(whole, b, put); err != nil {
				return err
			}
			if direct {
				break
			}
		}
	}
	return nil
}

// once returns the segments in the order of their addresses, each address in one of them only.
func (d *Dump) once() (all []segment) {
	slices.SortStableFunc(d.segments, func(a, b segment) int { return cmp.Compare(a.addr, b.addr) })
	end := uint64(0)
	for _, s := range d.segments {
		if done := end - min(end, s.addr); done < s.size {
			s.addr, s.off, s.size = s.addr+done, s.off+done, s.size-done
			all = append(all, s)
			end = s.addr + s.size
		}
	}
	return all
}
