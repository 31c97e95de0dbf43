// Cuts maps, unmaps, protects, moves and empties parts of a window of memory, chosen by a
// fixed seed, writes into it and into the file, and says what is in each page afterwards.
package main

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

const (
	page  = 4096
	pages = 24
)

var (
	window uintptr
	prots  [pages]int // as the calls have left them; -1: nothing is mapped
	pipe   [2]int
)

func main() {
	must(syscall.Pipe(pipe[:]))
	name := filepath.Join(os.TempDir(), "cuts")
	data := make([]byte, 6*page+100)
	for i := range data {
		data[i] = byte('a' + i/page)
	}
	must(os.WriteFile(name, data, 0o644))
	file, err := syscall.Open(name, syscall.O_RDWR, 0)
	must(err)
	must(os.Remove(name))
	call := func(number uintptr, a ...uintptr) syscall.Errno {
		a = append(a, 0, 0, 0, 0, 0)
		at, _, e := syscall.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
		if window == 0 {
			window = at
		}
		return e
	}
	const anon, private, fixed = syscall.MAP_ANON, syscall.MAP_PRIVATE, syscall.MAP_FIXED
	// Far below where the system puts what the Go runtime maps: nothing of that gets into holes.
	const low = 0x20_0000_0000
	if e := call(syscall.SYS_MMAP, low, pages*page, 3, anon|private, ^uintptr(0)); e != 0 {
		panic(e)
	}
	for i := range prots {
		prots[i] = 3
	}
	r, sum := rand.New(rand.NewPCG(1, 2)), uint32(0)
	for step := range 3000 {
		from, n := r.IntN(pages-6), 1+r.IntN(6)
		at, size, prot := window+uintptr(from)*page, uintptr(n)*page, []int{0, 1, 3, 3}[r.IntN(4)]
		set := func(e syscall.Errno, v int) string {
			for i := range n {
				if e == 0 {
					prots[from+i] = v
				}
			}
			return e.Error()
		}
		what := ""
		switch r.IntN(8) {
		case 0:
			what = "map " + set(call(syscall.SYS_MMAP, at, size, uintptr(prot), anon|private|fixed, ^uintptr(0)), prot)
		case 1:
			off := r.IntN(8 - n) // the last page is a part of one; none is beyond the end
			what = "map file " + set(call(syscall.SYS_MMAP, at, size, uintptr(prot), private|fixed, uintptr(file), uintptr(off)*page), prot)
		case 2:
			what = "unmap " + set(call(syscall.SYS_MUNMAP, at, size), -1)
		case 3:
			for i := range n {
				if prots[from+i] < 0 {
					n = i // the pages before a hole are changed
					break
				}
			}
			for i := range n {
				prots[from+i] = prot
			}
			what = "protect " + call(syscall.SYS_MPROTECT, at, size, uintptr(prot)).Error()
		case 4:
			what = "empty " + call(syscall.SYS_MADVISE, at, size, syscall.MADV_DONTNEED).Error()
		case 5:
			// Who has written to the page does not see it.
			_, err := syscall.Pwrite(file, []byte{byte(step)}, int64(r.IntN(7)*page))
			must(err)
			what = "change file"
		default:
			for i := range n {
				if prots[from+i] == 3 {
					b := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n*page)
					b[i*page], b[(i+1)*page-1] = byte('A'+step%26), byte(step)
				}
			}
			what = "write"
		}
		var now [pages]byte
		for i := range now {
			now[i] = look(i)
		}
		sum = crc32.Update(sum, crc32.IEEETable, now[:])
		if step%100 == 0 || step < 50 {
			fmt.Printf("%d: %s %d+%d: %q %08x\n", step, what, from, n, now[:], sum)
		}
	}
	fmt.Printf("%08x\n", sum)
}

// look returns a page's first and last byte, as one, as the system reads them.
func look(i int) byte {
	var b [2]byte
	for k := range b {
		at := window + uintptr(i)*page + uintptr(k)*(page-1)
		if _, _, e := syscall.Syscall(syscall.SYS_WRITE, uintptr(pipe[1]), at, 1); e != 0 {
			return '-'
		}
		_, err := syscall.Read(pipe[0], b[k:k+1])
		must(err)
	}
	return b[0] ^ b[1]<<1
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
