package mem

import "github.com/zeroframe/zeroframe/arch"

// mremap: an area changes its size, or moves with its pages.

// Remap makes the oldSize bytes at addr newSize bytes long. With fixed they move to the address to,
// in place of whatever was there; otherwise they move only if move is set and there is no room
// after them. With leave, the old place stays an area, without its pages. An oldSize of 0 maps a
// file's pages a second time. Kernel context.
func Remap(addr, oldSize, newSize, to uintptr, move, fixed, leave bool) (at uintptr, e Errno) {
	beginChange()
	at, e = remap(addr, oldSize, newSize, to, move, fixed, leave)
	endChange()
	return at, e
}

func remap(addr, oldSize, newSize, to uintptr, move, fixed, leave bool) (at uintptr, e Errno) {
	assertLocked()
	if addr%arch.PageSize != 0 || newSize == 0 || newSize > spaceHi || oldSize > spaceHi {
		return 0, EINVAL
	}
	oldSize, newSize = pageUp(oldSize), pageUp(newSize)
	switch {
	case leave && to%arch.PageSize != 0:
		return 0, EINVAL
	case (fixed || leave) && !move, leave && oldSize != newSize:
		return 0, EINVAL
	case fixed &&
		(to%arch.PageSize != 0 || to > spaceHi-newSize || to < addr+oldSize && addr < to+newSize):
		return 0, EINVAL
	}
	i := find(addr)
	if i == numAreas || areas[i].lo > addr {
		return 0, EFAULT
	}
	a := areas[i]
	switch {
	case oldSize == 0 && (a.file == 0 || a.copied):
		return 0, EINVAL
	case numAreas > maxAreas-4:
		return 0, ENOMEM
	case !fixed && !leave && newSize <= oldSize:
		if newSize < oldSize {
			e = Discard(addr+newSize, oldSize-newSize)
		}
		return addr, e
	case fixed && to < minAddress:
		return 0, EPERM
	case fixed && hasImage(to, to+newSize):
		return 0, ENOMEM
	}
	if fixed {
		if e := Discard(to, newSize); e != 0 {
			return 0, e
		}
		if newSize < oldSize {
			if e := Discard(addr+newSize, oldSize-newSize); e != 0 {
				return 0, e
			}
			oldSize = newSize
		}
	}
	if oldSize > a.hi-addr {
		return 0, EFAULT
	}
	if more := newSize - oldSize; !fixed && !leave && oldSize > 0 && addr+oldSize == a.hi &&
		more <= spaceHi-a.hi && free(a.hi, a.hi+more) {
		i = find(addr)
		areas[i].hi += more
		merge(i)
		return addr, 0
	}
	if !move {
		return 0, ENOMEM
	}
	if !fixed && !(leave && to >= minAddress && to <= spaceHi-newSize && free(to, to+newSize)) {
		if to = gap(newSize); to == 0 {
			return 0, ENOMEM
		}
	}
	a.page = a.pageAt(addr, a.lo)
	if to, e = mapArea(to, newSize, true, false, a); e != 0 {
		return 0, e
	}
	if !movePages(addr, to, oldSize) {
		Discard(to, newSize)
		return 0, ENOMEM
	}
	if !leave && oldSize > 0 {
		e = Discard(addr, oldSize)
	}
	return to, e
}

// movePages moves the pages of size bytes from one place to another. If memory for tables has run
// out, it moves none and returns false.
func movePages(from, to, size uintptr) bool {
	for _, move := range [...]bool{false, true} {
		for lo := from; ; lo += arch.PageSize {
			e, page := nextPresent(lo, from+size)
			if e == 0 {
				break
			}
			lo = page
			n := entry(page - from + to)
			switch {
			case n == 0:
				return false
			case move:
				*at(n) = *at(e)
				*at(e) = 0
				drop(page)
			}
		}
	}
	settle()
	return true
}
