package vfs

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// A file's bytes: a tree of frames, as deep as the file's last page needs. If a frame is missing,
// the bytes are the archive's (which stays where the loader put it) or zeros.
//
// Bytes of a frame at and after the file's size are zero, so growing a file shows zeros. But
// programs may have written there in a file that was mapped, so such a file is cleaned when it
// grows.

// frameOf returns the frame with page p of the file, or 0.
func frameOf(n *node, p uint64) uintptr {
	if p>>(9*uint(n.height)) != 0 {
		return 0
	}
	a := n.data
	for l := n.height; l > 0 && a != 0; l-- {
		a = *word(a + uintptr(p>>(9*uint(l-1))&511*8))
	}
	return a
}

// makeFrame returns the frame with page p of the file; if there is none, it makes it and the tables
// above it. It returns 0 if memory has run out; new tables then stay until the file is cut.
func makeFrame(n *node, p uint64) uintptr {
	slot := slotOf(n, p)
	if slot == nil {
		return 0
	}
	if *slot == 0 {
		if *slot = frame(); *slot != 0 {
			n.frames++
		}
	}
	return *slot
}

// slotOf returns the slot for the address of page p's frame, and makes the tables above it.
func slotOf(n *node, p uint64) *uintptr {
	for p>>(9*uint(n.height)) != 0 {
		if n.data != 0 {
			t := frame()
			if t == 0 {
				return nil
			}
			*word(t) = n.data
			n.data = t
		}
		n.height++
	}
	slot := &n.data
	for l := n.height; l > 0; l-- {
		if *slot == 0 {
			if *slot = frame(); *slot == 0 {
				return nil
			}
		}
		slot = word(*slot + uintptr(p>>(9*uint(l-1))&511*8))
	}
	return slot
}

// nextFrame returns the first page from p on that has a frame.
func nextFrame(n *node, p uint64) (page uint64, ok bool) {
	for n.data != 0 && p>>(9*uint(n.height)) == 0 {
		a, l := n.data, n.height
		for l > 0 && a != 0 {
			l--
			a = *word(a + uintptr(p>>(9*uint(l))&511*8))
		}
		if a != 0 {
			return p, true
		}
		p = (p>>(9*uint(l)) + 1) << (9 * uint(l)) // after the pages of the missing table
	}
	return 0, false
}

// cut frees the frames from page p on.
func cut(n *node, p uint64) {
	if n.data == 0 {
		n.height = 0 // tables for which memory did not suffice
		return
	}
	if p>>(9*uint(n.height)) != 0 {
		return
	}
	before := dataFreed
	if cutTable(n.data, n.height, p) {
		n.data, n.height = 0, 0
	}
	n.frames -= dataFreed - before
}

// dataFreed counts the frames of data that cutTable freed. Under the kernel lock.
var dataFreed int64

// cutTable frees the frames from page p on under the table a (data if l is 0), and a itself if
// nothing is left. It reports whether it freed a.
func cutTable(a uintptr, l int32, p uint64) bool {
	percpu.AssertLocked()
	if l > 0 {
		shift := 9 * uint(l-1)
		left := false
		for i := range uint64(perTable) {
			slot := word(a + uintptr(i*8))
			if *slot == 0 {
				continue
			}
			lo := i << shift // first page beneath
			switch {
			case lo+1<<shift <= p:
				left = true
			case cutTable(*slot, l-1, max(p, lo)-lo):
				*slot = 0
			default:
				left = true
			}
		}
		if left {
			return false
		}
	}
	if l == 0 {
		dataFreed++
	}
	freeFrame(a)
	return true
}

// Page returns where the bytes of a regular file from off on lie: n bytes at addr, up to the end of
// their page or of the file; addr 0 means n zero bytes. n is 0 at and after the end of the file,
// and for any other kind of node. The bytes may be the archive's, so they must not be written.
// Kernel context.
func Page(id ID, off int64) (addr uintptr, n int) {
	f := at(id)
	if !f.is(S_IFREG) || off < 0 || off >= f.size {
		return 0, 0
	}
	n = int(min(pageSize-off%pageSize, f.size-off))
	if a := frameOf(f, uint64(off)/pageSize); a != 0 {
		return a + uintptr(off%pageSize), n
	}
	if off < f.origLen {
		return f.orig + uintptr(off), int(min(int64(n), f.origLen-off))
	}
	return 0, n
}

// PageForWrite returns where bytes of a regular file can be written: n bytes at addr for those from
// off on, up to the end of their page. It does not change the size; call Wrote with the bytes that
// were written. All other bytes must keep their values. Errors: EISDIR, EINVAL (not a regular file,
// or off negative), EFBIG, ENOSPC (out of frames). Kernel context.
func PageForWrite(id ID, off int64) (addr uintptr, n int, e Errno) {
	f := at(id)
	switch {
	case f.dir():
		return 0, 0, EISDIR
	case !f.is(S_IFREG) || off < 0:
		return 0, 0, EINVAL
	case off >= SizeMax:
		return 0, 0, EFBIG
	}
	if off > f.size {
		cleanTail(f)
	}
	p := uint64(off) / pageSize
	a := frameOf(f, p)
	if a == 0 {
		if a = makeFrame(f, p); a == 0 {
			return 0, 0, ENOSPC
		}
		if lo := int64(p) * pageSize; lo < f.origLen {
			move(a, f.orig+uintptr(lo), int(min(pageSize, f.origLen-lo)))
		}
	}
	return a + uintptr(off%pageSize), int(pageSize - off%pageSize), 0
}

// cleanTail clears the bytes after the end of a file, in its last page.
func cleanTail(f *node) {
	if o := uintptr(f.size % pageSize); f.mapped && o != 0 {
		if a := frameOf(f, uint64(f.size)/pageSize); a != 0 {
			zero(a+o, pageSize-o)
		}
	}
}

// Touch sets a file's times as a write would. Kernel context.
func Touch(id ID, now int64) {
	n := at(id)
	n.mtime, n.ctime = now, now
	n.own()
}

// Wrote says that the bytes lo <= offset < hi of a regular file were written through PageForWrite:
// the file grows to hi if it was shorter, and its times change. Kernel context.
func Wrote(id ID, lo, hi int64, now int64) {
	f := at(id)
	if hi <= lo {
		return
	}
	if hi > f.size {
		f.size = hi
	}
	Touch(id, now)
}

// SetSize makes a regular file shorter, which frees its end, or longer, with zeros that take no
// memory. Errors: EISDIR, EINVAL (not a regular file, or size negative), EFBIG. Kernel context.
func SetSize(id ID, size int64, now int64) Errno {
	f := at(id)
	switch {
	case f.dir():
		return EISDIR
	case !f.is(S_IFREG) || size < 0:
		return EINVAL
	case size > SizeMax:
		return EFBIG
	}
	if Writable(id) {
		c, e := askAttributes(id, ChangeSize, now)
		if c != nil {
			c.Size = size
		}
		return e
	}
	if f.shared() {
		if e := changing(id); e != 0 {
			return e
		}
	}
	resize(id, size, now)
	return 0
}

// resize does what SetSize says, after the checks.
func resize(id ID, size int64, now int64) {
	f := at(id)
	if size < f.size {
		p := uint64(size) / pageSize
		if o := uintptr(size % pageSize); o != 0 {
			if a := frameOf(f, p); a != 0 {
				zero(a+o, pageSize-o)
			}
			p++
		}
		if f.mapped {
			mem.CutFile(int32(id), uintptr(p), ^uintptr(0))
		}
		cut(f, p)
		f.origLen = min(f.origLen, size)
	}
	cleanTail(f)
	if f.size = size; size == 0 {
		f.lacks &^= LacksData
	}
	Touch(id, now)
	Notify(id, IN_MODIFY)
}

// Punch sets the bytes lo <= offset < hi of a regular file to zero, up to its size, and frees the
// pages that contain nothing else. Errors: ENOSPC (a zero in place of the archive's bytes takes a
// frame), EROFS, EMISSING. Kernel context.
func Punch(id ID, lo, hi int64, now int64) Errno {
	f := at(id)
	if e := changing(id); e != 0 {
		return e
	}
	if hi >= f.size {
		f.origLen = min(f.origLen, lo)
		hi = min(hi, (f.size+pageSize-1)&^(pageSize-1))
	}
	for lo < hi {
		p := uint64(lo) / pageSize
		n := min(hi-lo, int64(p+1)*pageSize-lo)
		a := frameOf(f, p)
		switch {
		case a != 0 && n == pageSize && lo >= f.origLen: // otherwise the archive's bytes would reappear
			if f.mapped {
				mem.CutFile(int32(id), uintptr(p), uintptr(p)+1)
			}
			*slotOf(f, p) = 0
			freeFrame(a)
			f.frames--
		case a != 0:
			zero(a+uintptr(lo%pageSize), uintptr(n))
		case lo < f.origLen:
			a, _, e := PageForWrite(id, lo)
			if e != 0 {
				return e
			}
			zero(a, uintptr(n))
		default:
			next, ok := nextFrame(f, p)
			if !ok {
				lo = hi
				continue
			}
			n = int64(next)*pageSize - lo
		}
		lo += n
	}
	Touch(id, now)
	return 0
}

// NextData returns the first offset from off on at which a regular file has data, or, with hole, a
// hole; the end of the file counts as one. ok is false if there is no such offset. Kernel context.
func NextData(id ID, off int64, hole bool) (first int64, ok bool) {
	f := at(id)
	if off < 0 || off >= f.size {
		return 0, false
	}
	if !hole {
		if off < f.origLen {
			return off, true
		}
		p, ok := nextFrame(f, uint64(off)/pageSize)
		off = max(off, int64(p)*pageSize)
		return off, ok && off < f.size
	}
	for off < f.size {
		p := off / pageSize
		if p*pageSize >= f.origLen && frameOf(f, uint64(p)) == 0 {
			return off, true
		}
		off = (p + 1) * pageSize
	}
	return f.size, true
}

// Lacks returns the number of frames that writing the bytes lo <= offset < hi of a regular file
// would need. Kernel context.
func Lacks(id ID, lo, hi int64) (n uint64) {
	f := at(id)
	end := uint64(hi+pageSize-1) / pageSize
	for p := uint64(lo) / pageSize; p < end; p++ {
		next, ok := nextFrame(f, p)
		if !ok || next >= end {
			return n + end - p
		}
		n += next - p
		p = next
	}
	return n
}

// WriteAt writes b, in the kernel's memory, into a regular file and returns how many bytes it
// wrote; if it wrote less than all, it returns the error. Errors are those of PageForWrite. Kernel
// context.
func WriteAt(id ID, b []byte, off int64, now int64) (int, Errno) {
	done := 0
	for done < len(b) {
		a, n, e := PageForWrite(id, off+int64(done))
		if e != 0 {
			Wrote(id, off, off+int64(done), now)
			return done, e
		}
		n = min(n, len(b)-done)
		move(a, address(b[done:]), n)
		done += n
	}
	Wrote(id, off, off+int64(done), now)
	return done, 0
}

// bytesAt returns the n bytes at addr.
func bytesAt(addr uintptr, n int) []byte { return unsafe.Slice((*byte)(arch.Pointer(addr)), n) }

// move copies n bytes between two places that do not overlap.
func move(to, from uintptr, n int) {
	i := uintptr(0)
	for ; i+8 <= uintptr(n); i += 8 {
		*word(to + i) = *word(from + i)
	}
	for ; i < uintptr(n); i++ {
		*(*byte)(arch.Pointer(to + i)) = *(*byte)(arch.Pointer(from + i))
	}
}

// zero clears n bytes.
func zero(a, n uintptr) {
	for ; n > 0 && a%8 != 0; a, n = a+1, n-1 {
		*(*byte)(arch.Pointer(a)) = 0
	}
	for ; n >= 8; a, n = a+8, n-8 {
		*word(a) = 0
	}
	for ; n > 0; a, n = a+1, n-1 {
		*(*byte)(arch.Pointer(a)) = 0
	}
}
