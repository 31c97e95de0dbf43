package mem

import "github.com/zeroframe/zeroframe/arch"

// Mappings of files: areas whose pages are the frames of the file itself, which package vfs owns.
// Pages are mapped when they are touched, and unmapped before the file loses them. In a private
// mapping they are read-only: the first write to one makes a copy. This package knows files only by
// their number.

// mappedFile is a file with areas.
type mappedFile struct {
	id    int32 // 0: free
	areas int32
}

// maxMapped is the largest number of mapped files.
const maxMapped = 512

var (
	mappedFiles [maxMapped]mappedFile // under the kernel lock
	unmapped    int                   // files in it without an area; under the kernel lock
)

// pageAt returns the number of the file's page at addr, if the area begins at lo.
func (a *spaceArea) pageAt(addr, lo uintptr) uintptr {
	if a.file == 0 {
		return 0
	}
	return a.page + (addr-lo)/arch.PageSize
}

// countFile adds n to the number of a file's areas.
func countFile(file int16, n int32) {
	assertLocked()
	if file == 0 {
		return
	}
	f := &mappedFiles[file-1]
	if f.areas == 0 {
		unmapped--
	}
	f.areas += n
	if f.areas == 0 {
		unmapped++
	}
}

// fileIndex returns 1 + the index of a file in the table, or 0.
func fileIndex(id int32) int16 {
	for i := range mappedFiles {
		if mappedFiles[i].id == id {
			return int16(i + 1)
		}
	}
	return 0
}

// IsMapped reports whether a file has areas, or had some and Unmapped has not returned it yet.
// Kernel context.
func IsMapped(id int32) bool { return fileIndex(id) != 0 }

// MapFile is Map for the pages of a file from number page on. The file must live until Unmapped
// returns it. Writes to a private mapping do not reach the file. Without mayWrite, Protect never
// makes a shared mapping writable. Kernel context.
func MapFile(addr, size uintptr, prot Prot, fixed, keep bool, id int32, page uintptr, private,
	mayWrite bool) (at uintptr, e Errno) {
	assertLocked()
	file := fileIndex(id)
	begins := file == 0
	if begins {
		if file = fileIndex(0); file == 0 {
			return 0, ENOMEM
		}
		mappedFiles[file-1].id = id
		unmapped++
	}
	at, e = mapArea(addr, size, fixed, keep,
		spaceArea{prot: prot, sealed: !private && !mayWrite, copied: private, file: file, page: page})
	if e != 0 && begins {
		mappedFiles[file-1].id = 0
		unmapped--
	}
	return at, e
}

// Unmapped returns a file that has no areas any more, once, or 0. Kernel context.
func Unmapped() (id int32) {
	assertLocked()
	if unmapped == 0 {
		return 0
	}
	for i := range mappedFiles {
		if f := &mappedFiles[i]; f.id != 0 && f.areas == 0 {
			id, f.id = f.id, 0
			unmapped--
			return id
		}
	}
	return 0
}

// FileAt returns the file that is mapped at addr and the number of its page there, or 0. Kernel
// context.
func FileAt(addr uintptr) (id int32, page uintptr) {
	assertLocked()
	i := find(addr)
	if i == numAreas || addr < areas[i].lo || areas[i].file == 0 {
		return 0, 0
	}
	return mappedFiles[areas[i].file-1].id, areas[i].pageAt(addr, areas[i].lo)
}

// SharedFrame returns the physical address of the byte at addr, if that is in a shared mapping of a
// file and its page has been touched; or 0. Kernel context.
func SharedFrame(addr uintptr) uintptr {
	i := find(addr)
	if i == numAreas || addr < areas[i].lo || areas[i].file == 0 || areas[i].copied {
		return 0
	}
	if e := Mapped(addr); e != 0 {
		return uintptr(e&arch.PTEAddr) + addr%arch.PageSize
	}
	return 0
}

// HasFile reports whether part of a file is mapped in the size bytes at addr. Kernel context.
func HasFile(addr, size uintptr) bool {
	for i := find(addr); i < numAreas && areas[i].lo < addr+size; i++ {
		if areas[i].file != 0 {
			return true
		}
	}
	return false
}

// Place maps a frame where FileAt says that its page belongs; for a write to a private mapping it
// maps a copy. It returns NoFrame or Resolved, and whether the file itself will be written to.
// Kernel context.
func Place(addr, frame uintptr, write bool) (v Verdict, changes bool) {
	beginChange()
	v, changes = place(addr, frame, write)
	endChange()
	return v, changes
}

func place(addr, frame uintptr, write bool) (v Verdict, changes bool) {
	assertLocked()
	a := &areas[find(addr)]
	e := entry(pageDown(addr))
	if e == 0 {
		return NoFrame, false
	}
	entry := uint64(arch.Physical(frame))
	if a.copied && write {
		f := Frame()
		if f == 0 {
			return NoFrame, false
		}
		for i := uintptr(0); i < arch.PageSize; i += 8 {
			*at(f + i) = *at(frame + i)
		}
		entry = uint64(arch.Physical(f)) | arch.PTEDirty
	}
	was := *at(e)
	*at(e) = a.entryOf(entry)
	if arch.FlushPage(addr); was&arch.PTEAddr != 0 {
		drop(addr) // it was another frame
		settle()
	}
	return Resolved, write && !a.copied
}

// CutFile unmaps the pages of a file from number page up to end, before the file loses them. Their
// areas stay. Kernel context.
func CutFile(id int32, page, end uintptr) {
	assertLocked()
	file := fileIndex(id)
	if file == 0 {
		return
	}
	beginChange()
	for i := range areas[:numAreas] {
		if a := &areas[i]; a.file == file && a.pageAt(a.hi, a.lo) > page && a.page < end {
			lo, hi := a.lo+(max(page, a.page)-a.page)*arch.PageSize,
				a.lo+(min(end, a.pageAt(a.hi, a.lo))-a.page)*arch.PageSize
			hide(lo, hi)
			a.release(lo, hi)
		}
	}
	endChange()
}
