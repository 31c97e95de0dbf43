package smp

import (
	"unsafe" // also for linkname

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/stack"
)

// Time limits for a CPU, in nanoseconds: againWait until it is told once more to start, answerWait
// until it is left out. CPUs are waited for one after another. lateWait is for all late CPUs
// together, because a busy host that emulates the CPUs may not run one of them earlier.
const (
	againWait  = 1e6
	answerWait = 100e6
	lateWait   = 900e6
)

// silent is the number of CPUs that have not answered; the first of them has come as far as
// silentStage says, and has faulted there if silentFault is set. Set once at boot.
var (
	silent      int
	silentStage uint8
	silentFault bool
)

// startHook, if it is set, is called with the page before a CPU starts there. A program sets it in
// the source, like earlyHook of package kernel. Never written.
//
//go:linkname startHook
var startHook func(page uintptr)

// Start starts the other CPUs, as many as the option cpus= allows. ram is the loader's memory map.
// Early context, before mem.Release, when the clock works.
func Start(ram []boot.Region) {
	most := uint64(arch.MaxCPUs)
	if n, ok := option.Number("cpus"); ok {
		most = n
	}
	page := startPage(ram)
	if !arch.LocalInterrupts() || numIDs < 2 || most < 2 || page == 0 {
		return
	}
	first := arch.ThisID()
	percpu.This().ID = first
	for _, id := range ids[:numIDs] {
		if id != first {
			arch.InitCPU(id)
		}
	}
	wait(arch.ResetTime(), nil, 0)
	var was [boot.APPage / 8]uint64
	for i := range was {
		was[i] = *word(page, i)
	}
	late := uint64(lateWait)
	for _, id := range ids[:numIDs] {
		if id == first {
			continue
		}
		if uint64(percpu.Count()) >= most || !startOne(id, page, &late) && noRAM {
			break
		}
	}
	for i := range was {
		*word(page, i) = was[i]
	}
	compareAll()
}

// word returns word i of a page.
func word(page uintptr, i int) *uint64 {
	return (*uint64)(arch.Pointer(arch.Virtual(page + uintptr(i)*8)))
}

// startPage returns the highest page of RAM below 640 KiB, or 0. Its contents are restored
// afterwards.
func startPage(ram []boot.Region) (page uintptr) {
	const lowest, highest = 0x2000, 0xa0000
	for i := range ram {
		if r := &ram[i]; r.Usable && r.Lo < highest {
			if p := (uintptr(min(r.Hi,
				highest)) &^ (arch.PageSize - 1)) - arch.PageSize; p >= max(uintptr(r.Lo), lowest) {
				page = max(page, p)
			}
		}
	}
	return page
}

// startOne starts the CPU with that ID.
func startOne(id uint32, page uintptr, late *uint64) bool {
	r := (*percpu.Record)(arch.Pointer(mem.Contiguous(unsafe.Sizeof(percpu.Record{}))))
	stacks := mem.Contiguous(stack.AreaSize)
	if r == nil || stacks == 0 {
		noRAM = true
		return false
	}
	number := percpu.Count()
	stack.Add(number, stacks)
	if !stack.Prepare(number) {
		noRAM = true
		return false
	}
	percpu.Add(r)
	r.SetRing(mem.Contiguous(arch.RingSize))
	r.ID = id
	r.ShareTables()
	lo, hi := stack.Bounds(number, stack.Boot)
	boot.FillAP(page, lo, hi, uintptr(unsafe.Pointer(r)), main)
	if startHook != nil {
		startHook(page)
	}
	arch.StartCPU(id, page)
	if wait(againWait, &r.State, page) {
		return true
	}
	if _, fault := boot.APState(page); !fault {
		arch.StartCPU(id, page)
	}
	if wait(answerWait-againWait, &r.State, page) {
		return true
	}
	began := clock.Now()
	ok := wait(*late, &r.State, page)
	*late -= min(*late, clock.Now()-began)
	if !ok {
		arch.InitCPU(id) // it must not come later
		if silent++; silent == 1 {
			silentStage, silentFault = boot.APState(page)
		}
		percpu.Remove()
	}
	return ok
}

// wait waits that many nanoseconds; or, if s is the state of a CPU that starts in the page, until
// the CPU runs, which it reports, or has faulted there.
func wait(ns uint64, s *percpu.State, page uintptr) bool {
	for began := clock.Now(); clock.Now()-began < ns; arch.Pause() {
		if s == nil {
			continue
		}
		if s.Now() != percpu.Starting {
			return true
		}
		if _, fault := boot.APState(page); fault {
			return false
		}
	}
	return false
}

// CloseTables gives the other CPUs the list of second copies, and makes the pages of their tables
// read-only. Early context, once.
func CloseTables() {
	for n := uint32(1); n < percpu.Count(); n++ {
		r := percpu.At(n)
		r.ShareTables()
		if mem.ReadOnly(r.TablePages()) {
			r.LockTables()
		}
		Begin(n, mem.UseTables) // drops the CPU's cached page-table entries
		Wait(n)
	}
}
