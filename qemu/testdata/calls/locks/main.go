// Locks locks files with flock and with the record locks of fcntl, and says what comes of it.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"unsafe"

	_ "github.com/zeroframe/zeroframe/kernel"
)

func main() {
	dir, err := os.MkdirTemp("", "locks")
	must(err)
	must(os.Chdir(dir))
	defer os.RemoveAll(dir)
	flocks()
	records()
	interrupted()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func open() int {
	fd, err := syscall.Open("file", syscall.O_RDWR|syscall.O_CREAT, 0o644)
	must(err)
	return fd
}

// waits makes a call that waits on a thread of its own. What it returns comes when it is over.
func waits(call func() error) <-chan error {
	c, began := make(chan error, 1), make(chan bool)
	go func() {
		runtime.LockOSThread()
		close(began)
		c <- call()
		select {} // the thread stays
	}()
	<-began
	return c
}

// over says whether a call is over that has to wait.
func over(c <-chan error) string {
	select {
	case err := <-c:
		return fmt.Sprint("over too soon: ", err)
	default:
		return "it waits"
	}
}

func flocks() {
	const sh, ex, nb, un = syscall.LOCK_SH, syscall.LOCK_EX, syscall.LOCK_NB, syscall.LOCK_UN
	a, b := open(), open()
	fmt.Println("shared:", syscall.Flock(a, sh), syscall.Flock(b, sh|nb))
	fmt.Println("one wants it alone:", syscall.Flock(a, ex|nb), "and has lost it:", syscall.Flock(b, ex|nb))
	fmt.Println("against it:", syscall.Flock(a, sh|nb))
	c := waits(func() error { return syscall.Flock(a, ex) })
	fmt.Println("exclusive:", over(c))
	fmt.Println("to shared:", syscall.Flock(b, sh), over(c))
	fmt.Println("unlocked:", syscall.Flock(b, un), <-c)

	d, err := syscall.Dup(a)
	must(err)
	fmt.Println("a dup has it:", syscall.Flock(d, ex|nb), syscall.Close(a))
	c = waits(func() error { return syscall.Flock(b, sh) })
	fmt.Println("until its last close:", over(c), syscall.Close(d), <-c)
	fmt.Println("no such lock:", syscall.Flock(b, 0), syscall.Flock(777, un), syscall.Close(b))
}

const (
	setLock, getLock                          = 6, 5
	openGetLock, openSetLock, openSetLockWait = 36, 37, 38
)

func lock(fd int, how int, kind int16, start, size int64) (syscall.Flock_t, error) {
	l := syscall.Flock_t{Type: kind, Start: start, Len: size}
	_, _, e := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), uintptr(how), uintptr(unsafe.Pointer(&l)))
	if l.Pid == int32(os.Getpid()) {
		l.Pid = 1
	}
	if e != 0 {
		return l, e
	}
	return l, nil
}

func records() {
	const r, w, un = syscall.F_RDLCK, syscall.F_WRLCK, syscall.F_UNLCK
	set := func(fd, how int, kind int16, start, size int64) error {
		_, err := lock(fd, how, kind, start, size)
		return err
	}
	a, b := open(), open()
	fmt.Println("the process does not lock itself out:", set(a, setLock, w, 0, 100), set(b, setLock, w, 50, 100))
	fmt.Print("and finds nothing: ")
	fmt.Println(lock(b, getLock, w, 0, 0))
	fmt.Print("an open file does: ")
	fmt.Println(lock(b, openGetLock, r, 140, 5))
	fmt.Println("and is locked out:", set(b, openSetLock, r, 140, 5))
	c := waits(func() error { return set(b, openSetLockWait, r, 149, 5) })
	fmt.Println("until any close of the file:", over(c), syscall.Close(open()), <-c)
	fmt.Println("open files:", set(a, openSetLock, r, 0, 152), set(a, openSetLock, w, 0, 150), set(a, openSetLock, w, 0, 149))
	fmt.Print("what is there: ")
	fmt.Println(lock(b, openGetLock, w, 100, 100))
	d, err := syscall.Dup(a)
	must(err)
	fmt.Println("a dup has it:", set(d, openSetLock, w, 10, 10), syscall.Close(d), set(b, openSetLock, w, 12, 1))
	c = waits(func() error { return set(b, openSetLockWait, w, 0, 20) })
	fmt.Println("until the last close:", over(c), syscall.Close(a), <-c, syscall.Close(b))
}

// interrupted ends a wait by a signal.
func interrupted() {
	c := make(chan os.Signal, 1000)
	signal.Notify(c, syscall.SIGUSR1)
	var action [4]uintptr // without SA_RESTART
	sigaction := func(new, old *[4]uintptr) {
		_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGUSR1), uintptr(unsafe.Pointer(new)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
		if e != 0 {
			panic(e)
		}
	}
	sigaction(nil, &action)
	action[1] &^= 0x10000000
	sigaction(&action, nil)
	a, b := open(), open()
	must(syscall.Flock(a, syscall.LOCK_EX))
	tid := make(chan int, 1)
	done := waits(func() error { tid <- syscall.Gettid(); return syscall.Flock(b, syscall.LOCK_SH) })
	for t := <-tid; ; {
		must(syscall.Tgkill(syscall.Getpid(), t, syscall.SIGUSR1)) // the first may come before it waits
		<-c
		select {
		case err := <-done:
			fmt.Println("a signal:", err)
			return
		default:
			runtime.Gosched()
		}
	}
}
