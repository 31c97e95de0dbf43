package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Mappings that change under other CPUs' hands. A thread on the first CPU changes pages; those on the
// others read and write them all the time, and know what each may hold, as long as its state is the
// same behind the access as before: a page that was taken away has to fault from the moment on
// at which the system call has returned, wherever its frame is by then.

const (
	pageSize  = 4096
	pages     = 128
	mostPages = 48      // enough for all other CPUs to drop all they have kept of page tables
	spare     = 4 << 20 // bytes
	foreign   = uint64(0xbad) << 48
)

// What a page is like; its generation is above.
const (
	changing  = iota // it may be anything
	full             // it holds its number and generation
	gone             // it faults
	cleared          // it holds zeros
	readable         // it holds its number and generation, and takes no write
	stateBits = 3
)

// A book has the pages and what is known of them.
type book struct {
	base, other uintptr // the pages; where their frames go meanwhile
	state       [pages]atomic.Uint64
	reads       []atomic.Uint64 // by CPU: how many pages each has looked at
	faults      atomic.Uint64
	over        atomic.Bool
}

func mmap(addr, size, prot uintptr, flags uintptr) uintptr {
	p, _, e := syscall.RawSyscall6(syscall.SYS_MMAP, addr, size, prot, syscall.MAP_PRIVATE|syscall.MAP_ANON|flags, ^uintptr(0), 0)
	if e != 0 {
		wrong("mmap: %v", e)
	}
	return p
}

func change(call, a, b, c uintptr) {
	if _, _, e := syscall.RawSyscall(call, a, b, c); e != 0 {
		wrong("system call %d: %v", call, e)
	}
}

const readWrite = syscall.PROT_READ | syscall.PROT_WRITE

//go:nocheckptr
func word(p uintptr) *uint64 { return *(**uint64)(unsafe.Pointer(&p)) }

func (b *book) page(i int) uintptr { return b.base + uintptr(i)*pageSize }

// load and store return false if the access has faulted.
//
//go:noinline
func load(p *uint64) (v uint64, ok bool) {
	defer func() { ok = recover() == nil }()
	return atomic.LoadUint64(p), true
}

//go:noinline
func store(p *uint64, v uint64) (ok bool) {
	defer func() { ok = recover() == nil }()
	atomic.StoreUint64(p, v)
	return true
}

// look looks at a page.
func (b *book) look(cpu, i int, writes bool) {
	before := b.state[i].Load()
	var v uint64
	var ok bool
	if writes {
		ok = store((*uint64)(unsafe.Add(unsafe.Pointer(word(b.page(i))), 8)), 1)
	} else {
		v, ok = load(word(b.page(i)))
	}
	if !ok {
		b.faults.Add(1)
	}
	if b.state[i].Load() != before {
		return
	}
	right := true
	switch before & (1<<stateBits - 1) {
	case full:
		right = ok && (writes || v == held(i, before>>stateBits))
	case gone:
		right = !ok
	case cleared:
		right = ok && (writes || v == 0)
	case readable:
		right = ok != writes && (writes || v == held(i, before>>stateBits))
	}
	if !right {
		wrong("CPU %d, page %d, state %#x, write %v: done %v, read %#x", cpu, i, before, writes, ok, v)
	}
}

// held is what a page holds.
func held(i int, generation uint64) uint64 { return uint64(i+1)<<48 | generation }

func unmap(n int, seed uint64) {
	cpus := runtime.NumCPU()
	b := &book{reads: make([]atomic.Uint64, cpus)}
	// mmap takes the highest free addresses. Let there be some above the pages, so that what the Go
	// runtime maps meanwhile, a page at times, goes there and never where a page was taken away.
	above := mmap(0, spare, syscall.PROT_NONE, 0)
	b.base = mmap(0, pages*pageSize, readWrite, 0)
	b.other = mmap(0, mostPages*pageSize, readWrite, 0)
	change(syscall.SYS_MUNMAP, above, spare, 0)
	for i := range pages {
		b.state[i].Store(1<<stateBits | full)
		*word(b.page(i)) = held(i, 1)
	}
	var wg sync.WaitGroup
	for cpu := 1; cpu < cpus; cpu++ {
		wg.Go(func() {
			pin(cpu)
			debug.SetPanicOnFault(true)
			random := rand.New(rand.NewPCG(seed, uint64(cpu)))
			for i := random.IntN(pages); !b.over.Load(); i = (i + 1) % pages {
				b.look(cpu, i, random.IntN(4) == 0)
				if random.IntN(64) == 0 { // be at the kernel's gate now and then
					syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
				}
				b.reads[cpu].Add(1)
			}
		})
	}
	pin(0)
	random := rand.New(rand.NewPCG(seed, 0))
	for turn := range n {
		b.change(random, uint64(turn)+2)
	}
	b.over.Store(true)
	wg.Wait()
	fmt.Println("changes", n, "faults", b.faults.Load() > 0)
}

// change changes some pages, lets the other CPUs look at each, and puts them back with a new
// generation.
func (b *book) change(random *rand.Rand, generation uint64) {
	kind, count := random.IntN(5), 1+random.IntN(4)
	if random.IntN(4) == 0 {
		count = 1 + random.IntN(mostPages)
	}
	first := random.IntN(pages - count + 1)
	at, size := b.page(first), uintptr(count)*pageSize
	b.set(first, count, generation, changing)
	switch kind {
	case 0:
		twice(syscall.SYS_MUNMAP, at, size, 0)
		b.set(first, count, generation, gone)
	case 1:
		mmap(at, size, syscall.PROT_NONE, syscall.MAP_FIXED)
		b.set(first, count, generation, gone)
	case 2:
		twice(syscall.SYS_MPROTECT, at, size, syscall.PROT_NONE)
		b.set(first, count, generation, gone)
	case 3:
		twice(syscall.SYS_MADVISE, at, size, syscall.MADV_DONTNEED)
		b.set(first, count, generation, cleared)
	case 4:
		for i := first; i < first+count; i++ {
			*word(b.page(i)) = held(i, generation)
		}
		twice(syscall.SYS_MPROTECT, at, size, syscall.PROT_READ)
		b.set(first, count, generation, readable)
	}
	// The frames that were given back are someone else's now.
	for i := range count {
		*word(b.other + uintptr(i)*pageSize) = foreign
	}
	b.wait()
	change(syscall.SYS_MADVISE, b.other, size, syscall.MADV_DONTNEED)
	b.set(first, count, generation, changing)
	switch kind {
	case 0, 1:
		mmap(at, size, readWrite, syscall.MAP_FIXED)
	case 2, 4:
		change(syscall.SYS_MPROTECT, at, size, readWrite)
	}
	for i := first; i < first+count; i++ {
		*word(b.page(i)) = held(i, generation)
	}
	b.set(first, count, generation, full)
}

// twice changes pages by two calls, one right behind the other, if there are several: a CPU that waits
// for the kernel lock meanwhile has yet to hear of both.
func twice(call, at, size, arg uintptr) {
	if first := size / pageSize / 2 * pageSize; first != 0 {
		change(call, at, first, arg)
		at, size = at+first, size-first
	}
	change(call, at, size, arg)
}

func (b *book) set(first, count int, generation uint64, state uint64) {
	for i := first; i < first+count; i++ {
		b.state[i].Store(generation<<stateBits | state)
	}
}

// wait waits until the other CPUs have looked at as many pages as there are.
func (b *book) wait() {
	if len(b.reads) == 1 {
		return
	}
	sum := func() (n uint64) {
		for i := range b.reads {
			n += b.reads[i].Load()
		}
		return n
	}
	for until := sum() + pages; sum() < until; {
		runtime.Gosched()
	}
}
