// Package fuzzworker lets a test binary on this kernel be the worker of a fuzzing coordinator that
// runs on the host. zf test -fuzz links it.
//
// Go's fuzzing engine (internal/fuzz) starts its workers as processes, and gives each a pipe for
// calls, one for answers, and a file that both map, as descriptors 3, 4 and 5. Here the file is a
// window (kernel/window.go): the host keeps the coordinator's side of it up to date, and can still
// read it when this machine has died. The calls and answers, each a line of JSON, go through a
// second window:
//
//	word 0   number of the latest call      word 1   its length in bytes
//	word 2   number of the latest answer    word 3   its length
//	page 1   the call, in the first half of what is left; the answer, in the second
//
// A number is written last, after what it counts. There is one call at a time.
//
// Goroutine context.
package fuzzworker

import (
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The windows.
const (
	memory = "/dev/fuzz-memory"
	calls  = "/dev/fuzz-calls"
)

// poll is how often to check for a call while there is nothing else to do.
const poll = 200 * time.Microsecond

func init() {
	if w, ok := open(); ok {
		go w.serve()
	}
}

// worker is the path of the calls and answers.
type worker struct {
	words        *[4]atomic.Uint64
	call, answer []byte
	to, from     int // the engine's pipes
}

// open makes the engine's descriptors. ok is false on a machine without windows.
func open() (w worker, ok bool) {
	window, err := syscall.Open(calls, syscall.O_RDWR, 0)
	if err != nil {
		return w, false
	}
	var info syscall.Stat_t
	check("fstat", syscall.Fstat(window, &info))
	room, err := syscall.Mmap(window, 0, int(info.Size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	check("mmap", err)
	check("close", syscall.Close(window))
	w.words = (*[4]atomic.Uint64)(unsafe.Pointer(&room[0]))
	room = room[syscall.Getpagesize():]
	w.call, w.answer = room[:len(room)/2], room[len(room)/2:]

	file, err := syscall.Open(memory, syscall.O_RDWR, 0)
	check("open", err)
	var in, out [2]int
	check("pipe", syscall.Pipe2(in[:], 0))
	check("pipe", syscall.Pipe2(out[:], 0))
	w.to, w.from = high(in[1]), high(out[0])
	for i, fd := range []int{high(in[0]), high(out[1]), high(file)} {
		check("dup", syscall.Dup3(fd, 3+i, 0))
		check("close", syscall.Close(fd))
	}
	return w, true
}

// high moves a descriptor out of the way.
func high(fd int) int {
	const first = 100
	n, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_DUPFD_CLOEXEC, first)
	if errno != 0 {
		check("fcntl", errno)
	}
	check("close", syscall.Close(fd))
	return int(n)
}

// serve passes calls to the engine and its answers back, for ever.
func (w *worker) serve() {
	for n := uint64(0); ; {
		if w.words[0].Load() == n {
			time.Sleep(poll)
			continue
		}
		n++
		for p := w.call[:w.words[1].Load()]; len(p) > 0; {
			k, err := syscall.Write(w.to, p)
			check("write", err)
			p = p[k:]
		}
		length := 0
		for length == 0 || w.answer[length-1] != '\n' {
			k, err := syscall.Read(w.from, w.answer[length:])
			check("read", err)
			if k == 0 {
				panic("fuzzworker: an answer of the fuzzing engine is too long")
			}
			length += k
		}
		w.words[3].Store(uint64(length))
		w.words[2].Store(n)
	}
}

// check panics if a system call has failed.
func check(what string, err error) {
	if err != nil {
		panic("fuzzworker: " + what + ": " + err.Error())
	}
}
