package mem

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// TestSpace: after each of many random calls that map, unmap and protect parts of a window, the
// areas have the rights that Linux gives them, page by page, and each call returns Linux's result.
// No page has a frame, because a program may not give frames back.
func TestSpace(t *testing.T) {
	defer forget()
	frames, err := syscall.Mmap(-1, 0, 16*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(frames)))
	AddFrames(at, at+uintptr(len(frames)))
	const window, pages = 0x6000_0000_0000, 40 // nobody else maps memory there
	root, spaceLo = Frame(), window
	defer func() { root, spaceLo, numAreas, mappedFiles, unmapped = 0, 0, 0, [maxMapped]mappedFile{}, 0 }()
	name := filepath.Join(t.TempDir(), "mapped")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var files [2]*os.File // the second one is not open for writing
	for i, flags := range []int{os.O_RDWR, os.O_RDONLY} {
		if files[i], err = os.OpenFile(name, flags, 0); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	r := rand.New(rand.NewPCG(1, 3))
	results := map[Errno]int{}
	for step := range 4000 {
		lo, n := uintptr(r.IntN(pages-8)), uintptr(r.IntN(8))
		addr, size := window+lo*page, n*page
		if size > 0 && r.IntN(4) == 0 {
			size -= uintptr(r.IntN(page))
		}
		if r.IntN(40) == 0 {
			addr++
		}
		prot := Prot(r.IntN(4)) | Prot(min(r.IntN(8), 1)^1)<<2
		var what string
		var ours Errno
		var linux syscall.Errno
		switch op := r.IntN(9); op {
		case 0, 1:
			const fixed, keep = syscall.MAP_FIXED, 0x100000
			flags := []uintptr{fixed, keep, fixed | keep}[r.IntN(3)]
			_, ours = Map(addr, size, prot, true, flags&keep != 0)
			_, _, linux = syscall.RawSyscall6(syscall.SYS_MMAP, addr, size, uintptr(prot), syscall.MAP_ANON|syscall.MAP_PRIVATE|flags, ^uintptr(0), 0)
			what = fmt.Sprintf("mmap %#x", flags)
		case 2:
			ours = Discard(addr, size)
			_, _, linux = syscall.RawSyscall(syscall.SYS_MUNMAP, addr, size, 0)
			what = "munmap"
		case 3, 4:
			which := r.IntN(2)
			kind, private := uintptr(syscall.MAP_SHARED), r.IntN(3) == 0
			if private {
				kind = syscall.MAP_PRIVATE
			} else {
				prot &^= ProtWrite * Prot(which) // this package does not refuse it
			}
			first := uintptr(r.IntN(6))
			_, ours = MapFile(addr, size, prot, true, false, 7, first, private, which == 0)
			_, _, linux = syscall.RawSyscall6(syscall.SYS_MMAP, addr, size, uintptr(prot), kind|syscall.MAP_FIXED, files[which].Fd(), first*page)
			what = fmt.Sprintf("mmap of file %d, private: %v,", which, private)
		case 5, 6:
			newSize, to := uintptr(r.IntN(8*page)), window+uintptr(r.IntN(pages-8))*page
			flags := []uintptr{0, 0, 3, 3, 2}[r.IntN(5)]
			if i := find(addr); flags != 2 && i < numAreas && (areas[i].hi < addr+size || size == 0) {
				continue // over several areas it differs between versions of Linux; so does a second place of private memory
			}
			_, ours = Remap(addr, size, newSize, to, flags&1 != 0, flags&2 != 0, false)
			_, _, linux = syscall.RawSyscall6(syscall.SYS_MREMAP, addr, size, newSize, flags, to, 0)
			what = fmt.Sprintf("mremap %d to %#x bytes at %#x", flags, newSize, to)
		default:
			ours = Protect(addr, size, prot)
			_, _, linux = syscall.RawSyscall(syscall.SYS_MPROTECT, addr, size, uintptr(prot))
			what = "mprotect"
		}
		what = fmt.Sprintf("step %d: %s of %#x bytes at %#x, %d", step, what, size, addr, prot)
		if ours != Errno(linux) {
			t.Fatalf("%s: error %d; Linux has %d", what, ours, linux)
		}
		results[ours]++
		var want, got [pages]string
		linuxSpace(t, want[:], window)
		for i := range numAreas {
			a := &areas[i]
			if a.lo >= a.hi || i > 0 && areas[i-1].hi > a.lo {
				t.Fatalf("%s: area %d is %+v behind %+v", what, i, *a, areas[max(i-1, 0)])
			}
			for p := a.lo; p < a.hi; p += page {
				if got[(p-window)/page] = rights(a.prot); a.file != 0 && !a.copied {
					got[(p-window)/page] += fmt.Sprint(a.pageAt(p, a.lo))
				}
			}
		}
		if numFiles := mappedFiles[0].areas; numFiles != int32(count(areas[:numAreas])) {
			t.Fatalf("%s: the file is said to have %d areas, and has %d", what, numFiles, count(areas[:numAreas]))
		}
		if got != want {
			t.Fatalf("%s: the pages are\n%q; Linux has\n%q", what, got, want)
		}
		from, to := r.IntN(pages), r.IntN(pages)
		if from > to {
			continue
		}
		read, write := true, true
		for _, s := range want[from : to+1] {
			read, write = read && strings.ContainsAny(s, "rw"), write && strings.Contains(s, "w")
		}
		a, n := window+uintptr(from)*page+1, uintptr(to-from+1)*page-1
		if Allowed(a, n, false) != read || Allowed(a, n, true) != write {
			t.Fatalf("%s: %#x bytes at %#x may be read: %v, written: %v; want %v, %v", what, n, a, !read, !write, read, write)
		}
	}
	if Discard(window, pages*page); Unmapped() != 7 || Unmapped() != 0 || IsMapped(7) {
		t.Error("the file is not said to be mapped no more, once")
	}
	if syscall.RawSyscall(syscall.SYS_MUNMAP, window, pages*page, 0); len(results) != 6 {
		t.Errorf("the calls returned only %v", results)
	}
}

// count returns how many areas are a file's.
func count(all []spaceArea) (n int) {
	for i := range all {
		if all[i].file != 0 {
			n++
		}
	}
	return n
}

// rights returns an area's rights in the form of /proc/self/maps.
func rights(p Prot) string {
	b := []byte("---")
	for i := range b {
		if p&(1<<i) != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

// linuxSpace fills in the rights of each page from lo on.
func linuxSpace(t *testing.T, to []string, lo uintptr) {
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		var from, end, offset uintptr
		var r, shared string
		if _, err := fmt.Sscanf(s.Text(), "%x-%x %3s%1s %x", &from, &end, &r, &shared, &offset); err != nil {
			t.Fatal(err)
		}
		for p := from; p < end && p >= lo && p < lo+uintptr(len(to))*page; p += page {
			if to[(p-lo)/page] = r; shared == "s" {
				to[(p-lo)/page] += fmt.Sprint((offset + p - from) / page)
			}
		}
	}
}
