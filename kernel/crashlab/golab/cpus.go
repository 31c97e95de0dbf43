package golab

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/smp"
)

// Another CPU dies while the first one runs a goroutine of the program.

// needCPUs ends the machine if it has only one CPU.
func needCPUs() {
	if percpu.Count() == 1 {
		say("this kind needs a machine with several CPUs (zf run -smp N)")
		os.Exit(2)
	}
}

// stayOnFirst makes the goroutine run on the first CPU from now on.
func stayOnFirst() {
	needCPUs()
	stayOn(0)
}

func stayOn(cpu uint32) {
	runtime.LockOSThread()
	cpus := uint64(1) << cpu
	if _, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(cpus),
		uintptr(unsafe.Pointer(&cpus))); e != 0 {
		say("sched_setaffinity: " + e.Error())
	}
}

//go:noinline
func otherCPUA() { otherCPUB(); sink++ }

//go:noinline
func otherCPUB() {
	stayOnFirst()
	smp.Begin(percpu.Count()-1, divideOnCPU)
	otherCPUC()
	sink++
}

//go:noinline
func otherCPUC() {
	for zero == 0 {
		sink++
	}
}

// divideOnCPU dies, in kernel context.
//
//go:noinline
func divideOnCPU() { sink = uint64(five / zero) }

// recordOfCPUA makes the first CPU call recordOfCPUB, in kernel context.
//
//go:noinline
func recordOfCPUA() {
	needCPUs()
	smp.Begin(0, recordOfCPUB)
	otherCPUC()
	sink++
}

// recordOfCPUB overwrites, in each other CPU's record, the pointer to it and its ID. The CPUs stand
// still, or they would be the first to die of it.
//
//go:noinline
func recordOfCPUB() {
	fault.HoldCPUs()
	for n := uint32(1); n < percpu.Count(); n++ {
		r := percpu.At(n)
		r.ID, r.Number = 0xaa, n^0x40
		// Where the record is.
		for at := uintptr(unsafe.Pointer(r)); at < uintptr(unsafe.Pointer(r))+8; at++ {
			*(*byte)(arch.Pointer(at)) = 0x5a
		}
	}
	recordOfCPUC(nil)
	sink++
}

//go:noinline
func recordOfCPUC(p *uint64) { sink = *p }

// callForEver makes system calls.
func callForEver() {
	for zero == 0 {
		syscall.Getppid()
	}
}

// reached is set when the last CPU has come to its task. Crash lab only.
var reached uint32

func isReached() bool { return percpu.Load(&reached) != 0 }

func reach() { arch.Store32(uintptr(unsafe.Pointer(&reached)), 1) }

// onLastCPU makes the last CPU call f until it has come to its task: f returns at once if the CPU
// waits for the kernel lock.
func onLastCPU(f func()) {
	for last := percpu.Count() - 1; !isReached(); {
		smp.Begin(last, f)
		for percpu.At(last).Call != 0 && !isReached() {
			arch.Pause()
		}
	}
}

//go:noinline
func lockHeldA() {
	stayOnFirst()
	onLastCPU(lockHeldB)
	callForEver()
}

// lockHeldB takes the kernel lock and keeps it.
//
//go:noinline
func lockHeldB() {
	if r := percpu.This(); r.WaitSince == 0 {
		r.Lock(percpu.Interrupt, 0)
		reach()
		otherCPUC()
		sink++
	}
}

// lockEndsA has the first CPU keep the kernel lock until the last one has reported that, and go on
// for as long as it takes to check its stacks.
func lockEndsA() {
	stayOnFirst()
	began := make(chan bool)
	go func() {
		stayOn(percpu.Count() - 1)
		close(began)
		callForEver()
	}()
	<-began
	smp.Begin(0, lockEndsB)
	for began := time.Now(); time.Since(began) < 3*time.Second; {
	}
	say("it goes on")
}

//go:noinline
func lockEndsB() {
	const reports = 5 // checks of the CPU that waits
	r := percpu.This()
	r.Lock(percpu.Interrupt, 0)
	for percpu.At(percpu.Count()-1).Looks <= reports {
		arch.Pause()
	}
	r.Unlock()
}

//go:noinline
func lockDiesA() {
	stayOnFirst()
	onLastCPU(lockDiesB)
	callForEver()
}

// lockDiesB takes the kernel lock, and dies when the first CPU waits for it, for the goroutine's
// call.
//
//go:noinline
func lockDiesB() {
	if r := percpu.This(); r.WaitSince == 0 {
		r.Lock(percpu.Interrupt, 0)
		reach()
		awaitCall(r, percpu.At(0))
		divideOnCPU()
		sink++
	}
}

// awaitCall waits until another CPU waits for the kernel lock, which this one has, for the
// goroutine's call. Sometimes that is a call of the runtime's monitor, which also runs there: then
// it gets the lock.
//
//go:noinline
func awaitCall(r, other *percpu.Record) {
	for ; other.WaitSince == 0 ||
		other.WaitGate != percpu.GateOf(syscall.SYS_GETPPID); arch.Pause() {
		if other.WaitSince != 0 {
			r.Unlock()
			for n := 0; n < 1000 && other.WaitSince != 0; n++ {
				arch.Pause()
			}
			r.Lock(percpu.Interrupt, 0)
		}
	}
}

// flushDiesA makes the last CPU run a goroutine, and changes page tables.
//
//go:noinline
func flushDiesA() {
	stayOnFirst()
	began := make(chan bool)
	go func() {
		stayOn(percpu.Count() - 1)
		close(began)
		otherCPUC()
	}()
	<-began
	onLastCPU(flushDiesB)
	mapForEver()
}

//go:noinline
func mapForEver() {
	for zero == 0 {
		workMap()
	}
}

// flushDiesB dies when another CPU waits for this one to drop pages; at the gate none would wait.
// That CPU stands still first, because it does not wait for a CPU that has died.
//
//go:noinline
func flushDiesB() {
	if percpu.This().AtGate == 0 {
		before := percpu.Flushes
		reach()
		for percpu.Flushes == before {
			arch.Pause()
		}
		fault.HoldCPUs()
		divideOnCPU()
		sink++
	}
}

//go:noinline
func deafA() {
	stayOnFirst()
	onLastCPU(deafB)
	callForEver()
}

//go:noinline
func deafB() {
	if percpu.This().WaitSince == 0 {
		deafC()
		sink++
	}
}

// deafC lets no interrupt in, though the timer is set.
//
//go:noinline
func deafC() {
	clock.Arm(&percpu.This().Shot, clock.Now())
	reach()
	otherCPUC()
	sink++
}

// deafInLineA makes the last CPU the first one that waits for the kernel lock, for a goroutine's
// call, and then lets no interrupt in there.
//
//go:noinline
func deafInLineA() {
	stayOnFirst()
	last := percpu.At(percpu.Count() - 1)
	began := make(chan bool)
	go func() {
		stayOn(last.Number)
		close(began)
		callForEver()
	}()
	<-began
	smp.Begin(0, deafInLineB)
	callForEver()
}

//go:noinline
func deafInLineB() {
	r, last := percpu.This(), percpu.At(percpu.Count()-1)
	r.Lock(percpu.Interrupt, 0)
	awaitCall(r, last)
	for last.Halting != percpu.HaltsForLock {
		arch.Pause()
	}
	smp.Begin(last.Number, deafC)
	for !isReached() {
		arch.Pause()
	}
	r.Unlock()
}

// skewedA has a goroutine on each CPU pass the time on to the others: none may read an earlier time
// than another one. Each also sleeps there, for as long as it wants.
//
//go:noinline
func skewedA() {
	const turns, nap, late = 3000, 5 * time.Millisecond, 20 * time.Second
	began := time.Now()
	var latest, passed atomic.Int64
	var all sync.WaitGroup
	for cpu := range percpu.Count() {
		all.Go(func() {
			stayOn(cpu)
			for passed.Add(1) < turns {
				last := latest.Load()
				now := int64(time.Since(began))
				if now < last {
					say(fmt.Sprintf("CPU %d reads %d ns, when %d ns have been read", cpu, now, last))
				}
				latest.CompareAndSwap(last, now)
				runtime.Gosched()
			}
			before := time.Now()
			time.Sleep(nap)
			if slept := time.Since(before); slept < nap || slept > late {
				say(fmt.Sprintf("CPU %d has slept for %v; want %v", cpu, slept, nap))
			}
		})
	}
	all.Wait()
	say("the clock is one")
}

// noLockA makes the last CPU read data under the kernel lock, in an interrupt that does not take
// the lock. It only reads, so that an image without the check runs to its end.
//
//go:noinline
func noLockA() {
	stayOnFirst()
	onLastCPU(noLockB)
	say("nobody has asserted the kernel lock")
	os.Exit(0)
}

//go:noinline
func noLockB() { noLockC(); reach(); sink++ }

//go:noinline
func noLockC() { sink += uint64(mem.Bytes(false)) }
