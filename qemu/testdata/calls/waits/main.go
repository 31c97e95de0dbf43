// Waits makes system calls that the Go runtime and its library do not make, and that wait
// in the kernel.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"runtime"
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

func main() {
	vectors()
	signals()
}

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
		n, _, e := syscall.Syscall6(syscall.SYS_RT_SIGTIMEDWAIT, uintptr(unsafe.Pointer(&set)), uintptr(unsafe.Pointer(&info)),
			uintptr(unsafe.Pointer(&ts)), bits, 0, 0)
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
	mask(1)
}
