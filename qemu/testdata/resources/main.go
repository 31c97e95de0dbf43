// Resources is a program that takes and leaks what the kernel logs (package
// kernel/observe/handle). Its argument says what; it prints what it knows of it by its own
// bookkeeping.
package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel"
)

var conns = kernel.NewHandleKind("conn")

func check(err error) {
	if err != nil {
		panic(err)
	}
}

//go:noinline
func openOne() int {
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0)
	check(err)
	return fd
}

//go:noinline
func leakFDs(n int) {
	for range n {
		openOne()
	}
}

//go:noinline
func leakMap(size int) []byte {
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	check(err)
	return b
}

//go:noinline
func touch(b []byte) {
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
}

//go:noinline
func leakThread(started chan<- bool) {
	runtime.LockOSThread()
	started <- true
	select {}
}

//go:noinline
func setTimer() {
	timer := [4]uint64{0, 0, 1000, 0} // in 1000 s
	_, _, e := syscall.RawSyscall(syscall.SYS_SETITIMER, 0, uintptr(unsafe.Pointer(&timer)), 0)
	if e != 0 {
		panic(e)
	}
}

//go:noinline
func createTimer() {
	var id int32
	if _, _, e := syscall.RawSyscall(syscall.SYS_TIMER_CREATE, 1, 0, uintptr(unsafe.Pointer(&id))); e != 0 {
		panic(e)
	}
	in := [4]int64{0, 0, 500, 0}
	if _, _, e := syscall.RawSyscall6(syscall.SYS_TIMER_SETTIME, uintptr(id), 0, uintptr(unsafe.Pointer(&in)), 0, 0, 0); e != 0 {
		panic(e)
	}
}

//go:noinline
func leakConns(n int) {
	for i := range n {
		conns.Open(uintptr(1000+i), 100)
	}
}

// leak leaks some of each kind between two snapshots.
func leak() {
	leakFDs(1) // what is done once only is done now
	kernel.DumpHandles()
	leakFDs(5)
	touch(leakMap(64 << 10))
	leakConns(7)
	setTimer()
	createTimer()
	started := make(chan bool)
	for range 3 {
		go leakThread(started)
		<-started
	}
	kernel.DumpHandles()
}

//go:noinline
func closeFirst(fd int) { syscall.Close(fd) }

//go:noinline
func closeAgain(fd int) { syscall.Close(fd) }

//go:noinline
func unmapFirst(b []byte) { unmap(b) }

//go:noinline
func unmapAgain(b []byte) { unmap(b) }

func unmap(b []byte) {
	_, _, e := syscall.RawSyscall(syscall.SYS_MUNMAP, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0)
	if e != 0 {
		panic(e)
	}
}

// twice closes twice, then dies.
func twice() {
	fd := openOne()
	closeFirst(fd)
	closeAgain(fd)
	b := leakMap(1 << 20)
	unmapFirst(b)
	unmapAgain(b)
	fmt.Printf("twice fd %d map %#x\n", fd, uintptr(unsafe.Pointer(&b[0])))
	leakFDs(2)
	var p *int
	*p = 1
}

// futex waits until somebody wakes it.
func futex(p *uint32) {
	const futex, wait = 202, 128
	syscall.Syscall6(futex, uintptr(unsafe.Pointer(p)), wait, 0, 0, 0, 0)
}

//go:noinline
func waitForB(b *uint32) { futex(b) }

//go:noinline
func waitForA(a *uint32) { futex(a) }

// deadlock has two threads wait for each other for good.
func deadlock() {
	a, b := new(uint32), new(uint32)
	var both sync.WaitGroup
	both.Add(2)
	go func() { waitForB(b); both.Done() }()
	go func() { waitForA(a); both.Done() }()
	for stacks := make([]byte, 64<<10); bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("[syscall]")) < 2; {
		runtime.Gosched() // one of them is on its way to its call
	}
	fmt.Printf("deadlock %#x %#x\n", uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(b)))
	both.Wait()
}

// count opens and closes at random, and says what is open then.
func count() {
	kernel.DumpHandles()
	r := rand.New(rand.NewPCG(1, 2))
	open := map[int]bool{}
	maps := map[uintptr][]byte{}
	loggedConns := map[int]bool{}
	one := func(m map[int]bool) int {
		all := []int{}
		for k := range m {
			all = append(all, k)
		}
		slices.Sort(all)
		return all[r.IntN(len(all))]
	}
	for range 2000 {
		switch r.IntN(8) {
		case 0, 1:
			open[openOne()] = true
		case 2:
			var p [2]int
			check(syscall.Pipe2(p[:], 0))
			open[p[0]], open[p[1]] = true, true
		case 3, 4:
			for range min(len(open), 3) {
				fd := one(open)
				check(syscall.Close(fd))
				delete(open, fd)
			}
		case 5:
			if len(open) > 0 {
				fd, err := syscall.Dup(one(open))
				check(err)
				open[fd] = true
			}
		case 6:
			// With a page between that nobody has, so that none is a part of another.
			b := leakMap((1 + r.IntN(20)) * 4096)
			maps[uintptr(unsafe.Pointer(&b[0]))] = b
			if len(maps) > 30 {
				for a, b := range maps {
					unmap(b)
					delete(maps, a)
					break
				}
			}
		case 7:
			c := r.IntN(100)
			if loggedConns[c] {
				conns.Close(uintptr(c))
			} else {
				conns.Open(uintptr(c), uintptr(c))
			}
			loggedConns[c] = !loggedConns[c]
		}
	}
	kernel.DumpHandles()
	for fd := range open {
		fmt.Println("open fd", fd)
	}
	for a, b := range maps {
		fmt.Println("open map", a, len(b))
	}
	for c, is := range loggedConns {
		if is {
			fmt.Println("open conn", c, c)
		}
	}
}

var kept [][]byte

//go:noinline
func keep(n int) {
	for range n {
		kept = append(kept, make([]byte, 64<<10))
	}
}

// heap keeps 4 MiB, then 12 MiB more.
func heap() {
	keep(64)
	for range 3 {
		runtime.GC()
	}
	kernel.DumpHandles()
	keep(192)
	for range 3 {
		runtime.GC()
	}
	kernel.DumpHandles()
	records := make([]runtime.MemProfileRecord, 10_000)
	n, ok := runtime.MemProfile(records, true)
	if !ok {
		panic("more records than room")
	}
	var sum runtime.MemProfileRecord
	for _, r := range records[:n] {
		sum.AllocObjects += r.AllocObjects
		sum.FreeObjects += r.FreeObjects
		sum.AllocBytes += r.AllocBytes
		sum.FreeBytes += r.FreeBytes
	}
	fmt.Println("profile", sum.AllocObjects, sum.FreeObjects, sum.AllocBytes, sum.FreeBytes)
}

const (
	early, late = 40, 25
	objectSize  = 8 << 10 // a size of the allocator's
)

//go:noinline
func object() []byte { return make([]byte, objectSize) }

//go:noinline
func keepEarly() { kept = append(kept, object()) }

//go:noinline
func keepLate() { kept = append(kept, object()) }

//go:noinline
func drop() { kept[0] = object() }

// heapDies allocates, has that collected if it is asked to, allocates more, and dies.
func heapDies(collect bool) {
	kept = make([][]byte, 1, 1+early+late)
	for range early {
		keepEarly()
	}
	for range late {
		drop()
	}
	kept[0] = nil
	if collect {
		for range 3 {
			runtime.GC()
		}
	}
	for range late {
		keepLate()
	}
	fmt.Println("kept", early, late, "of", objectSize)
	var p *int
	*p = 1
}

func main() {
	switch os.Args[1] {
	case "leak":
		leak()
	case "twice":
		twice()
	case "deadlock":
		deadlock()
	case "count":
		count()
	case "heap":
		heap()
	case "heapdies":
		heapDies(len(os.Args) > 2)
	case "spin":
		leakFDs(1)
		fmt.Println("spinning")
		for start := time.Now(); time.Since(start) < time.Minute; {
			leakFDs(1)
			time.Sleep(50 * time.Millisecond)
		}
	}
}
