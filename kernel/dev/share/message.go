package share

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Messages of 9P2000.L (Linux: include/net/9p/9p.h; diod's protocol.md): size[4] type[1] tag[2],
// then the type's fields, little-endian; a string is its length[2] and its bytes.

const (
	replyError    = 7
	askLopen      = 12
	askLcreate    = 14
	askSymlink    = 16
	askReadlink   = 22
	askGetattr    = 24
	askSetattr    = 26
	askReaddir    = 40
	askFsync      = 50
	askLink       = 70
	askMkdir      = 72
	askRenameat   = 74
	askUnlinkat   = 76
	askVersion    = 100
	askAttach     = 104
	askWalk       = 110
	askRead       = 116
	askWrite      = 118
	askClunk      = 120
	headBytes     = 7
	noFID         = 1<<32 - 1
	noTag         = 1<<16 - 1
	maxWalkNames  = 16
	qidBytes      = 13
	getattrBasic  = 0x7ff
	getattrBytes  = 153 // behind the head
	openDirectory = 0o200000
	openNoFollow  = 0o400000
)

// fids name the host's files: the root of a share, the file in use, a second one if needed, and the
// file that is open for writing.
const (
	rootFID = iota
	workFID
	otherFID
	writeFID
)

// bytesAt returns the n bytes at an address.
//
//go:noinline
func bytesAt(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(arch.Pointer(addr)), n) }

// writer writes a message at an address. If something does not fit, it is left out and bad is set.
type writer struct {
	addr uintptr
	n    int
	more int // bytes at stageOffset that follow
	bad  bool
}

func (w *writer) room(n int) []byte {
	if w.bad || questionBytes-w.n < n {
		w.bad = true
		return nil
	}
	w.n += n
	return bytesAt(w.addr+uintptr(w.n-n), n)
}

func (w *writer) u8(v byte) {
	if b := w.room(1); b != nil {
		b[0] = v
	}
}

func (w *writer) u16(v int) { w.little(uint64(v), 2) }

func (w *writer) u32(v uint32) { w.little(uint64(v), 4) }

func (w *writer) u64(v uint64) { w.little(v, 8) }

// little writes the n low bytes of a number, the lowest first. The kernel cannot use package
// encoding/binary: its own tests could not be built with it (TestKernelImports).
func (w *writer) little(v uint64, n int) {
	b := w.room(n)
	for i := range b {
		b[i] = byte(v >> (8 * i))
	}
}

func (w *writer) str(s []byte) {
	w.u16(len(s))
	for i := range s {
		w.u8(s[i])
	}
}

// begin starts a message with its first word, mostly a fid, and end finishes it.
func (w *writer) begin(kind byte, first uint32) {
	tag := 0
	if kind == askVersion {
		tag = noTag
	}
	w.n = 4
	w.u8(kind)
	w.u16(tag)
	w.u32(first)
}

func (w *writer) end() (n int, ok bool) {
	percpu.AssertLocked()
	if w.bad {
		return 0, false
	}
	n = w.n
	w.n = 0
	w.u32(uint32(n + w.more))
	return n, true
}

// reader reads the n bytes of a message at an address. After its end it returns zeros and sets bad.
type reader struct {
	addr uintptr
	n    int
	bad  bool
}

func (r *reader) bytes(n int) []byte {
	if r.bad || n < 0 || n > r.n {
		r.bad = true
		return nil
	}
	r.addr += uintptr(n)
	r.n -= n
	return bytesAt(r.addr-uintptr(n), n)
}

func (r *reader) u8() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() int { return int(r.little(2)) }

func (r *reader) u32() uint32 { return uint32(r.little(4)) }

func (r *reader) u64() uint64 { return r.little(8) }

// little reads a number of n bytes, the lowest first.
func (r *reader) little(n int) (v uint64) {
	b := r.bytes(n)
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

func (r *reader) str() []byte { return r.bytes(r.u16()) }
