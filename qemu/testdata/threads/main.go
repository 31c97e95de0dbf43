// Threads is an ordinary Go program whose threads run on all CPUs that there are. Its first
// argument says what it does:
//
//	cpus           what is said of the CPUs, and where threads run
//	clock N        the CPUs pass the time on to each other, N times, whoever comes first
//	turns N        the same in turn
//	fill N SEED    the CPUs touch the same new pages at once, N times
//	calls N        each CPU calls two functions N times
//	steer N FILE   N times, a file is written and read, by the second CPU, while the first one spins
//	unmap N SEED   N changes of mappings, which the other CPUs are to see at once
//
// What is not as it must be is a panic. It runs on Linux, too.
package main

import (
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// Numbers that package syscall has not on every CPU.
const (
	callMembarrier = 324
	callGetcpu     = 309

	barrierQuery, barrierPrivate, barrierRegister = 0, 1 << 3, 1 << 4
)

func main() {
	switch os.Args[1] {
	case "cpus":
		cpus()
	case "clock":
		passTime(number(2), false, false)
	case "turns":
		passTime(number(2), true, false)
	case "shown":
		passTime(number(2), false, true)
	case "fill":
		fill(number(2), uint64(number(3)))
	case "calls":
		calls(number(2))
	case "steer":
		steer(number(2), os.Args[3])
	case "unmap":
		unmap(number(2), uint64(number(3)))
	default:
		panic("unknown: " + os.Args[1])
	}
}

func number(i int) int {
	n, err := strconv.Atoi(os.Args[i])
	if err != nil {
		panic(err)
	}
	return n
}

func wrong(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// getcpu returns the CPU that the running thread is on.
func getcpu() int {
	n := uint32(1 << 31)
	if _, _, e := syscall.RawSyscall(callGetcpu, uintptr(unsafe.Pointer(&n)), 0, 0); e != 0 {
		wrong("getcpu: %v", e)
	}
	return int(n)
}

// setAffinity says on which CPUs a thread may run; thread 0 is the running one.
func setAffinity(thread int, cpus uint64) syscall.Errno {
	_, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(thread), 8, uintptr(unsafe.Pointer(&cpus)))
	return e
}

func affinity(thread int) uint64 {
	var set [16]uint64
	n, _, e := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(thread), unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if e != 0 || n < 8 || n%8 != 0 {
		wrong("sched_getaffinity: %d, %v", n, e)
	}
	return set[0]
}

// pin binds the running goroutine to a thread of its own, and that to a CPU. The thread ends with
// the goroutine.
func pin(cpu int) {
	runtime.LockOSThread()
	if e := setAffinity(0, 1<<cpu); e != 0 {
		wrong("CPU %d: sched_setaffinity: %v", cpu, e)
	}
	if got := getcpu(); got != cpu {
		wrong("a thread that may run on CPU %d alone is on CPU %d", cpu, got)
	}
}

// cpus checks and prints what is said of the CPUs.
func cpus() {
	n := runtime.NumCPU()
	fmt.Println("NumCPU", n, "GOMAXPROCS", runtime.GOMAXPROCS(0))
	fmt.Println("goroutines on CPUs", spread(n))
	fmt.Println("threads that stay", stay(n))
	moved(n)
	fmt.Println("processors", strings.Count("\n"+text("/proc/cpuinfo"), "\nprocessor\t:"))
	fmt.Println("online", strings.TrimSpace(text("/sys/devices/system/cpu/online")))

	query, e := barrier(barrierQuery)
	fmt.Println("membarrier", e, query&barrierPrivate != 0, query&barrierRegister != 0)
	_, e = barrier(barrierPrivate)
	fmt.Println("private", e)
	_, e = barrier(barrierRegister)
	fmt.Println("register", e)
	_, e = barrier(barrierPrivate)
	fmt.Println("private", e)
}

func text(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func barrier(command uintptr) (uintptr, syscall.Errno) {
	r, _, e := syscall.RawSyscall(callMembarrier, command, 0, 0)
	return r, e
}

// spread has a goroutine for each CPU, and ends when all CPUs have been seen.
func spread(n int) int {
	var seen atomic.Uint64
	all := ^uint64(0) >> (64 - n)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			runtime.LockOSThread()
			for seen.Load() != all {
				seen.Or(1 << getcpu())
			}
		})
	}
	wg.Wait()
	return bits.OnesCount64(seen.Load())
}

// stay has a thread for each CPU, which stays there whatever it does; it returns how many.
func stay(n int) int {
	var right atomic.Int32
	var wg sync.WaitGroup
	for cpu := range n {
		wg.Go(func() {
			pin(cpu)
			for i := range 30 {
				switch i % 3 {
				case 0:
					syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
				case 1:
					runtime.Gosched()
				default:
					nap := syscall.Timespec{Nsec: 1000}
					syscall.Nanosleep(&nap, nil)
				}
				if got := getcpu(); got != cpu {
					wrong("a thread that may run on CPU %d alone is on CPU %d behind step %d", cpu, got, i)
				}
			}
			if got := affinity(0); got != 1<<cpu {
				wrong("the affinity is %#x; want that of CPU %d", got, cpu)
			}
			right.Add(1)
		})
	}
	wg.Wait()
	return int(right.Load())
}

// moved has a thread that runs moved to each CPU by another one; and CPUs that are not there are
// none.
func moved(n int) {
	var tid, at atomic.Int32
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		runtime.LockOSThread()
		tid.Store(int32(syscall.Gettid()))
		for !over.Load() {
			at.Store(1 + int32(getcpu()))
		}
	})
	for tid.Load() == 0 {
		runtime.Gosched()
	}
	for i := range max(n, 16) { // each CPU is left from its interrupt's handler, again and again
		cpu := i % n
		if e := setAffinity(int(tid.Load()), 1<<cpu); e != 0 {
			wrong("sched_setaffinity of another thread: %v", e)
		}
		for turn := 1; at.Load() != 1+int32(cpu); turn++ { // without a word to the Go scheduler, which would wake all others
			if turn%256 == 0 { // each is a way out of emulated code
				pause()
			}
		}
		if got := affinity(int(tid.Load())); got != 1<<cpu {
			wrong("the affinity of another thread is %#x; want that of CPU %d", got, cpu)
		}
	}
	over.Store(true)
	wg.Wait()
	if n < 64 {
		if e := setAffinity(0, 1<<63); e != syscall.EINVAL {
			wrong("sched_setaffinity of CPU 63 of %d: %v; want %v", n, e, syscall.EINVAL)
		}
	}
	if e := setAffinity(0, 0); e != syscall.EINVAL {
		wrong("sched_setaffinity of no CPU: %v; want %v", e, syscall.EINVAL)
	}
}

// passTime has a thread on each CPU that reads the clock and leaves what it has read for all others. The time
// that one has read may never be before what was left. It ends when a time was followed by
// one of another CPU n times. With turns each waits for the CPU before it. With show it says so
// now and then.
func passTime(n int, turns, show bool) {
	const cpuBits = 6
	var token, passed atomic.Uint64 // ns<<cpuBits | CPU
	var shown atomic.Uint64
	var wg sync.WaitGroup
	began := time.Now()
	for cpu := range runtime.NumCPU() {
		wg.Go(func() {
			pin(cpu)
			for passed.Load() < uint64(n) {
				last := token.Load()
				if turns && passed.Load()%uint64(runtime.NumCPU()) != uint64(cpu) {
					pause() // so that QEMU, if it runs one CPU at a time, runs the next one
					continue
				}
				now := uint64(time.Since(began))
				if now < last>>cpuBits {
					wrong("CPU %d reads %d ns, and CPU %d has read %d before", cpu, now, last&(1<<cpuBits-1), last>>cpuBits)
				}
				if token.CompareAndSwap(last, now<<cpuBits|uint64(cpu)) && (turns || int(last&(1<<cpuBits-1)) != cpu) {
					p := passed.Add(1)
					if was := shown.Load(); show && now > was+10e6 && shown.CompareAndSwap(was, now) {
						fmt.Println("times", p)
					}
				}
			}
		})
	}
	wg.Wait()
	fmt.Println("passed", passed.Load() >= uint64(n))
}

// pause says that the CPU waits for another one.
func pause()
