// Descriptors makes the system calls on descriptors of special kinds, and those that move bytes
// from one file to another, and says what comes of each. On Linux it says the same.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Signals are held off on the main thread, which all calls are made by.
func init() { runtime.LockOSThread() }

func main() {
	dir := os.TempDir()
	if len(os.Args) > 1 {
		dir = os.Args[1] // on Linux one in memory, whose files are as ours
	}
	must(os.Chdir(dir))
	allocate()
	copies()
	sends()
	splices()
	timers()
	processes()
	waits()
	advised()
	names()
	memory()
}

// kept holds what is only known by its address.
var kept []any

// at returns the address of b.
func at(b []byte) uintptr {
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}

func text(s string) uintptr { return at(append([]byte(s), 0)) }

// words returns the address of some words, and the words.
func words(w ...uint64) (uintptr, []uint64) {
	kept = append(kept, w)
	return uintptr(unsafe.Pointer(unsafe.SliceData(w))), w
}

func wordsAt(w ...uint64) uintptr {
	a, _ := words(w...)
	return a
}

// call makes a call, and returns its result, or the error as a negative number.
func call(n uintptr, a ...uintptr) int {
	a = append(a, 0, 0, 0, 0, 0, 0)
	r, _, e := syscall.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5])
	if e != 0 {
		return -int(e)
	}
	return int(r)
}

// do makes a call and says what has come of it.
func do(what string, n uintptr, a ...uintptr) int {
	r := call(n, a...)
	fmt.Println(what, "=", r)
	return r
}

func u(v int) uintptr { return uintptr(v) }

const (
	none = ^uintptr(0)
	cwd  = ^uintptr(99)
)

func open(name string, flags int) uintptr {
	fd, err := syscall.Open(name, flags, 0o644)
	must(err)
	return u(fd)
}

func closeAll(fds ...uintptr) {
	for _, fd := range fds {
		must(syscall.Close(int(fd)))
	}
}

func pipe(flags int) (r, w uintptr) {
	var p [2]int
	must(syscall.Pipe2(p[:], flags))
	return u(p[0]), u(p[1])
}

// fresh makes a file with a text.
func fresh(name, s string) uintptr {
	must(os.WriteFile(name, []byte(s), 0o644))
	return open(name, syscall.O_RDWR)
}

func content(name string) string {
	b, err := os.ReadFile(name)
	must(err)
	return shown(b)
}

func shown(b []byte) string {
	s := fmt.Sprintf("%q", b)
	if len(s) > 60 {
		sum := 0
		for _, c := range b {
			sum = sum*31 + int(c)
		}
		s = fmt.Sprintf("%s... (%d, %x)", s[:40], len(b), uint32(sum))
	}
	return s
}

func got(fd uintptr, n int) string {
	b := make([]byte, n)
	n, err := syscall.Read(int(fd), b)
	if err != nil {
		return fmt.Sprint(-int(err.(syscall.Errno)))
	}
	return shown(b[:n])
}

func put(fd uintptr, s string) int {
	n, err := syscall.Write(int(fd), []byte(s))
	if err != nil {
		return -int(err.(syscall.Errno))
	}
	return n
}

func place(fd uintptr) int64 {
	n, err := syscall.Seek(int(fd), 0, 1)
	must(err)
	return n
}

func stat(fd uintptr) string {
	var st syscall.Stat_t
	must(syscall.Fstat(int(fd), &st))
	return fmt.Sprintf("mode %o, %d links, size %d, %d blocks", st.Mode, st.Nlink, st.Size, st.Blocks)
}
