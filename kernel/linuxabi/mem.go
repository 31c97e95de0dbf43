package linuxabi

import (
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/kernel/resource"
)

// mmap and its family. Memory is committed where it is touched; only a single request
// that is out of all proportion is refused at once, so that Go can say so.

const (
	protMask        = 7
	mapPrivate      = 0x02
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
	addr, size, prot, flags := c.a, c.b, c.c, c.d
	if c.g%pageSize != 0 {
		return -eINVAL
	}
	if prot != 0 && size/pageSize > uintptr(mm.AllFrames())+overcommit/pageSize {
		return -eNOMEM
	}
	if flags&mapAnonymous == 0 {
		return c.mmapFile()
	}
	fixed := flags&(mapFixed|mapNoReplace) != 0
	at, e := mm.Map(addr, size, mm.Prot(prot&protMask), fixed, flags&mapNoReplace != 0)
	if e != 0 {
		return -int64(e)
	}
	logMap(resource.Open, at, size)
	return int64(at)
}

func (c *call) munmap() int64 {
	e := mm.Discard(c.a, c.b)
	if e == 0 {
		logMap(resource.Close, c.a, c.b)
	}
	return -int64(e)
}

// logMap logs that the pages of size bytes have been mapped or unmapped.
func logMap(e resource.Event, at, size uintptr) {
	if resource.Logs(resource.Maps) {
		resource.Log(e, resource.Maps, at, (size+pageSize-1)&^(pageSize-1))
	}
}

func (c *call) mprotect() int64 { return -int64(mm.Protect(c.a, c.b, mm.Prot(c.c&protMask))) }

func (c *call) madvise() int64 {
	switch c.c {
	case madvDontNeed, madvFree:
		e := mm.Forget(c.a, c.b)
		if e == mm.EINVAL && c.a%pageSize == 0 {
			e = mm.ENOMEM // it lies beyond all memory
		}
		return -int64(e)
	case madvCollapse, madvPopulateWr:
		return -eINVAL
	}
	return 0 // the rest is about speed
}

// mincore says of each page whether it is in RAM.
func (c *call) mincore() int64 {
	if c.a%pageSize != 0 {
		return -eINVAL
	}
	if !inReach(c.a, c.b) {
		return -eNOMEM
	}
	for i := uintptr(0); i < (c.b+pageSize-1)/pageSize; i++ {
		if !mm.Allowed(c.a+i*pageSize, 1, false) {
			return -eNOMEM
		}
		v := uint8(0)
		if mm.Mapped(c.a+i*pageSize) != 0 {
			v = mincoreResident
		}
		if !outByte(c.c+i, v) {
			return -eFAULT
		}
	}
	return 0
}
