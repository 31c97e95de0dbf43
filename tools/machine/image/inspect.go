package image

// An image is read back from its own bytes, by the rules a loader follows, so
// that what `zf` says of an image is what a loader will find in it.

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
)

// Info describes an ELF file as something to boot. Addresses are physical, in
// bytes.
type Info struct {
	BuildID string  // GNU build ID in hexadecimal; "" if there is none
	Loaders Loaders // the protocols that find their header in it; 0: not finished
	Entry   uint64  // address of the first instruction
	Start   uint64  // address of the first byte loaded
	FileEnd uint64  // address behind the last byte that comes from the file
	End     uint64  // address behind the last byte of memory (end of bss)
}

const (
	mebibyte = 1 << 20
	// spare is what must lie behind the bss, in bytes: the page tables (some 50
	// KiB), and what firmware keeps for itself at the end of RAM (128 KiB under
	// QEMU).
	spare = mebibyte / 2
)

// MinRAM returns the smallest memory, in bytes and a multiple of 1 MiB, that a
// machine must have to load the image and start it.
func (i *Info) MinRAM() uint64 {
	return (i.End + spare + mebibyte - 1) / mebibyte * mebibyte
}

// Inspect reads an ELF file as a loader does. A file that is laid out as an
// image but not finished has no Loaders and is no error; errors wrap
// [ErrNotELF], [ErrDynamic] or [ErrLayout].
func Inspect(file []byte) (*Info, error) {
	l, err := parse(file)
	if err != nil {
		return nil, err
	}
	if err := l.checkLoad(uint64(len(file))); err != nil {
		return nil, err
	}
	info := &Info{
		BuildID: l.buildID(file),
		Entry:   l.header.Entry,
		Start:   l.bias,
		FileEnd: l.fileEnd,
		End:     l.memEnd,
	}
	if h, off, ok := findMultiboot(file); ok &&
		h.Flags&multibootFlags == multibootFlags && uint64(h.HeaderAddr) == l.bias+off {
		info.Loaders |= Multiboot
	}
	for _, p := range l.progs {
		size := uint64(len(file))
		if elf.ProgType(p.Type) != elf.PT_NOTE || p.Off > size || p.Filesz > size-p.Off {
			continue
		}
		eachNote(file[p.Off:p.Off+p.Filesz], func(n note) {
			if n.owner == "Xen" && n.typ == notePhys32 && len(n.desc) >= 4 &&
				uint64(binary.LittleEndian.Uint32(n.desc)) == l.header.Entry {
				info.Loaders |= PVH
			}
		})
	}
	return info, nil
}

// InspectFile is [Inspect] for a file on disk; errors carry its path.
func InspectFile(path string) (*Info, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	info, err := Inspect(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return info, nil
}
