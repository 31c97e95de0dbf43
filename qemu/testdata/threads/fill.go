package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Pages that all CPUs touch for the first time at once, while areas beside them come and go: a page has
// one frame, in which all that the CPUs have written is, and no page is lost.

const (
	fillPages = 256
	fillTimes = 4 // rounds between two unmappings of the pages
)

func fill(n int, seed uint64) {
	cpus := runtime.NumCPU()
	var round, done atomic.Uint64
	base := mmap(0, fillPages*pageSize, readWrite, 0)
	var wg sync.WaitGroup
	for cpu := range cpus {
		wg.Go(func() {
			pin(cpu)
			random := rand.New(rand.NewPCG(seed, uint64(cpu)))
			for r := uint64(1); r <= uint64(n); r++ {
				for round.Load() < r {
					runtime.Gosched()
				}
				// All begin in the same place, half of the times.
				at := 0
				if random.IntN(2) == 0 {
					at = random.IntN(fillPages)
				}
				for i := range fillPages {
					*word(base + uintptr((at+i)%fillPages)*pageSize + uintptr(cpu)*8) = r
				}
				done.Add(1)
			}
		})
	}
	random := rand.New(rand.NewPCG(seed, 1<<32))
	for r := uint64(1); r <= uint64(n); r++ {
		round.Store(r)
		for done.Load() < r*uint64(cpus) {
			beside(random)
		}
		for i := range uintptr(fillPages) {
			for cpu := range cpus {
				if got := *word(base + i*pageSize + uintptr(cpu)*8); got != r {
					wrong("round %d, page %d: CPU %d's word is %d", r, i, cpu, got)
				}
			}
		}
		if r%fillTimes != 0 {
			change(syscall.SYS_MADVISE, base, fillPages*pageSize, syscall.MADV_DONTNEED)
		} else if got := mmap(base, fillPages*pageSize, readWrite, syscall.MAP_FIXED); got != base {
			wrong("mmap: %#x, want %#x", got, base)
		}
		if got := *(*uint64)(unsafe.Pointer(word(base + uintptr(random.IntN(fillPages))*pageSize))); got != 0 {
			wrong("a page that was given back holds %d", got)
		}
		change(syscall.SYS_MADVISE, base, fillPages*pageSize, syscall.MADV_DONTNEED)
	}
	wg.Wait()
	fmt.Println("rounds", n, "pages", n*fillPages)
}

// beside makes areas and takes them away.
func beside(random *rand.Rand) {
	var at, size [4]uintptr
	for i := range at {
		size[i] = uintptr(1+random.IntN(8)) * pageSize
		at[i] = mmap(0, size[i], readWrite, 0)
		*word(at[i]) = 1
	}
	for i := range at {
		change(syscall.SYS_MPROTECT, at[i], pageSize, syscall.PROT_READ)
		change(syscall.SYS_MUNMAP, at[i], size[i], 0)
	}
}
