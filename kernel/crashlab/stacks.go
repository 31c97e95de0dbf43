package main

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Crashes by damaged stacks: overflows, and overwritten chains of frame pointers. The latter are
// made by smash (stacks_amd64.s), which replaces the frame pointer or the return address in its own
// frame record and then dies: so smash, and its caller C by the return address, are still in the
// trace, and the walk ends there.

//go:noinline
func overflowA() {
	arch.ClearStackGuard()
	overflowB()
	sink++
}

//go:noinline
func overflowB() { overflowC(); sink++ }

// overflowC calls itself until the stack ends.
//
//go:noinline
//lint:ignore SA5007 the stack is to end
func overflowC() { overflowC(); sink++ }

//go:noinline
func mutualA() {
	arch.ClearStackGuard()
	mutualB()
	sink++
}

//go:noinline
func mutualB() { mutualC(); sink++ }

// mutualC and mutualD call each other until the stack ends.
//
//go:noinline
func mutualC() { mutualD(); sink++ }

//go:noinline
func mutualD() { mutualC(); sink-- }

//go:noinline
func manyA() { manyB(); sink++ }

//go:noinline
func manyB() { manyC(depth() - shallow); sink++ }

// manyC calls itself n times more, from one of four places in turn, then panics.
//
//go:noinline
func manyC(n int) {
	if n == 0 {
		fault.Panic("deep")
	}
	switch n % 4 {
	case 0:
		manyC(n - 1)
		sink++
	case 1:
		manyC(n - 1)
		sink += 2
	case 2:
		manyC(n - 1)
		sink += 3
	default:
		manyC(n - 1)
		sink += 4
	}
}

//go:noinline
func checkedA() { checkedB(); sink++ }

//go:noinline
func checkedB() { checkedC(); sink++ }

// checkedC calls itself until the check at its entry finds the stack too small.
//
//go:noinline
//lint:ignore SA5007 the stack is to end
func checkedC() { checkedC(); sink++ }

// The vector of the crash lab's interrupts.
const labVector = 0x60

//go:noinline
func irqOverflowA() {
	fault.OnInterrupt(labVector, irqOverflowHandler)
	irqOverflowB()
	sink++
}

//go:noinline
func irqOverflowB() { irqOverflowC(); sink++ }

//go:noinline
func irqOverflowC() { fault.RaiseInterrupt(labVector); sink++ }

//go:noinline
func irqOverflowHandler() {
	arch.ClearStackGuard()
	irqOverflowD()
	sink++
}

//go:noinline
//lint:ignore SA5007 the stack is to end
func irqOverflowD() { irqOverflowD(); sink++ }

//go:noinline
func inIRQA() {
	fault.OnInterrupt(labVector, inIRQHandler)
	inIRQB()
	sink++
}

//go:noinline
func inIRQB() { inIRQC(); sink++ }

//go:noinline
func inIRQC() { fault.RaiseInterrupt(labVector); sink++ }

//go:noinline
func inIRQHandler() { inIRQD(); sink++ }

//go:noinline
func inIRQD() { inIRQE(nilPointer); sink++ }

//go:noinline
func inIRQE(p *[4]uint64) { arch.Pause(); p[3] = 1 }

//go:noinline
func misalignedA() { misalignedB(); sink++ }

//go:noinline
func misalignedB() { misalignedC(); sink++ }

//go:noinline
func misalignedC() { smash(arch.FramePointer() + 3); sink++ }

//go:noinline
func outsideA() { outsideB(); sink++ }

//go:noinline
func outsideB() { outsideC(); sink++ }

//go:noinline
func outsideC() { smash(boot.StackHi + 0x10000); sink++ }

//go:noinline
func backwardA() { backwardB(); sink++ }

//go:noinline
func backwardB() { backwardC(); sink++ }

//go:noinline
func backwardC() { smash(boot.StackLo + 0x100); sink++ }

//go:noinline
func cycleA() { cycleB(); sink++ }

//go:noinline
func cycleB() { cycleC(); sink++ }

//go:noinline
func cycleC() { smashSelf(); sink++ }

//go:noinline
func zeroFPA() { zeroFPB(); sink++ }

//go:noinline
func zeroFPB() { zeroFPC(); sink++ }

//go:noinline
func zeroFPC() { smash(0); sink++ }

//go:noinline
func zeroRecordA() { zeroRecordB(); sink++ }

//go:noinline
func zeroRecordB() { zeroRecordC(); sink++ }

//go:noinline
func zeroRecordC() { smashRecord(); sink++ }

//go:noinline
func spinUnmappedA() { spinUnmappedB(); sink++ }

//go:noinline
func spinUnmappedB() {
	var room [3 * arch.PageSize]byte
	spinUnmappedC(&room)
	sink += uint64(room[five])
}

//go:noinline
func spinUnmappedC(room *[3 * arch.PageSize]byte) {
	page := (addressOf(room) + arch.PageSize - 1) &^ (arch.PageSize - 1)
	mem.Unmap(page)
	console.String("spinning\n")
	smashAndSpin(page + 0x100)
	sink++
}

//go:noinline
func unmappedA() { unmappedB(); sink++ }

//go:noinline
func unmappedB() {
	// A local array with at least one whole page inside, which is unmapped.
	var room [3 * arch.PageSize]byte
	unmappedC(&room)
	sink += uint64(room[five])
}

//go:noinline
func unmappedC(room *[3 * arch.PageSize]byte) {
	page := (addressOf(room) + arch.PageSize - 1) &^ (arch.PageSize - 1)
	mem.Unmap(page)
	smash(page + 0x100)
	sink++
}

//go:noinline
func nonCanonicalA() { nonCanonicalB(); sink++ }

//go:noinline
func nonCanonicalB() { nonCanonicalC(); sink++ }

//go:noinline
func nonCanonicalC() { smash(0x8000_0000_0000_0000); sink++ }

//go:noinline
func reusedA() { reusedB(); sink++ }

//go:noinline
func reusedB() { reusedC(); sink++ }

//go:noinline
func reusedC() { reuse(); sink++ }

//go:noinline
func smashedA() { smashedB(); sink++ }

//go:noinline
func smashedB() { smashedC(); sink++ }

//go:noinline
func smashedC() { smashCaller(0x1234_5678); sink++ }

//go:noinline
func zeroA() { zeroB(); sink++ }

//go:noinline
func zeroB() { zeroC(); sink++ }

//go:noinline
func zeroC() { smashCaller(0); sink++ }

//go:noinline
func badSPA() { badSPB(); sink++ }

//go:noinline
func badSPB() { badSPC(0x8000_0000_0000_0000); sink++ }

//go:noinline
func watermarkA() { watermarkB(); sink++ }

//go:noinline
func watermarkB() {
	watermarkC()
	fault.CheckStacks()
	sink++
}

// watermarkC writes to 30,700 bytes of the boot stack's 32 KiB: more than its
// limit, and still above the guard page.
//
//go:noinline
func watermarkC() {
	var room [30_700]byte
	for i := range room {
		room[i] = byte(five)
	}
	sink += uint64(room[five])
}

// Written in assembly (stacks_amd64.s).

func smash(fp uintptr)
func smashSelf()
func smashRecord()
func smashAndSpin(fp uintptr)
func smashCaller(ra uintptr)
func reuse()
func badSPC(sp uintptr)

//go:noescape
func addressOf(p *[3 * arch.PageSize]byte) uintptr
