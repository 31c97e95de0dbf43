// Shared maps a file, shared, in many pieces, and changes it in all ways by turns, chosen by a
// fixed seed: through the pieces, by calls, and by its size. What is read by either way must
// always be what the file has.
package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

const (
	page      = 4096
	pages     = 24 // of the window
	filePages = 12
	none      = -1
	read      = syscall.PROT_READ
	write     = syscall.PROT_WRITE
	shared    = syscall.MAP_SHARED
	fixed     = syscall.MAP_FIXED
)

// piece is what is mapped in a page of the window.
type piece struct {
	file, prot int // the page of the file, or none
	mayWrite   bool
}

var (
	window uintptr
	pieces [pages]piece
	rw, ro int
	want   []byte // what the file has
	r      = rand.New(rand.NewPCG(4, 14))
	done   = map[string]int{}
)

func main() {
	openBoth()
	findWindow()
	for i := range pieces {
		pieces[i].file = none
	}
	debug.SetPanicOnFault(true)
	for range 6000 {
		step()
	}
	tail()
	beyond()
	futex()
	// The pieces outlive the descriptors, of a file without a name.
	at := raw(syscall.SYS_MMAP, 0, page, read|write, shared, uintptr(rw), 0)
	again := raw(syscall.SYS_MMAP, 0, page, read, shared, uintptr(ro), 0)
	must(syscall.Close(rw))
	must(syscall.Close(ro))
	copy(memory(at, page), "still there")
	fmt.Printf("closed: %q\n", memory(again, 11))
	fmt.Println(done)
}

// openBoth opens the file. On Linux it is one in memory: on disks, new Linux maps more than
// a file has.
func openBoth() {
	const memfdCreate = 319
	var err error
	if fd, e := call(memfdCreate, uintptr(unsafe.Pointer(new(byte))), 0); e == 0 {
		rw = int(fd)
		ro, err = syscall.Open(fmt.Sprint("/proc/self/fd/", fd), syscall.O_RDONLY, 0)
		must(err)
		return
	}
	name := filepath.Join(os.TempDir(), "shared")
	rw, err = syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_TRUNC, 0o600)
	must(err)
	ro, err = syscall.Open(name, syscall.O_RDONLY, 0)
	must(err)
	must(os.Remove(name))
}

// findWindow finds a place for the window where nobody else maps, also not in its holes.
func findWindow() {
	const around, noReplace = 1 << 32, 0x100000
	for e := syscall.EEXIST; e == syscall.EEXIST; window += around {
		window = max(window, 0x6000_0000_0000)
		_, e = call(syscall.SYS_MMAP, window, around, 0, syscall.MAP_ANON|syscall.MAP_PRIVATE|noReplace, ^uintptr(0), 0)
	}
	raw(syscall.SYS_MUNMAP, window-around, around)
	window -= around / 2
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func call(n uintptr, a ...uintptr) (uintptr, syscall.Errno) {
	a = append(a, 0, 0, 0, 0, 0)
	v, _, e := syscall.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5])
	return v, e
}

func raw(n uintptr, a ...uintptr) uintptr {
	v, e := call(n, a...)
	if e != 0 {
		panic(fmt.Sprint("call ", n, " ", a, ": ", e))
	}
	return v
}

func memory(at, n uintptr) []byte {
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), n)
}

// fits tells whether an access to the page of the window is one that the file allows.
func fits(p piece, prot int) bool {
	return p.file != none && p.prot&prot != 0 && p.file < (len(want)+page-1)/page
}

// touch reads or writes bytes of the window, and reports whether that was possible.
func touch(at uintptr, b []byte, store bool) (ok bool) {
	defer func() { ok = recover() == nil }()
	if store {
		copy(memory(at, uintptr(len(b))), b)
	} else {
		copy(b, memory(at, uintptr(len(b))))
	}
	return true
}

func check(what string, ok bool, args ...any) {
	if !ok {
		panic(fmt.Sprint(what, args, len(want), pieces))
	}
	done[what]++
}

// resize makes the file that long in want.
func resize(n int) {
	if n < len(want) {
		want = want[:n]
		return
	}
	want = append(want, make([]byte, n-len(want))...)
}

func random(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func step() {
	lo := r.IntN(pages)
	n := 1 + r.IntN(min(6, pages-lo))
	at, size := window+uintptr(lo)*page, uintptr(n)*page
	p := &pieces[lo]
	inside := r.IntN(page)
	off := p.file*page + inside
	length := 1 + r.IntN(min(100, page-inside))
	switch r.IntN(16) {
	case 0, 1:
		*p = piece{r.IntN(filePages), []int{read, read | write, read | write}[r.IntN(3)], true}
		fd := rw
		if r.IntN(4) == 0 {
			p.prot, p.mayWrite, fd = read, false, ro
		}
		raw(syscall.SYS_MMAP, at, size, uintptr(p.prot), shared|fixed, uintptr(fd), uintptr(p.file)*page)
		for i := 1; i < n; i++ {
			pieces[lo+i] = *p
			pieces[lo+i].file += i
		}
		done["mmap"]++
	case 2:
		raw(syscall.SYS_MUNMAP, at, size)
		for i := range n {
			pieces[lo+i].file = none
		}
		done["munmap"]++
	case 3:
		prot := []int{0, read, read | write}[r.IntN(3)]
		_, e := call(syscall.SYS_MPROTECT, at, size, uintptr(prot))
		wrong := syscall.Errno(0)
		for i := range n {
			q := &pieces[lo+i]
			switch {
			case wrong != 0:
			case q.file == none:
				wrong = syscall.ENOMEM
			case prot&write != 0 && !q.mayWrite:
				wrong = syscall.EACCES
			default:
				q.prot = prot
			}
		}
		check(fmt.Sprint("mprotect ", int(wrong)), e == wrong, at, size, prot, e)
	case 4:
		move(lo, n)
	case 5:
		k := r.IntN(filePages*page + 1)
		must(syscall.Ftruncate(rw, int64(k)))
		resize(k)
		done["ftruncate"]++
	case 6, 7:
		k, b := r.IntN(filePages*page-200), random(1+r.IntN(200))
		m, err := syscall.Pwrite(rw, b, int64(k))
		if k+len(b) > len(want) {
			resize(k + len(b))
		}
		copy(want[k:], b)
		check("pwrite", m == len(b) && err == nil, m, err)
	case 8:
		k, b := r.IntN(filePages*page), make([]byte, 300)
		m, err := syscall.Pread(ro, b, int64(k))
		have := want[min(k, len(want)):min(k+300, len(want))]
		check("pread", err == nil && bytes.Equal(b[:m], have), k, m, err)
	case 9, 10, 11:
		b := random(length)
		ok := touch(at+uintptr(inside), b, true)
		check(fmt.Sprint("store ", ok), ok == fits(*p, write), lo)
		if ok && off < len(want) {
			copy(want[off:], b)
		}
		clean(p, at, inside, length, ok)
	case 12, 13:
		b := make([]byte, length)
		ok := touch(at+uintptr(inside), b, false)
		check(fmt.Sprint("load ", ok), ok == fits(*p, read), lo)
		if ok && off < len(want) {
			k := min(length, len(want)-off)
			check("same", bytes.Equal(b[:k], want[off:off+k]), lo, inside, b[:k], want[off:off+k])
		}
	case 14:
		// The kernel reads from a piece into the file, or from the file into a piece.
		to, k := r.IntN(filePages)*page, page-inside
		if !fits(*p, read) {
			to = 0 // Linux makes the file longer before it looks
		}
		v, e := call(syscall.SYS_PWRITE64, uintptr(rw), at+uintptr(inside), uintptr(k), uintptr(to))
		check(fmt.Sprint("pwrite of a piece ", e == 0), (e == 0) == fits(*p, read) && (e == 0 || e == syscall.EFAULT), lo, e, v, k, to)
		if e == 0 {
			b := make([]byte, k)
			if off < len(want) {
				copy(b, want[off:])
			}
			if to+k > len(want) {
				resize(to + k)
			}
			if off+k > len(want) || off < to+k && to < off+k {
				must2(syscall.Pwrite(rw, b, int64(to))) // they overlap, or the end has no one content
			}
			copy(want[to:], b)
		}
	case 15:
		advice := []uintptr{0, 4}[r.IntN(2)]
		holes := false
		for i := range n {
			holes = holes || pieces[lo+i].file == none
		}
		_, e := call(syscall.SYS_MADVISE, at, size, advice)
		_, e2 := call(syscall.SYS_MSYNC, at, size, syscall.MS_SYNC)
		check(fmt.Sprint("madvise and msync ", holes), (e == syscall.ENOMEM) == holes && (e2 == syscall.ENOMEM) == holes, e, e2)
	}
}

func must2(_ int, err error) { must(err) }

// clean takes back what a store has written behind the end of the file: what becomes of that
// is not said.
func clean(p *piece, at uintptr, inside, length int, ok bool) {
	if end := p.file*page + inside + length; ok && end > len(want) {
		from := max(len(want)-p.file*page, inside)
		clear(memory(at+uintptr(from), uintptr(inside+length-from)))
	}
}

// move moves pieces to another place, or makes one longer where it is.
func move(lo, n int) {
	for i := range n {
		if q := pieces[lo+i]; q.file == none || q.file != pieces[lo].file+i || q.prot != pieces[lo].prot || q.mayWrite != pieces[lo].mayWrite {
			return
		}
	}
	to, m := r.IntN(pages-6), 1+r.IntN(6)
	if to < lo+n && lo < to+m {
		return
	}
	first := pieces[lo]
	at := raw(syscall.SYS_MREMAP, window+uintptr(lo)*page, uintptr(n)*page, uintptr(m)*page, 3, window+uintptr(to)*page)
	check("mremap", at == window+uintptr(to)*page)
	for i := range n {
		pieces[lo+i].file = none
	}
	for i := range m {
		pieces[to+i] = first
		pieces[to+i].file += i
	}
}

// tail writes behind the end of a file through a piece: who makes the file longer
// finds zeros, but on Linux what was written.
func tail() {
	must(syscall.Ftruncate(rw, page+10))
	b := memory(raw(syscall.SYS_MMAP, 0, 2*page, read|write, shared, uintptr(rw), 0), 2*page)
	copy(b[page+10:], "garbage")
	must(syscall.Ftruncate(rw, page+12))
	c := make([]byte, 20)
	n, err := syscall.Pread(ro, c, page+8)
	fmt.Printf("tail: %q %v\n", c[:n], err)
	copy(b[page+12:], "garbage")
	must2(syscall.Pwrite(rw, []byte("x"), page+15))
	n, err = syscall.Pread(ro, c, page+8)
	fmt.Printf("tail: %q %v\n", c[:n], err)
	second := raw(syscall.SYS_MREMAP, uintptr(unsafe.Pointer(&b[0])), 0, page, 1, 0)
	b[3] = 'y'
	fmt.Printf("a second place: %q\n", memory(second+3, 1))
}

// futex waits for a word by one of its places, while another thread wakes by the other.
func futex() {
	const wait, wake, seconds = 0, 1, 20
	must(syscall.Ftruncate(rw, page))
	var places [2]uintptr
	for i := range places {
		places[i] = raw(syscall.SYS_MMAP, 0, page, read|write, shared, uintptr(rw), 0)
	}
	clear(memory(places[0], 4))
	var over atomic.Bool
	done := make(chan bool)
	go func() {
		woken := uintptr(0)
		for woken == 0 && !over.Load() {
			woken = raw(syscall.SYS_FUTEX, places[1], wake, 1)
			raw(syscall.SYS_SCHED_YIELD, 0)
		}
		done <- woken == 1
	}()
	timeout := [2]int64{seconds}
	e := syscall.EINTR // as a signal of the runtime's would have it
	for e == syscall.EINTR {
		_, e = call(syscall.SYS_FUTEX, places[0], wait, 0, uintptr(unsafe.Pointer(&timeout)))
	}
	over.Store(true)
	fmt.Println("a futex in two places:", int(e), <-done)
}

// beyond touches what the file has not: the signal is SIGBUS, since SIGSEGV would end it here.
func beyond() {
	var old, action [4]uintptr
	sigaction := func(new, old *[4]uintptr) {
		raw(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGSEGV), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8)
	}
	sigaction(&action, &old)
	must(syscall.Ftruncate(rw, page+1))
	at := raw(syscall.SYS_MMAP, 0, 4*page, read|write, shared, uintptr(rw), 0)
	b := make([]byte, 1)
	fmt.Println("beyond:", touch(at+page, b, false), touch(at+2*page, b, false), touch(at+2*page, b, true))
	must(syscall.Ftruncate(rw, 3*page))
	fmt.Println("longer:", touch(at+2*page, b, true))
	must(syscall.Ftruncate(rw, 0))
	fmt.Println("shorter:", touch(at+2*page, b, true), touch(at, b, false))
	must(syscall.Ftruncate(rw, 1))
	fmt.Println("again:", touch(at, b, true), touch(at+page, b, false))
	sigaction(&old, nil)
}
