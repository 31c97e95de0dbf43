package amd64

import "unsafe"

// The descriptor tables: a flat GDT (long mode ignores base and limit), one TSS
// for the seven interrupt stacks, and an IDT in which every one of the 256
// vectors has an interrupt gate, so no trap can go unreported.

// Selectors.
const (
	selCode = 0x08
	selData = 0x10
	selTSS  = 0x18
)

// gdt: null, 64-bit code, data, and the two halves of the TSS descriptor (SDM
// Vol. 3A, 3.4.5 and 7.2.3).
var gdt = [5]uint64{
	0,
	0x00af9b000000ffff, // present, ring 0, code, readable, accessed, long
	0x00cf93000000ffff, // present, ring 0, data, writable, accessed
}

// tss in 32-bit units: its 64-bit fields are not 8-byte aligned (SDM Vol. 3A,
// figure 7-11).
var tss [26]uint32

const tssIST = 36 / 4 // index of the low half of IST1

// idt: 256 gates of 16 bytes (SDM Vol. 3A, figure 6-8).
var idt [2 * 256]uint64

// gateInterrupt: present, ring 0, 64-bit interrupt gate (clears IF).
const gateInterrupt = 0x8e

// vectorStub is the length in bytes of a stub in vectors_amd64.s.
const vectorStub = 12

// lgdt loads GDTR and reloads all segment registers; ltr and lidt likewise.
func lgdt(base, limit uintptr)
func lidt(base, limit uintptr)
func ltr(sel uintptr)

// LoadTables fills and loads GDT, TSS and IDT. From here on every trap reaches
// the handler. The interrupt stacks must have been set with SetIST. Early context.
func LoadTables() {
	t := uint64(uintptr(unsafe.Pointer(&tss)))
	size := uint64(unsafe.Sizeof(tss))
	tss[25] = uint32(size) << 16 // I/O map beyond the limit: none
	gdt[3] = (size - 1) | (t&0xffffff)<<16 | 0x89<<40 | (t>>24&0xff)<<56
	gdt[4] = t >> 32
	lgdt(uintptr(unsafe.Pointer(&gdt)), unsafe.Sizeof(gdt)-1)
	ltr(selTSS)

	stubs, _, _, _, _ := entryAddrs()
	for v := 0; v < 256; v++ {
		ist := ISTOf(v)
		vectorIST[v] = uint8(ist)
		setGate(v, stubs+uintptr(v)*vectorStub, ist)
	}
	lidt(uintptr(unsafe.Pointer(&idt)), unsafe.Sizeof(idt)-1)

	const hasMachineCheck = 1 << 7 // CPUID.1:EDX
	if _, _, _, edx := CPUID(1, 0); edx&hasMachineCheck != 0 {
		WriteCR4(ReadCR4() | CR4MachineCheck)
	}
}

func setGate(v int, entry uintptr, ist int) {
	e := uint64(entry)
	idt[2*v] = e&0xffff | selCode<<16 | uint64(ist)<<32 | gateInterrupt<<40 | (e>>16&0xffff)<<48
	idt[2*v+1] = e >> 32
}

// ClearGate makes a vector's gate not present, so that delivering it faults.
// For the crash lab: a contributory exception without a gate is a double fault.
func ClearGate(v uint8) { idt[2*int(v)] = 0 }

// SetIST sets the stack of an IST slot: lo is its lowest address, top the
// address just above it, a multiple of 16.
func SetIST(slot int, lo, top uintptr) {
	i := tssIST + 2*(slot-1)
	tss[i] = uint32(top)
	tss[i+1] = uint32(uint64(top) >> 32)
	istGuard[slot] = lo + StackGuard
}

// IST returns what SetIST set.
func IST(slot int) (lo, top uintptr) {
	i := tssIST + 2*(slot-1)
	return istGuard[slot] - StackGuard, uintptr(uint64(tss[i]) | uint64(tss[i+1])<<32)
}
