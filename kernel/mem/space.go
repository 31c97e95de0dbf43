package mem

import "github.com/zeroframe/zeroframe/arch"

// The program's address space: areas made by mmap, sorted by address, around the image. They get
// page frames when they are touched. Until then an area costs nothing: the Go runtime reserves a
// gigabyte and uses a few hundred kilobytes of it.

// Prot are the rights of an area: the bits of mmap's argument.
type Prot uint8

// The rights. Without ProtRead and ProtWrite nothing can be accessed.
const (
	ProtRead  Prot = 1
	ProtWrite Prot = 2
	ProtExec  Prot = 4
)

// Errno is the number of a Linux error, or 0.
type Errno = int

// The errors of this package.
const (
	EPERM  Errno = 1
	ENOMEM Errno = 12
	EACCES Errno = 13
	EFAULT Errno = 14
	EEXIST Errno = 17
	EINVAL Errno = 22
)

// spaceArea is lo <= address < hi.
type spaceArea struct {
	lo, hi uintptr
	page   uintptr // page number in the file, at lo
	file   int16   // index in mappedFiles, plus 1; 0: the area has frames of its own
	prot   Prot
	sealed bool // it can never become writable
	copied bool // a private mapping of a file: pages with dirty entries are its own
}

const maxAreas = 4096

var (
	areas    [maxAreas]spaceArea // under the kernel lock
	numAreas int                 // under the kernel lock

	// spaceLo is the end of the image. The program may map from minAddress up to spaceHi, except
	// over the image. An area without a wish, or whose wish cannot be granted, gets room above the
	// image.
	spaceLo uintptr // set once at boot
)

const (
	// mostRAM is the highest RAM that is used.
	mostRAM = 512 << 30
	// minAddress is the lowest address that a program may map (Linux: vm.mmap_min_addr).
	minAddress = 64 << 10
	spaceHi    = 1<<47 - arch.PageSize
	// mapTop is where areas without a wish begin, going downwards: below the stack.
	mapTop = 0x7f00_0000_0000
)

func pageUp(a uintptr) uintptr   { return (a + arch.PageSize - 1) &^ (arch.PageSize - 1) }
func pageDown(a uintptr) uintptr { return a &^ (arch.PageSize - 1) }

// find returns the index of the first area that ends above a.
//
//go:noinline
func find(a uintptr) int {
	lo, hi := 0, numAreas
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if areas[mid].hi > a {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// insert makes room at index i.
//
//go:noinline
func insert(i int, a spaceArea) {
	assertLocked()
	for j := numAreas; j > i; j-- {
		areas[j] = areas[j-1]
	}
	areas[i] = a
	numAreas++
}

func remove(i, n int) {
	assertLocked()
	for j := i; j+n < numAreas; j++ {
		areas[j] = areas[j+n]
	}
	numAreas -= n
}

// split makes a a boundary of the area that contains it. It returns false when the table is full.
func split(a uintptr) bool {
	assertLocked()
	i := find(a)
	if i == numAreas || areas[i].lo >= a {
		return true
	}
	if numAreas == maxAreas {
		return false
	}
	upper := areas[i]
	upper.lo = a
	upper.page = upper.pageAt(a, areas[i].lo)
	areas[i].hi = a
	insert(i+1, upper)
	countFile(upper.file, 1)
	return true
}

// merge joins equal neighbours from index i-1 to i+1.
func merge(i int) {
	assertLocked()
	for j := i + 1; j >= i; j-- {
		if j > 0 && j < numAreas && areas[j-1].goesOnIn(&areas[j]) {
			areas[j-1].hi = areas[j].hi
			countFile(areas[j].file, -1)
			remove(j, 1)
		}
	}
}

// goesOnIn reports whether b continues a: it is what a would be if it were longer.
func (a *spaceArea) goesOnIn(b *spaceArea) bool {
	return a.hi == b.lo && a.prot == b.prot && a.sealed == b.sealed && a.copied == b.copied &&
		a.file == b.file && a.pageAt(a.hi, a.lo) == b.page
}

// gap returns the highest address below mapTop where size bytes are free, or 0.
func gap(size uintptr) uintptr {
	top := uintptr(mapTop)
	for i := find(top) - 1; ; i-- {
		bottom := spaceLo
		if i >= 0 {
			bottom = max(bottom, areas[i].hi)
		}
		if top > bottom && top-bottom >= size {
			return top - size
		}
		if bottom == spaceLo {
			return 0
		}
		if areas[i].lo < top {
			top = areas[i].lo
		}
	}
}

func free(lo, hi uintptr) bool {
	i := find(lo)
	return (i == numAreas || areas[i].lo >= hi) && !hasImage(lo, hi)
}

// hasImage reports whether part of the image lies in lo <= address < hi.
func hasImage(lo, hi uintptr) bool {
	return numSegments > 0 && lo < spaceLo && hi > pageDown(segments[0].Lo)
}

// Map makes an area of size bytes with the given rights, all zero. With fixed it
// lies at addr, in place of whatever was there; otherwise addr is a wish. With
// keep, a fixed area may replace nothing (MAP_FIXED_NOREPLACE). Kernel context.
func Map(addr, size uintptr, prot Prot, fixed, keep bool) (at uintptr, e Errno) {
	return mapArea(addr, size, fixed, keep, spaceArea{prot: prot})
}

// mapArea is Map for an area with the properties of a.
func mapArea(addr, size uintptr, fixed, keep bool, a spaceArea) (at uintptr, e Errno) {
	beginChange()
	at, e = newArea(addr, size, fixed, keep, a)
	endChange()
	return at, e
}

func newArea(addr, size uintptr, fixed, keep bool, a spaceArea) (at uintptr, e Errno) {
	if size == 0 || addr%arch.PageSize != 0 && fixed {
		return 0, EINVAL
	}
	if size > spaceHi {
		return 0, ENOMEM
	}
	size = pageUp(size)
	if addr = pageDown(addr); addr != 0 && !fixed {
		addr = max(addr, minAddress)
	}
	switch {
	case fixed:
		if addr > spaceHi-size {
			return 0, ENOMEM
		}
		if addr < minAddress {
			return 0, EPERM
		}
		if keep && !free(addr, addr+size) {
			return 0, EEXIST
		}
		if hasImage(addr, addr+size) {
			return 0, ENOMEM
		}
	case addr != 0 && addr <= spaceHi-size && free(addr, addr+size):
	default:
		if addr = gap(size); addr == 0 {
			return 0, ENOMEM
		}
	}
	if e := Discard(addr, size); e != 0 {
		return 0, e
	}
	if numAreas == maxAreas {
		return 0, ENOMEM
	}
	i := find(addr)
	a.lo, a.hi = addr, addr+size
	insert(i, a)
	countFile(a.file, 1)
	merge(i)
	return addr, 0
}

// Discard removes all areas, and parts of areas, in the size bytes at addr, and frees their frames.
// Kernel context.
func Discard(addr, size uintptr) Errno {
	beginChange()
	e := discard(addr, size)
	endChange()
	return e
}

func discard(addr, size uintptr) Errno {
	assertLocked()
	if addr%arch.PageSize != 0 || addr > spaceHi || size > spaceHi-addr || size == 0 {
		return EINVAL
	}
	hi := addr + pageUp(size)
	if !split(addr) || !split(hi) {
		return ENOMEM
	}
	hide(addr, hi)
	i := find(addr)
	n := 0
	for i+n < numAreas && areas[i+n].lo < hi {
		areas[i+n].release(areas[i+n].lo, areas[i+n].hi)
		countFile(areas[i+n].file, -1)
		n++
	}
	remove(i, n)
	return 0
}

// Protect changes the rights of all areas in the size bytes at addr. It returns ENOMEM if some of
// the bytes are in no area, and EACCES if one area must not become writable. Kernel context.
func Protect(addr, size uintptr, prot Prot) Errno {
	if addr%arch.PageSize != 0 {
		return EINVAL
	}
	if size == 0 {
		return 0
	}
	if addr > spaceHi || size > spaceHi-addr {
		return ENOMEM
	}
	beginChange()
	e := protectAreas(addr, addr+pageUp(size), prot)
	settle()
	endChange()
	return e
}

// protectAreas changes the rights of lo <= address < hi.
func protectAreas(lo, hi uintptr, prot Prot) Errno {
	assertLocked()
	if !split(lo) || !split(hi) {
		return ENOMEM
	}
	next := lo
	i := find(lo)
	for ; i < numAreas && areas[i].lo < hi; i++ {
		if areas[i].lo != next {
			return ENOMEM
		}
		if areas[i].sealed && prot&ProtWrite != 0 {
			return EACCES
		}
		areas[i].prot = prot
		last := areas[i].hi - 1
		areas[i].protectPages()
		merge(i)
		i = find(last)
		next = areas[i].hi // including the next area, if that has these rights already
	}
	if next < hi {
		return ENOMEM
	}
	return 0
}

// Forget frees the frames of the size bytes at addr: the next read returns zeros, or the file's
// contents (madvise MADV_DONTNEED). If some of the bytes are not mapped, the others are still
// freed, and the error is ENOMEM. Kernel context.
func Forget(addr, size uintptr) Errno {
	assertLocked()
	if addr%arch.PageSize != 0 || addr > spaceHi || size > spaceHi-addr {
		return EINVAL
	}
	beginChange()
	hi := addr + pageUp(size)
	hide(addr, hi)
	next, e := addr, Errno(0)
	for i := find(addr); i < numAreas && areas[i].lo < hi; i++ {
		if areas[i].lo > next {
			e = ENOMEM
		}
		areas[i].release(max(areas[i].lo, addr), min(areas[i].hi, hi))
		next = areas[i].hi
	}
	endChange()
	if next < hi {
		e = ENOMEM
	}
	return e
}

// InRAM reports whether the page that holds addr has a frame. Kernel context.
func InRAM(addr uintptr) bool {
	e, _ := nextPresent(pageDown(addr), pageDown(addr)+arch.PageSize)
	return e != 0
}

// InArea reports whether there is an area at addr, whatever its rights. Kernel context.
func InArea(addr uintptr) bool { return Covered(addr, 1) == 0 }

// Area is lo <= address < hi of the program's address space.
type Area struct {
	Lo, Hi uintptr
	Prot   Prot
	File   int32   // the number of the file whose pages are mapped; 0: none
	Page   uintptr // of the file, at Lo
	Shared bool    // writes go to the file
}

// AreaAt returns area number i, by address; ok is false after the last. Kernel context.
func AreaAt(i int) (a Area, ok bool) {
	assertLocked()
	if i >= numAreas {
		return a, false
	}
	s := &areas[i]
	a.Lo, a.Hi, a.Prot = s.lo, s.hi, s.prot
	if s.file != 0 {
		a.File, a.Page, a.Shared = mappedFiles[s.file-1].id, s.page, !s.copied
	}
	return a, true
}

// Bytes returns the size of all areas, or with private that of the writable ones that are the
// program's own. Kernel context.
func Bytes(private bool) (n uintptr) {
	assertLocked()
	for i := range areas[:numAreas] {
		if a := &areas[i]; !private || (a.file == 0 || a.copied) && a.prot&ProtWrite != 0 {
			n += a.hi - a.lo
		}
	}
	return n
}

// Covered returns ENOMEM if some of the size bytes at addr are in no area. Kernel context.
func Covered(addr, size uintptr) Errno {
	if addr > spaceHi || size > spaceHi-addr {
		return ENOMEM
	}
	next := addr
	for i := find(addr); i < numAreas && areas[i].lo <= next; i++ {
		next = areas[i].hi
	}
	if next < addr+pageUp(size) {
		return ENOMEM
	}
	return 0
}

// isOwn reports whether the frame of a page-table entry of the area belongs to the area. A private
// mapping of a file has the file's frames read-only, so that they stay clean.
func (a *spaceArea) isOwn(entry uint64) bool {
	return a.file == 0 || a.copied && entry&arch.PTEDirty != 0
}

// entryOf returns the page-table entry for the frame of entry, which may come from the previous
// area.
func (a *spaceArea) entryOf(entry uint64) uint64 {
	v := entry & arch.PTEAddr
	if a.prot != 0 {
		v |= flagsOf(a.prot) | arch.PTEPresent
	}
	switch {
	case !a.copied:
	case a.isOwn(entry):
		v |= arch.PTEDirty
	default:
		v &^= arch.PTEWrite // the first write makes a copy
	}
	return v
}

// flagsOf returns the bits of a page-table entry for an area's rights.
func flagsOf(prot Prot) uint64 {
	flags := uint64(0)
	if prot&ProtWrite != 0 {
		flags |= arch.PTEWrite
	}
	if prot&ProtExec == 0 {
		flags |= noExec
	}
	return flags
}

// nextPresent returns the address of the next present 4 KiB entry at or above lo, below hi, and the
// page that it maps, or 0. It calls nothing.
func nextPresent(lo, hi uintptr) (e, page uintptr) {
	for lo < hi {
		t := root
		level := 3
		for ; level > 0; level-- {
			v := *at(slot(t, lo, level))
			if v&arch.PTEPresent == 0 {
				break
			}
			t = uintptr(v & arch.PTEAddr)
		}
		if level == 0 {
			// The rest of this page table.
			end := min(hi, lo&^(arch.PageSize2-1)+arch.PageSize2)
			for ; lo < end; lo += arch.PageSize {
				if s := slot(t, lo, 0); *at(s)&arch.PTEAddr != 0 {
					return s, lo
				}
			}
			continue
		}
		span := uintptr(1) << (12 + 9*uint(level))
		lo = lo&^(span-1) + span
	}
	return 0, 0
}

// release unmaps the area's pages lo <= address < hi, and frees the frames that are its own.
func (a *spaceArea) release(lo, hi uintptr) {
	for {
		e, page := nextPresent(lo, hi)
		if e == 0 {
			return
		}
		if a.isOwn(*at(e)) {
			FreeFrame(arch.Virtual(uintptr(*at(e) & arch.PTEAddr)))
		}
		*at(e) = 0
		arch.FlushPage(page)
		lo = page + arch.PageSize
	}
}

// protectPages applies the area's rights to the pages that have frames. Without any rights, the
// entry keeps its frame but is not present.
func (a *spaceArea) protectPages() {
	for lo := a.lo; ; {
		e, page := nextPresent(lo, a.hi)
		if e == 0 {
			return
		}
		*at(e) = a.entryOf(*at(e))
		drop(page)
		lo = page + arch.PageSize
	}
}

// Verdict is ResolveFault's answer.
type Verdict uint8

// The verdicts.
const (
	Resolved Verdict = iota // the page is there now: try again
	Refused                 // no area allows this access
	NoFrame                 // memory has run out
	FromFile                // the page is a mapped file's: call Place with it
	Beyond                  // the file has no such page
)

// ResolveFault handles a page fault at addr with the fault's error code: it gives the page a frame
// if an area allows the access. Kernel context.
func ResolveFault(addr uintptr, code uintptr) Verdict {
	beginChange()
	v := resolve(addr, code)
	endChange()
	return v
}

func resolve(addr uintptr, code uintptr) Verdict {
	assertLocked()
	i := find(addr)
	if i == numAreas || addr < areas[i].lo {
		return Refused
	}
	a := &areas[i]
	if !a.allows(code) {
		return Refused
	}
	e := entry(pageDown(addr))
	if e == 0 {
		return NoFrame
	}
	f := uintptr(*at(e) & arch.PTEAddr)
	switch {
	case a.copied && code&arch.FaultWrite != 0 && !a.isOwn(*at(e)):
		return FromFile // it must be copied, too
	case code&arch.FaultPresent != 0:
		if flushOthers != 0 && arch.Allows(*at(e), code) {
			arch.FlushPage(addr) // another CPU has allowed it since this one looked
			return Resolved
		}
		return Refused
	case f == 0 && a.file != 0:
		return FromFile
	case f == 0:
		if f = Frame(); f == 0 {
			return NoFrame
		}
		*at(e) = uint64(arch.Physical(f))
	}
	*at(e) = a.entryOf(*at(e))
	return Resolved
}

// allows reports whether the area allows the access that the fault's error code describes.
func (a *spaceArea) allows(code uintptr) bool {
	return a.prot != 0 && (code&arch.FaultWrite == 0 || a.prot&ProtWrite != 0) &&
		(code&arch.FaultFetch == 0 || a.prot&ProtExec != 0)
}

// recent is the index of the area that Allowed found last, because consecutive calls name memory on
// the same stack. It may be another area's by now, or none's. Under the kernel lock.
var recent int

// Allowed reports whether a program may read or write the n bytes at addr: whether they lie in the
// image or in areas with that right. Kernel context.
func Allowed(addr, n uintptr, write bool) bool {
	if n == 0 {
		return true
	}
	hi := addr + n
	if hi < addr || hi > spaceHi {
		return false
	}
	if InImage(addr, n, write) {
		return true
	}
	assertLocked() // the image's segments do not change
	want := ProtRead
	if write {
		want = ProtWrite
	}
	if i := recent; i < numAreas {
		if a := &areas[i]; addr >= a.lo && hi <= a.hi && a.prot&(want|ProtWrite) != 0 {
			return true
		}
	}
	for addr < hi {
		if end := imageAt(addr, write); end != 0 {
			addr = end
			continue
		}
		i := find(addr)
		if i == numAreas || addr < areas[i].lo || areas[i].prot&(want|ProtWrite) == 0 {
			return false
		}
		recent, addr = i, areas[i].hi
	}
	return true
}

// InImage is Allowed for bytes in one segment of the image. Any context.
func InImage(addr, n uintptr, write bool) bool {
	if addr >= spaceLo {
		return false
	}
	end := imageAt(addr, write)
	return end > addr && end-addr >= n
}

// imageAt returns the end of the pages of the image's segment at addr, or 0 if there is none, or if
// it must be writable and is not.
func imageAt(addr uintptr, write bool) (end uintptr) {
	for i := range segments[:numSegments] {
		if s := &segments[i]; addr >= s.Lo && addr < pageUp(s.Hi) && (s.Write || !write) {
			return pageUp(s.Hi)
		}
	}
	return 0
}

// Mappable reports whether a program may have memory at addr, above the image. Any context.
func Mappable(addr uintptr) bool { return spaceLo != 0 && addr >= spaceLo && addr < spaceHi }

// SpaceLo returns the end of the image; a program's memory lies after it, unless the program has
// asked for another place. Any context.
func SpaceLo() uintptr { return spaceLo }
