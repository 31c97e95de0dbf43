package qemu

// The state of a machine with which a replay begins is a qcow2 image out of a recording. QEMU's
// driver follows what an image says: to a backing file and a data file by their paths or addresses,
// which may be any file of the host or lie in the network. So the image is read here first, and
// only one that stands for itself reaches QEMU. The state in it only QEMU can read: SECURITY.md.
// Source: docs/interop/qcow2.txt in QEMU.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// errStates is for an image that is not handed to QEMU.
var errStates = errors.New("the machine's state in the recording is not one that zf has made")

// Bounds of an image of states.
const (
	maxDisk       = 64 << 30 // bytes of the disk that it would be, and of the state
	maxTable      = 32 << 20 // bytes of one of its tables
	maxExtensions = 64       // of the header
)

// Types of extensions of the header.
const (
	endOfExtensions = 0
	featureNames    = 0x6803f857 // texts alone
)

// qcow2 is an image that is looked at.
type qcow2 struct {
	r    io.ReaderAt
	size uint64 // of the file, bytes
}

// checkStates says why an image of size bytes is not handed to QEMU. The error wraps errStates.
func checkStates(r io.ReaderAt, size int64) error {
	q := &qcow2{r, uint64(size)}
	if err := q.check(); err != nil {
		return fmt.Errorf("%w: %v", errStates, err)
	}
	return nil
}

// read reads n bytes at an offset, which lie in the file.
func (q *qcow2) read(what string, offset uint64, n int) ([]byte, error) {
	if offset > q.size || uint64(n) > q.size-offset {
		return nil, fmt.Errorf("%s, %d bytes at %#x, is not in the file, which has %d bytes", what, n,
			offset, q.size)
	}
	b := make([]byte, n)
	if _, err := q.r.ReadAt(b, int64(offset)); err != nil {
		return nil, fmt.Errorf("%s: %v", what, err)
	}
	return b, nil
}

// table says what is wrong with the place of a table of n entries of eight bytes.
func (q *qcow2) table(what string, offset, n, cluster uint64) error {
	switch {
	case n*8 > maxTable:
		return fmt.Errorf("%s has %d entries", what, n)
	case n > 0 && (offset == 0 || offset%cluster != 0 || offset > q.size || n*8 > q.size-offset):
		return fmt.Errorf("%s, %d entries at %#x, is not in the file, which has %d bytes", what, n,
			offset, q.size)
	}
	return nil
}

func (q *qcow2) check() error {
	const short, long = 72, 104 // of the header of version 2, and least of version 3
	be := binary.BigEndian
	h, err := q.read("the header", 0, long)
	if err != nil {
		return err
	}
	version, bits := be.Uint32(h[4:]), be.Uint32(h[20:])
	end := uint64(short)
	if version == 3 {
		end = uint64(be.Uint32(h[100:]))
	}
	switch {
	case string(h[:4]) != "QFI\xfb" || version != 2 && version != 3:
		return fmt.Errorf("it is no qcow2 image of version 2 or 3: it begins with %q, version %d",
			h[:4], version)
	case be.Uint64(h[8:]) != 0 || be.Uint32(h[16:]) != 0:
		return errors.New("it has a backing file")
	case be.Uint32(h[32:]) != 0:
		return fmt.Errorf("it is encrypted, by method %d", be.Uint32(h[32:]))
	case bits < 9 || bits > 21:
		return fmt.Errorf("its clusters have 2 to the power of %d bytes", bits)
	case be.Uint64(h[24:]) > maxDisk:
		return fmt.Errorf("its disk has %d bytes", be.Uint64(h[24:]))
	case version == 3 && be.Uint64(h[72:])|be.Uint64(h[80:])|be.Uint64(h[88:]) != 0:
		return fmt.Errorf("it has features: incompatible %#x, compatible %#x, autoclear %#x",
			be.Uint64(h[72:]), be.Uint64(h[80:]), be.Uint64(h[88:]))
	case version == 3 && (be.Uint32(h[96:]) > 6 || end < long || end%8 != 0):
		return fmt.Errorf("its header has %d bytes, and counts of 2 to the power of %d bits", end,
			be.Uint32(h[96:]))
	}
	cluster := uint64(1) << bits
	if err := q.extensions(end, cluster); err != nil {
		return err
	}
	counts := uint64(be.Uint32(h[56:])) << (bits - 3)
	return errors.Join(
		q.table("its table of clusters", be.Uint64(h[40:]), uint64(be.Uint32(h[36:])), cluster),
		q.table("its table of counts", be.Uint64(h[48:]), counts, cluster),
		q.state(be.Uint64(h[64:]), be.Uint32(h[60:]), cluster))
}

// extensions looks at those of the header, from offset at on. They end in the first cluster.
func (q *qcow2) extensions(at, cluster uint64) error {
	for range maxExtensions {
		if at+8 > cluster {
			return nil // QEMU reads no further
		}
		e, err := q.read("an extension of its header", at, 8)
		if err != nil {
			return err
		}
		kind, n := binary.BigEndian.Uint32(e), uint64(binary.BigEndian.Uint32(e[4:]))
		switch {
		case kind == endOfExtensions:
			return nil
		case kind != featureNames:
			return fmt.Errorf(
				"its header has an extension of type %#x, as for a data file, a format or a key", kind)
		case n > cluster-at-8:
			return fmt.Errorf("an extension of its header has %d bytes", n)
		}
		at += 8 + (n+7)&^7
	}
	return fmt.Errorf("its header has over %d extensions", maxExtensions)
}

// state looks at the table of the states, at an offset, which has one.
func (q *qcow2) state(at uint64, n uint32, cluster uint64) error {
	if n != 1 || at%cluster != 0 {
		return fmt.Errorf("it has %d states at %#x, and not one", n, at)
	}
	const fixed = 40
	be := binary.BigEndian
	e, err := q.read("the state's entry", at, fixed)
	if err != nil {
		return err
	}
	extra := be.Uint32(e[36:])
	if extra > 1024 {
		return fmt.Errorf("the state's entry has %d bytes more", extra)
	}
	texts := int(be.Uint16(e[12:])) + int(be.Uint16(e[14:]))
	rest, err := q.read("the state's entry", at+fixed, int(extra)+texts)
	if err == nil && extra >= 8 && be.Uint64(rest) > maxDisk {
		err = fmt.Errorf("the state has %d bytes", be.Uint64(rest))
	}
	entries := uint64(be.Uint32(e[8:]))
	return errors.Join(err, q.table("the state's table of clusters", be.Uint64(e), entries, cluster))
}
