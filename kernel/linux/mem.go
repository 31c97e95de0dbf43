package linux

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// mmap and its family. Memory is committed when it is touched; only a single request far larger
// than the RAM is refused at once, so that Go can report it.

const (
	protMask        = 7
	mapType         = 0x0f
	typeShared      = 0x01
	typePrivate     = 0x02
	typeChecked     = 0x03 // MAP_SHARED_VALIDATE
	mapFixed        = 0x10
	mapAnonymous    = 0x20
	mapNoReplace    = 0x100000
	madvDontNeed    = 4
	madvFree        = 8
	madvRemove      = 9
	madvCollapse    = 25
	madvPopulate    = 22
	madvPopulateWr  = 23
	madvWipe        = 18 // on fork, which does not exist
	pageSize        = 4096
	mincoreResident = 1

	// overcommit is the number of bytes by which a request may exceed the RAM. The runtime makes
	// tables of 32 MiB and more, of which it uses little.
	overcommit = 1 << 30
)

func sysMmap(c *call) int64 {
	addr, size, prot, flags := c.pointer(0), c.size(1), mem.Prot(c.word(2)&protMask), c.word(3)
	if c.word(5)%pageSize != 0 {
		return -eINVAL
	}
	if prot != 0 && flags&(mapAnonymous|mapType) != typeShared &&
		size/pageSize > uintptr(mem.AllFrames())+overcommit/pageSize {
		return -eNOMEM
	}
	var f *file // nil: the memory begins as zeros
	shared := false
	if flags&mapAnonymous == 0 {
		if f = usable(c.fd(4)); f == nil {
			return -eBADF
		}
		shared = flags&mapType != typePrivate
		if e := mappable(f, size, c.word(5), prot, flags); e != 0 {
			return e
		}
	} else if t := flags & mapType; t != typeShared && t != typePrivate {
		return -eINVAL
	}
	if !hasRoom(size, !shared && prot&mem.ProtWrite != 0) {
		return -eNOMEM
	}
	fixed, keep := flags&(mapFixed|mapNoReplace) != 0, flags&mapNoReplace != 0
	if f != nil {
		return mapFile(f, addr, size, prot, fixed, keep, c.word(5), !shared)
	}
	at, e := mem.Map(addr, size, prot, fixed, keep)
	dropUnmapped()
	if e != 0 {
		return -int64(e)
	}
	logMap(handle.Open, at, size)
	return int64(at)
}

// mappable returns 0 if size bytes of a file can be mapped, or the reason why not, as Linux does
// (mm/mmap.c: do_mmap).
func mappable(f *file, size, off uintptr, prot mem.Prot, flags uintptr) int64 {
	regular := f.isRegular()
	switch end := off + size; {
	case size == 0:
		return -eINVAL
	case size >= 1<<47:
		return -eNOMEM
	case regular && int64(end) < 0, end < size:
		return -eOVERFLOW
	}
	access := f.flags & oAccess
	switch flags & mapType {
	case typeShared, typeChecked:
		if prot&mem.ProtWrite != 0 && access != oRdwr {
			return -eACCES
		}
		if prot&mem.ProtWrite != 0 && regular && vfs.Writable(f.node) {
			return -eINVAL // as in Linux's 9p: the host would not see writes
		}
	case typePrivate:
	default:
		return -eINVAL
	}
	if access == oWronly {
		return -eACCES
	}
	if !regular {
		return -eNODEV
	}
	return 0
}

// mapFile maps the pages of a file themselves.
func mapFile(f *file, addr, size uintptr, prot mem.Prot, fixed, keep bool, off uintptr,
	private bool) int64 {
	id := f.node
	begins := !mem.IsMapped(int32(id))
	mayWrite := f.flags&oAccess == oRdwr && !vfs.Writable(id)
	at, e := mem.MapFile(addr, size, prot, fixed, keep, int32(id), off/pageSize, private, mayWrite)
	if begins && mem.IsMapped(int32(id)) {
		vfs.RetainMapped(id)
	}
	dropUnmapped()
	if e != 0 {
		return -int64(e)
	}
	logMap(handle.Open, at, size)
	return int64(at)
}

// dropUnmapped releases files that are no longer mapped. Call it when areas may have gone.
func dropUnmapped() {
	for id := mem.Unmapped(); id != 0; id = mem.Unmapped() {
		vfs.Release(vfs.ID(id))
	}
}

// FilePage maps the page of a file for an access at addr for which mem.ResolveFault has returned
// that a file is mapped there. It returns the verdict. Kernel context.
func FilePage(addr uintptr, write bool) mem.Verdict {
	percpu.AssertLocked()
	file, page := mem.FileAt(addr)
	id, off := vfs.ID(file), int64(page*pageSize)
	if off >= vfs.Size(id) {
		return mem.Beyond
	}
	frame, _, e := vfs.PageForWrite(id, off)
	if e != 0 {
		return mem.Beyond // there is no memory for it: the same signal as on Linux
	}
	v, changes := mem.Place(addr, frame, write)
	if changes {
		vfs.Touch(id, clock.Wall())
	}
	return v
}

func sysMunmap(c *call) int64 {
	e := mem.Discard(c.pointer(0), c.size(1))
	dropUnmapped()
	if e == 0 {
		logMap(handle.Close, c.pointer(0), c.size(1))
	}
	return -int64(e)
}

func sysMremap(c *call) int64 {
	const mayMove, fixed, dontUnmap = 1, 2, 4
	addr, old, new, flags := c.pointer(0), c.size(1), c.size(2), c.word(3)
	if flags&^(mayMove|fixed|dontUnmap) != 0 {
		return -eINVAL
	}
	if new > old && !hasRoom(new-old, true) {
		return -eNOMEM
	}
	at, e := mem.Remap(addr, old, new, c.pointer(4), flags&mayMove != 0, flags&fixed != 0,
		flags&dontUnmap != 0)
	dropUnmapped()
	if e != 0 {
		return -int64(e)
	}
	if flags&dontUnmap == 0 && old > 0 {
		logMap(handle.Close, addr, old)
	}
	logMap(handle.Open, at, new)
	return int64(at)
}

// sysMsync has nothing to write, because the pages of a mapped file are the file's own.
func sysMsync(c *call) int64 {
	const async, invalidate, sync = 1, 2, 4
	addr, flags := c.pointer(0), c.uint(2)
	if flags&^(async|invalidate|sync) != 0 || addr%pageSize != 0 || flags&(async|sync) == async|sync {
		return -eINVAL
	}
	return -int64(mem.Covered(addr, c.size(1)))
}

// sysMlock and the like keep pages from being swapped out, which never happens here (Linux:
// mm/mlock.c). They report whether the pages are mapped, and mlock also whether they can be
// accessed.
func sysMlock(c *call) int64   { return c.lock(true) }
func sysMunlock(c *call) int64 { return c.lock(false) }

func sysMlock2(c *call) int64 {
	const onFault = 1
	if c.uint(2)&^onFault != 0 {
		return -eINVAL
	}
	return c.lock(c.uint(2) == 0)
}

func sysMlockall(c *call) int64 {
	const current, future, onFault = 1, 2, 4
	if flags := c.uint(0); flags&^(current|future|onFault) != 0 || flags&(current|future) == 0 {
		return -eINVAL
	}
	return 0
}

// lock checks the pages that hold the bytes; with touch each must be accessible.
func (c *call) lock(touch bool) int64 {
	lo := c.pointer(0) &^ (pageSize - 1)
	size := pageUp(c.size(1) + c.pointer(0)%pageSize)
	switch {
	case lo+size < lo:
		return -eINVAL
	case size == 0:
		return 0
	case mem.Covered(lo, size) != 0:
		return -eNOMEM
	}
	for i := 0; touch; i++ {
		a, ok := mem.AreaAt(i)
		if !ok || a.Lo >= lo+size {
			break
		}
		if a.Hi > lo && a.Prot == 0 {
			return -eNOMEM
		}
	}
	return 0
}

func pageUp(n uintptr) uintptr { return (n + pageSize - 1) &^ (pageSize - 1) }

// logMap logs that size bytes of pages were mapped or unmapped.
func logMap(e handle.Event, at, size uintptr) {
	if handle.Logs(handle.Maps) {
		handle.Log(e, handle.Maps, at, pageUp(size))
	}
}

func sysMprotect(c *call) int64 {
	return -int64(mem.Protect(c.pointer(0), c.size(1), mem.Prot(c.word(2)&protMask)))
}

func sysMadvise(c *call) int64 {
	if size := c.size(1); pageUp(size) < size {
		return -eINVAL
	}
	switch c.op(2) {
	case madvRemove, madvCollapse, madvPopulate, madvPopulateWr:
		return -eINVAL
	case madvWipe:
		if mem.HasFile(c.pointer(0), c.size(1)) {
			return -eINVAL
		}
	case madvDontNeed, madvFree:
		if c.op(2) == madvFree && mem.HasFile(c.pointer(0), c.size(1)) {
			return -eINVAL
		}
		e := mem.Forget(c.pointer(0), c.size(1))
		if e == mem.EINVAL && c.pointer(0)%pageSize == 0 {
			e = mem.ENOMEM // it lies outside all mappings
		}
		return -int64(e)
	}
	// The other advice only affects speed.
	if c.pointer(0)%pageSize != 0 || c.op(2) > madvCollapse || c.op(2)-5 < 3 {
		return -eINVAL
	}
	return -int64(mem.Covered(c.pointer(0), c.size(1)))
}

// sysMincore says for each page whether it is in RAM.
func sysMincore(c *call) int64 {
	if c.pointer(0)%pageSize != 0 {
		return -eINVAL
	}
	if !inReach(c.pointer(0), c.size(1)) {
		return -eNOMEM
	}
	for i := uintptr(0); i < pageUp(c.size(1))/pageSize; i++ {
		at := c.pointer(0) + i*pageSize
		if mem.Covered(at, 1) != 0 {
			return -eNOMEM
		}
		v := uint8(0)
		if mem.InRAM(at) || inRAM(mem.FileAt(at)) {
			v = mincoreResident
		}
		if !outByte(c.pointer(2)+i, v) {
			return -eFAULT
		}
	}
	return 0
}

// inRAM reports whether a page of a file is in RAM and not a hole.
func inRAM(file int32, page uintptr) bool {
	addr, n := uintptr(0), 0
	if file != 0 {
		addr, n = vfs.Page(vfs.ID(file), int64(page*pageSize))
	}
	return n > 0 && addr != 0
}
