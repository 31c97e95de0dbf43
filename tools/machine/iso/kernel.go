package iso

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNotISO is returned for a file that is no ISO image made by [Make].
var ErrNotISO = errors.New("not an ISO image made by zf iso")

// ISO 9660 (ECMA-119): a volume descriptor in sector 16 has the record of the root
// folder; a folder is records of files, none across a sector's end. Numbers stand there
// twice, the low byte first and last.
const (
	sector = 2048
	// maxFolder bounds what is read of a folder, in bytes, and maxKernel a kernel.
	maxFolder = 1 << 20
	maxKernel = 1 << 30
)

// entry is a file or a folder.
type entry struct {
	at, size int64
	folder   bool
}

// Kernel returns the kernel's file in an ISO image. Errors wrap [ErrNotISO] or are those
// of reading.
func Kernel(r io.ReaderAt) (*io.SectionReader, error) {
	b, err := descriptor(r)
	if err != nil {
		return nil, err
	}
	_, e, ok := record(b[156:190])
	if !ok {
		return nil, fmt.Errorf("%w: no root folder", ErrNotISO)
	}
	for _, name := range strings.Split(strings.ToUpper(kernelPath), "/")[1:] {
		if !e.folder || e.size > maxFolder {
			return nil, fmt.Errorf("%w: no %s", ErrNotISO, kernelPath)
		}
		b := make([]byte, e.size)
		if _, err := r.ReadAt(b, e.at); err != nil {
			return nil, notISO(err)
		}
		if e, ok = lookUp(b, name); !ok {
			return nil, fmt.Errorf("%w: no %s", ErrNotISO, kernelPath)
		}
	}
	if e.folder || e.size > maxKernel {
		return nil, fmt.Errorf("%w: %s is no kernel", ErrNotISO, kernelPath)
	}
	return io.NewSectionReader(r, e.at, e.size), nil
}

// descriptor returns the volume descriptor, which each ISO image has.
func descriptor(r io.ReaderAt) ([]byte, error) {
	b := make([]byte, sector)
	if _, err := r.ReadAt(b, 16*sector); err != nil {
		return nil, notISO(err)
	}
	if string(b[1:6]) != "CD001" || b[0] != 1 {
		return nil, fmt.Errorf("%w: no volume descriptor", ErrNotISO)
	}
	return b, nil
}

func notISO(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is too short", ErrNotISO)
	}
	return err
}

// lookUp finds a name in the records of a folder.
func lookUp(b []byte, name string) (entry, bool) {
	for len(b) > 0 {
		n := int(b[0])
		if n == 0 { // the rest of the sector is empty
			b = b[min(len(b), (len(b)-1)%sector+1):]
			continue
		}
		if n > len(b) {
			break
		}
		// A file's name ends in its version.
		if got, e, ok := record(b[:n]); ok && (got == name || got == name+";1") {
			return e, true
		}
		b = b[n:]
	}
	return entry{}, false
}

// record reads a record of a folder.
func record(b []byte) (name string, e entry, ok bool) {
	if len(b) < 34 || int(b[32]) > len(b)-33 {
		return "", entry{}, false
	}
	e.at = int64(binary.LittleEndian.Uint32(b[2:])) * sector
	e.size = int64(binary.LittleEndian.Uint32(b[10:]))
	e.folder = b[25]&2 != 0
	return string(b[33 : 33+int(b[32])]), e, true
}
