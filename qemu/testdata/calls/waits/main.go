// Waits makes system calls that the Go runtime and its library do not make, and that wait
// in the kernel.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// The main goroutine runs on the main thread, which Linux gives a signal of the program
// first if it wants it.
func init() { runtime.LockOSThread() }

func main() {
	vectors()
	signals()
	sleeps()
	futexes()
}

func call(n uintptr, a ...uintptr) syscall.Errno {
	a = append(a, 0, 0, 0, 0, 0)
	_, _, e := syscall.Syscall6(n, a[0], a[1], a[2], a[3], a[4], a[5])
	return e
}

// interrupted makes a call that waits, and sends this thread a signal that has a handler
// until the call is over: the first may come before it waits.
func interrupted(n uintptr, a ...uintptr) syscall.Errno {
	tid, over, last := syscall.Gettid(), make(chan bool), make(chan bool)
	go func() {
		defer close(last)
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				must(syscall.Tgkill(syscall.Getpid(), tid, syscall.SIGUSR1))
			}
		}
	}()
	e := call(n, a...)
	close(over)
	<-last
	return e
}

const absolute = 1

// sleeps sleeps until times that are past, and in ways that a signal ends.
func sleeps() {
	c := make(chan os.Signal, 10)
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	start := time.Now()
	for _, at := range []syscall.Timespec{{}, {Sec: 1}, {Sec: 1, Nsec: 999_999_999}, {Sec: -1}, {Nsec: 1e9}} {
		for clock := uintptr(0); clock < 14; clock++ {
			if clock == 2 || clock == 8 || clock == 9 {
				continue // the program's running time; alarms, which not every Linux has
			}
			fmt.Println("until", at, "of clock", clock, call(syscall.SYS_CLOCK_NANOSLEEP, clock, absolute, uintptr(unsafe.Pointer(&at)), 0))
		}
	}
	if d := time.Since(start); d > 20*time.Second {
		fmt.Println("times that are past took", d)
	}
	long, left := syscall.Timespec{Sec: 1000}, syscall.Timespec{}
	e := interrupted(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&long)), uintptr(unsafe.Pointer(&left)))
	fmt.Println("nanosleep:", e, left.Sec > 900 && left.Sec < 1000)
	left = syscall.Timespec{}
	e = interrupted(syscall.SYS_CLOCK_NANOSLEEP, 0, 0, uintptr(unsafe.Pointer(&long)), uintptr(unsafe.Pointer(&left)))
	fmt.Println("clock_nanosleep:", e, left.Sec > 900 && left.Sec < 1000)
	fmt.Println("to nowhere:", interrupted(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&long)), 0))
	fmt.Println("to a bad place:", interrupted(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&long)), 8))
	far := syscall.NsecToTimespec(time.Now().Add(1000 * time.Second).UnixNano())
	left = syscall.Timespec{Sec: -1}
	fmt.Println("absolute:", interrupted(syscall.SYS_CLOCK_NANOSLEEP, 0, absolute, uintptr(unsafe.Pointer(&far)), uintptr(unsafe.Pointer(&left))), left)
}

// futexes waits for words that signals, time and others end.
func futexes() {
	c := make(chan os.Signal, 10)
	signal.Notify(c, syscall.SIGUSR1)
	defer signal.Stop(c)
	const wait, wake, waitBitset, all = 0, 1, 9, 1<<32 - 1
	word := new(uint32)
	at := uintptr(unsafe.Pointer(word))
	long, short := syscall.Timespec{Sec: 1000}, syscall.Timespec{Nsec: 1e6}
	fmt.Println("another value:", call(syscall.SYS_FUTEX, at, wait, 1, uintptr(unsafe.Pointer(&short))))
	fmt.Println("a short while:", call(syscall.SYS_FUTEX, at, wait, 0, uintptr(unsafe.Pointer(&short))))
	fmt.Println("until long ago:", call(syscall.SYS_FUTEX, at, waitBitset, 0, uintptr(unsafe.Pointer(&short)), 0, all))
	fmt.Println("a long while:", interrupted(syscall.SYS_FUTEX, at, wait, 0, uintptr(unsafe.Pointer(&long))))
	for len(c) > 0 {
		<-c
	}
	go func() {
		for range 5 {
			<-c // a signal has been handled
		}
		for !ended.Load() {
			call(syscall.SYS_FUTEX, at, wake, 1)
			time.Sleep(time.Millisecond)
		}
	}()
	e := interrupted(syscall.SYS_FUTEX, at, wait, 0, 0)
	ended.Store(true)
	fmt.Println("without end:", e)
}

var ended, taken atomic.Bool

// vectors writes many parts at a time to a pipe that waits, and soon is full.
func vectors() {
	var fds [2]int
	must(syscall.Pipe(fds[:]))
	var all []byte
	for i := range 400_000 {
		all = append(all, byte(i*i>>8))
	}
	go func() {
		for rest := all; len(rest) > 0; {
			var parts []syscall.Iovec
			left := rest
			for _, n := range []int{70_000, 1, 3000, 5000, 4096} {
				n = min(n, len(left))
				if n > 0 {
					parts = append(parts, syscall.Iovec{Base: &left[0], Len: uint64(n)})
				}
				left = left[n:]
			}
			n, _, e := syscall.Syscall(syscall.SYS_WRITEV, uintptr(fds[1]), uintptr(unsafe.Pointer(&parts[0])), uintptr(len(parts)))
			if e != 0 || n == 0 {
				panic(e)
			}
			rest = rest[n:]
		}
		must(syscall.Close(fds[1]))
	}()
	var got []byte
	for buf := make([]byte, 10_000); ; time.Sleep(time.Millisecond) {
		n, err := syscall.Read(fds[0], buf)
		must(err)
		if n == 0 {
			break
		}
		got = append(got, buf[:n]...)
	}
	if !bytes.Equal(got, all) {
		fmt.Println("vectors: what came is not what was written:", len(got), "bytes of", len(all))
		os.Exit(1)
	}

	// Parts of what is there are read without waiting for more.
	r, w, err := os.Pipe()
	must(err)
	_, err = io.WriteString(w, "abcde")
	must(err)
	a, b, c := make([]byte, 2), make([]byte, 2), make([]byte, 2)
	parts := []syscall.Iovec{{Base: &a[0], Len: 2}, {Base: &b[0], Len: 2}, {Base: &c[0], Len: 2}}
	n, _, e := syscall.Syscall(syscall.SYS_READV, r.Fd(), uintptr(unsafe.Pointer(&parts[0])), 3)
	fmt.Printf("vectors: %d, %q%q%q\n", n, a, b, c)
	if e != 0 {
		panic(e)
	}
}

// signals waits for signals that it holds off.
func signals() {
	runtime.LockOSThread()
	const bits = 8
	set := uint64(1<<(syscall.SIGUSR1-1) | 1<<(syscall.SIGUSR2-1))
	mask := func(how int) {
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, uintptr(how), uintptr(unsafe.Pointer(&set)), 0, bits, 0, 0)
		if e != 0 {
			panic(e)
		}
	}
	wait := func(d time.Duration) (int, int32, error) {
		var info [32]int32
		ts := syscall.NsecToTimespec(int64(d))
		n, e := uintptr(0), syscall.EINTR
		for e == syscall.EINTR { // by a signal of the runtime
			n, _, e = syscall.Syscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&info)),
				uintptr(unsafe.Pointer(&ts)), bits, 0, 0)
		}
		if e != 0 {
			return 0, 0, e
		}
		return int(n), info[0], nil
	}
	mask(0)
	tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0)
	send := func(sig syscall.Signal) {
		_, _, e := syscall.RawSyscall(syscall.SYS_TGKILL, uintptr(syscall.Getpid()), tid, uintptr(sig))
		if e != 0 {
			panic(e)
		}
	}
	start := time.Now()
	fmt.Print("nothing: ")
	fmt.Println(wait(50 * time.Millisecond))
	if d := time.Since(start); d < 50*time.Millisecond {
		fmt.Println("waited", d)
	}
	send(syscall.SIGUSR2)
	fmt.Print("pending: ")
	fmt.Println(wait(0))
	go func() { time.Sleep(50 * time.Millisecond); send(syscall.SIGUSR1) }()
	fmt.Print("later: ")
	fmt.Println(wait(20 * time.Second))
	fmt.Print("nothing more: ")
	fmt.Println(wait(0))
	go func() {
		for !taken.Load() { // before it waits, another thread takes it
			must(syscall.Kill(syscall.Getpid(), syscall.SIGUSR2))
			time.Sleep(time.Millisecond)
		}
	}()
	fmt.Print("to the program: ")
	fmt.Println(wait(1000 * time.Second))
	taken.Store(true)
	mask(1)
}
