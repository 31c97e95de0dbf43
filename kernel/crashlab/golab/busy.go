package golab

import (
	"runtime"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// A program that keeps all CPUs busy, in Go code, in the runtime and in the kernel, and then dies
// on the last one.

// work lists what its goroutines do all the time. Never written.
var work = [...]func(){workCompute, workGarbage, workMap, workCall, workSleep, workYield}

// busyA dies crash.delay= us after the start of the goroutines: in kernel context if crash.seed= is
// even, otherwise in a goroutine.
//
//go:noinline
func busyA() {
	for range percpu.Count() {
		for _, f := range work {
			go func() {
				for {
					f()
				}
			}()
		}
		go workPass()
	}
	delay, _ := option.Number("crash.delay")
	time.Sleep(time.Duration(delay) * time.Microsecond)
	seed, _ := option.Number("crash.seed")
	last := percpu.Count() - 1
	switch {
	case seed%2 == 1 || last == 0:
		stayOn(last)
		busyB()
		sink++
	default:
		stayOnFirst()
		smp.Begin(last, busyKernelB)
		callForEver()
	}
}

//go:noinline
func busyB() { busyC(nilPointer); sink++ }

//go:noinline
func busyC(p *[4]uint64) { sink += p[1] }

//go:noinline
func busyKernelB() { divideOnCPU(); sink++ }

func workCompute() {
	for i := range 10000 {
		runtime.KeepAlive(i * i)
	}
}

func workGarbage() {
	kept := make([][]byte, 64)
	for i := range 256 {
		kept[i%len(kept)] = make([]byte, 16+i*8)
	}
	runtime.KeepAlive(kept)
}

func workMap() {
	b, err := syscall.Mmap(-1, 0, 1<<16, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return // there is no memory just now
	}
	for i := 0; i < len(b); i += arch.PageSize {
		b[i] = 1
	}
	syscall.Munmap(b)
}

func workCall() { syscall.Getppid() }

func workSleep() { time.Sleep(50 * time.Microsecond) }

func workYield() { runtime.Gosched() }

// workPass passes words to another goroutine and back.
func workPass() {
	words, back := make(chan int), make(chan int)
	go func() {
		for n := range words {
			back <- n + 1
		}
	}()
	for n := 0; ; n++ {
		words <- n
		<-back
	}
}
