package vfs

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Small objects in page frames. An object is named by its index, from 1 up; two levels of tables
// lead from there to its frame. Freed objects are a list linked through their first word; their
// frames are kept for new objects.

const (
	pageSize  = arch.PageSize
	perTable  = pageSize / 8 // words of a frame
	numTables = 256
)

// slab holds objects of one size.
type slab struct {
	size     uintptr // of an object, in bytes; a multiple of 8
	perFrame int32
	fresh    int32 // objects below this index have been handed out at some time; 0 none yet
	free     int32 // first freed object; 0 ends the list
	used     int32
	tables   [numTables]uintptr // frames of addresses of frames of objects
}

// frames is the number of frames that the tree holds. Under the kernel lock.
var frames int

// kept is the number of free frames that the tree leaves to others. Set once at boot.
var kept uint64

// Keep makes the tree leave that many free frames to others: when memory runs out, programs get
// ENOSPC and still have the memory to handle it. It is 0 until then. Any context.
func Keep(n uint64) { kept = n }

// FreeFrames returns how many frames the tree may still take. Any context.
func FreeFrames() uint64 {
	n := mem.FreeFrames()
	return n - min(n, kept)
}

// frame returns a zeroed frame, or 0 if memory has run out.
func frame() uintptr {
	percpu.AssertLocked()
	if FreeFrames() == 0 {
		return 0
	}
	f := mem.Frame()
	if f != 0 {
		frames++
	}
	return f
}

func freeFrame(f uintptr) {
	percpu.AssertLocked()
	mem.FreeFrame(f)
	frames--
}

// word is the 8 bytes at an address.
func word(a uintptr) *uintptr { return (*uintptr)(arch.Pointer(a)) }

// at returns the address of object i.
func (s *slab) at(i int32) uintptr {
	percpu.AssertLocked()
	f := uintptr(i / s.perFrame)
	return *word(s.tables[f/perTable] + f%perTable*8) + uintptr(i%s.perFrame)*s.size
}

// take returns a zeroed object, or 0 if memory or indices have run out.
func (s *slab) take() int32 {
	i := s.free
	if i != 0 {
		s.free = int32(*word(s.at(i)))
	} else {
		if s.fresh == 0 {
			s.fresh = 1 // 0 is no object; its room stays empty
			if !s.grow(0) {
				s.fresh = 0
				return 0
			}
		}
		i = s.fresh
		if i%s.perFrame == 0 && !s.grow(uintptr(i/s.perFrame)) {
			return 0
		}
		s.fresh++
	}
	s.used++
	zero(s.at(i), s.size)
	return i
}

// grow adds frame number f.
func (s *slab) grow(f uintptr) bool {
	if f/perTable >= numTables {
		return false
	}
	t := s.tables[f/perTable]
	if t == 0 {
		if t = frame(); t == 0 {
			return false
		}
		s.tables[f/perTable] = t
	}
	a := frame()
	*word(t + f%perTable*8) = a
	return a != 0
}

// give frees object i.
//
//go:noinline
func (s *slab) give(i int32) {
	*word(s.at(i)) = uintptr(s.free)
	s.free = i
	s.used--
}
