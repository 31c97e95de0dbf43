package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

// What assembly, the kernel and a device do.

// inKernel has the kernel call a function by a system call of its own.
func inKernel(f func()) {
	kernelDoes = f
	linux.OnUnknown(onCall)
	syscall.RawSyscall(linux.OwnCalls, 0, 0, 0)
}

var kernelDoes func()

func onCall(uintptr) int64 {
	kernelDoes()
	return 0
}

// reusedFrame: a page frame is used when it has been given back, and belongs to another.
type entry struct {
	name [8]byte
	row  int
}

var (
	first, second uintptr // frames
)

func reusedFrame() {
	inKernel(takeFirst)
	inKernel(dropFirst)
	inKernel(takeSecond)
	culprit.Work()
	sink = numbers[entryIn(first).row]
}

//go:noinline
func entryIn(frame uintptr) *entry { return (*entry)(arch.Pointer(frame)) }

func takeFirst() {
	first = mem.Frame()
	entryIn(first).row = 5
}

func dropFirst() { mem.FreeFrame(first) }

func takeSecond() {
	second = mem.Frame()
	page := (*[512]int)(arch.Pointer(second))
	for i := range page {
		page[i] = i + 600 // culprit frame
	}
}

// assembly: a function in assembly writes one word more than its caller has room for.
func assembly() {
	var at struct {
		parts [4]int
		row   int
	}
	at.row = 3
	split(&at.parts, 50)
	culprit.Work()
	sink = numbers[at.row]
}

// split writes numbers from n on (asm_amd64.s).
//
//go:noescape
func split(parts *[4]int, n int)

// returnAddress: a function in assembly overwrites the address to which its caller returns.
func returnAddress() {
	sink = overwritten(7)
	culprit.Work()
}

//go:noinline
func overwritten(n int) int {
	var room [2]int
	smash(&room, n)
	return room[0] + room[1]
}

// smash writes n into the words from room on, up to its caller's return address (asm_amd64.s).
//
//go:noescape
func smash(room *[2]int, n int)

// kernelTable: a driver writes over the kernel's table of file locks.
//
//go:linkname numLocks github.com/zeroframe/zeroframe/kernel/linux.numLocks
var numLocks int

func kernelTable() {
	inKernel(resetCard)
	culprit.Work()
	var fds [2]int
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	syscall.Flock(fds[0], syscall.LOCK_EX)
}

// resetCard fills what it takes for the card's ring.
func resetCard() {
	ring := (*[1]uint64)(unsafe.Pointer(&numLocks))
	for i := range ring {
		ring[i] = 0x10001 // culprit kerneltable
	}
}

// dma: a device writes to the page behind the one that it is for.
var (
	area  [3 * 4096]byte // has the pages, from a page's beginning on
	queue [4 * 4096]byte // of the device, likewise
	ports uint16         // of the device
)

// pages are what the device fills, and what is none of its business.
type pages struct {
	random [4096]byte
	order  [512]uint64
}

// descriptor is struct virtq_desc (virtio 1.2, 2.7.5).
type descriptor struct {
	addr        uint64
	bytes       uint32
	flags, next uint16
}

func dma() {
	order := &(*pages)(arch.Pointer(page(unsafe.Pointer(&area)))).order
	for i := range order {
		order[i] = uint64(i % 8)
	}
	inKernel(findDevice)
	if ports == 0 {
		fmt.Println("no source of random numbers")
		return
	}
	inKernel(askDevice)
	culprit.Work()
	for _, i := range order {
		sink += numbers[i]
	}
}

// findDevice finds the source of random numbers, as older drivers do (virtio 1.2, 4.1.4.8), and gives it a queue.
func findDevice() {
	for s := pci.AllBuses(); ; {
		a, id, ok := s.Next()
		if !ok {
			return
		}
		if id != 0x1005_1af4 {
			continue
		}
		var h pci.Header
		a.Read(&h)
		base, isPorts, ok := h.Bar(0)
		if !ok || !isPorts {
			return
		}
		a.Enable()
		ports = uint16(base)
	}
}

// page returns the first page's address at or behind p.
func page(p unsafe.Pointer) uintptr { return (uintptr(p) + 4095) &^ 4095 }

// roomFor returns where the device is to write.
//
//go:noinline
func roomFor(number uintptr) uintptr {
	return page(unsafe.Pointer(&area)) + number*4096 // culprit dma
}

// offer puts a buffer into the queue's first descriptor.
//
//go:noinline
func offer(at uintptr) {
	d := (*descriptor)(arch.Pointer(page(unsafe.Pointer(&queue))))
	*d = descriptor{addr: uint64(at), bytes: 64, flags: 2} // the device writes
}

func askDevice() {
	const pfn, size, notify, status = 8, 12, 16, 18
	arch.WritePort8(ports+status, 0)
	arch.WritePort8(ports+status, 1|2)
	n := uintptr(arch.ReadPort16(ports + size))
	q := page(unsafe.Pointer(&queue))
	arch.WritePort32(ports+pfn, uint32(q>>12))
	arch.WritePort8(ports+status, 1|2|4)
	offer(roomFor(1))
	available := (*[4]uint16)(arch.Pointer(q + 16*n)) // flags, index, the first descriptor
	available[0], available[2] = 1, 0
	arch.Pause()
	available[1] = 1
	arch.WritePort16(ports+notify, 0)
}
