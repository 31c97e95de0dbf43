package linux

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// mmap and its family. Memory is committed where it is touched; only a single request
// that is out of all proportion is refused at once, so that Go can say so.

const (
	protMask        = 7
	mapType         = 0x0f
	mapShared       = 0x01
	mapPrivate      = 0x02
	mapSharedChecks = 0x03 // MAP_SHARED_VALIDATE
	mapFixed        = 0x10
	mapAnonymous    = 0x20
	mapNoReplace    = 0x100000
	madvDontNeed    = 4
	madvFree        = 8
	madvHugePage    = 14
	madvNoHugePage  = 15
	madvCollapse    = 25
	madvPopulateWr  = 23
	pageSize        = 4096
	mremapMayMove   = 1
	mincoreResident = 1

	// overcommit is by how many bytes a request may exceed the RAM. The runtime
	// makes tables of 32 MiB and more, of which it uses little.
	overcommit = 1 << 30
)

func (c *call) mmap() int64 {
	addr, size, prot, flags := c.args[0].Pointer(), c.args[1].Size(), mem.Prot(c.args[2].Word()&protMask), c.args[3].Word()
	if c.args[5].Word()%pageSize != 0 {
		return -eINVAL
	}
	if prot != 0 && size/pageSize > uintptr(mem.AllFrames())+overcommit/pageSize {
		return -eNOMEM
	}
	var f *file // nil: the memory begins as zero
	shared := false
	if flags&mapAnonymous == 0 {
		if f = get(c.args[4].FD()); f == nil || f.flags&oPath != 0 {
			return -eBADF
		}
		shared = flags&mapType != mapPrivate
		if e := mappable(f, size, c.args[5].Word(), prot, flags); e != 0 {
			return e
		}
	} else if t := flags & mapType; t != mapShared && t != mapPrivate {
		return -eINVAL
	}
	fixed, first := flags&(mapFixed|mapNoReplace) != 0, prot
	if f != nil {
		first = mem.ProtRead | mem.ProtWrite // until it is filled
	}
	at, e := mem.Map(addr, size, first, fixed, flags&mapNoReplace != 0)
	if e != 0 {
		return -int64(e)
	}
	if f != nil {
		e := fillMap(f, at, size, c.args[5].Int64())
		if e == 0 {
			e = -int64(mem.Protect(at, size, prot))
		}
		if e == 0 && shared {
			e = -int64(mem.Seal(at, size))
		}
		if e != 0 {
			mem.Discard(at, size)
			return e
		}
	}
	logMap(handle.Open, at, size)
	return int64(at)
}

// mappable returns 0 if size bytes of a file can be mapped, or why not, as Linux does
// (mm/mmap.c: do_mmap). The pages are a copy of the file's. So they can be shared only
// if neither they nor the file can change.
func mappable(f *file, size, off uintptr, prot mem.Prot, flags uintptr) int64 {
	regular := f.kind == node && vfs.Mode(f.node)&vfs.S_IFMT == vfs.S_IFREG
	switch end := off + size; {
	case size == 0:
		return -eINVAL
	case size >= 1<<47:
		return -eNOMEM
	case regular && (int64(end) < 0 || end < size):
		return -eOVERFLOW
	}
	access := f.flags & oAccess
	switch flags & mapType {
	case mapShared, mapSharedChecks:
		if prot&mem.ProtWrite != 0 && access != oRdwr {
			return -eACCES
		}
	case mapPrivate:
	default:
		return -eINVAL
	}
	if access == oWronly {
		return -eACCES
	}
	if !regular {
		return -eNODEV
	}
	if flags&mapType != mapPrivate && (prot&mem.ProtWrite != 0 || canChange(f.node)) {
		sayRefused(f.node)
		return -eNODEV
	}
	return 0
}

// canChange reports whether anyone can write to a file: who has it open, or can open it.
// The program is root, whom a file's permissions do not stop.
func canChange(id vfs.ID) bool {
	if vfs.Stat(id).Nlink != 0 {
		return true
	}
	for i := range files {
		if f := &files[i]; f.kind == node && f.node == id && f.flags&oAccess != 0 {
			return true
		}
	}
	return false
}

// saidRefused is the file of the last line that sayRefused has written. Under the kernel lock.
var saidRefused vfs.ID

// sayRefused says in the log that a file was not mapped: programs take other ways
// without a word. A program that tries again and again makes one line.
func sayRefused(id vfs.ID) {
	if id == saidRefused {
		return
	}
	saidRefused = id
	console.FreshLine()
	console.String("mmap of ")
	if path, e := vfs.Path(id, block[:]); e == 0 {
		console.Bytes(path)
	} else {
		console.String("a file without a name")
	}
	console.String(" with MAP_SHARED is refused (ENODEV): what is written would not be shared\n")
}

// fillMap copies what a file has from off on into a new area.
func fillMap(f *file, at, size uintptr, off int64) int64 {
	if have := vfs.Size(f.node); off < have {
		return min(readNode(f.node, at, min(size, uintptr(have-off)), off), 0)
	}
	return 0
}

func (c *call) munmap() int64 {
	e := mem.Discard(c.args[0].Pointer(), c.args[1].Size())
	if e == 0 {
		logMap(handle.Close, c.args[0].Pointer(), c.args[1].Size())
	}
	return -int64(e)
}

// logMap logs that the pages of size bytes have been mapped or unmapped.
func logMap(e handle.Event, at, size uintptr) {
	if handle.Logs(handle.Maps) {
		handle.Log(e, handle.Maps, at, (size+pageSize-1)&^(pageSize-1))
	}
}

func (c *call) mprotect() int64 {
	return -int64(mem.Protect(c.args[0].Pointer(), c.args[1].Size(), mem.Prot(c.args[2].Word()&protMask)))
}

func (c *call) madvise() int64 {
	switch c.args[2].Op() {
	case madvDontNeed, madvFree:
		e := mem.Forget(c.args[0].Pointer(), c.args[1].Size())
		if e == mem.EINVAL && c.args[0].Pointer()%pageSize == 0 {
			e = mem.ENOMEM // it lies beyond all memory
		}
		return -int64(e)
	case madvCollapse, madvPopulateWr:
		return -eINVAL
	}
	return 0 // the rest is about speed
}

// mincore says of each page whether it is in RAM.
func (c *call) mincore() int64 {
	if c.args[0].Pointer()%pageSize != 0 {
		return -eINVAL
	}
	if !inReach(c.args[0].Pointer(), c.args[1].Size()) {
		return -eNOMEM
	}
	for i := uintptr(0); i < (c.args[1].Size()+pageSize-1)/pageSize; i++ {
		if !mem.Allowed(c.args[0].Pointer()+i*pageSize, 1, false) {
			return -eNOMEM
		}
		v := uint8(0)
		if mem.Mapped(c.args[0].Pointer()+i*pageSize) != 0 {
			v = mincoreResident
		}
		if !outByte(c.args[2].Pointer()+i, v) {
			return -eFAULT
		}
	}
	return 0
}
