package amd64

import "unsafe"

// The descriptor tables: a flat GDT (long mode ignores base and limit), one TSS for the seven
// interrupt stacks, and an IDT in which every one of the 256 vectors has an interrupt gate, so that
// no trap can go unreported.

// Selectors.
const (
	selCode = 0x08
	selData = 0x10
	selTSS  = 0x18
)

// tables are what the CPU needs to deliver any trap. If somebody overwrote them by mistake, the
// machine would end without a word; so they have two pages of their own, which the kernel makes
// read-only.
type tables struct {
	// idt: 256 gates of 16 bytes (SDM Vol. 3A, figure 6-8).
	idt [2 * 256]uint64
	// gdt: null, 64-bit code, data, and the two halves of the TSS descriptor (SDM
	// Vol. 3A, 3.4.5 and 7.2.3).
	gdt [5]uint64
	// cpu is the address of the CPU's record, which a trap's entry finds through the GDT.
	cpu uintptr
	// handler is the address of the kernel's handler of traps.
	handler uintptr
	// giveUp, kept and numKept belong to SaveKept: a function, and what is stored twice.
	giveUp, kept, numKept uintptr
	// tss in 32-bit units: its 64-bit fields are not 8-byte aligned (SDM Vol. 3A,
	// figure 7-11).
	tss [26]uint32
}

const (
	tssIST = 36 / 4 // index of the low half of IST1

	gdtCode = 0x00af9b000000ffff // present, ring 0, code, readable, accessed, long
	gdtData = 0x00cf93000000ffff // present, ring 0, data, writable, accessed
)

// The tables must fit two pages.
const _ = 2*PageSize - unsafe.Sizeof(tables{})

func (c *CPU) tables() *tables {
	return (*tables)(Pointer((uintptr(unsafe.Pointer(&c.tableRoom)) + PageSize - 1) &^ (PageSize - 1)))
}

// TablePages bounds the pages of the tables.
func (c *CPU) TablePages() (lo, hi uintptr) {
	lo = uintptr(unsafe.Pointer(c.tables()))
	return lo, lo + 2*PageSize
}

// LockTables says that the pages of the tables are read-only from now on. Early context.
func (c *CPU) LockTables() { c.tablesLocked = true }

// openTables makes the tables writable until closeTables, which takes its result.
func (c *CPU) openTables() (cr0 uint64) {
	if c.tablesLocked {
		cr0 = ReadCR0()
		WriteCR0(cr0 &^ CR0WriteProtect)
	}
	return cr0
}

func (c *CPU) closeTables(cr0 uint64) {
	if c.tablesLocked {
		WriteCR0(cr0)
	}
}

// gateInterrupt: present, ring 0, 64-bit interrupt gate (clears IF).
const gateInterrupt = 0x8e

// vectorStub is the length in bytes of a stub in vectors_amd64.s.
const vectorStub = 12

// lgdt loads GDTR and reloads all segment registers; ltr and lidt likewise.
func lgdt(base, limit uintptr)
func lidt(base, limit uintptr)
func ltr(sel uintptr)

// LoadTables fills and loads GDT, TSS and IDT. From then on every trap reaches the handler. The
// interrupt stacks must have been set with SetIST. Early context.
func LoadTables() {
	c := ThisCPU()
	all := c.tables()
	all.cpu = uintptr(unsafe.Pointer(c))
	t := uint64(uintptr(unsafe.Pointer(&all.tss)))
	size := uint64(unsafe.Sizeof(all.tss))
	all.tss[25] = uint32(size) << 16 // I/O map beyond the limit: none
	all.gdt[1], all.gdt[2] = gdtCode, gdtData
	all.gdt[3] = (size - 1) | (t&0xffffff)<<16 | 0x89<<40 | (t>>24&0xff)<<56
	all.gdt[4] = t >> 32
	setCR4(wantedCR4()) // first, because the entry of a trap needs it
	lgdt(uintptr(unsafe.Pointer(&all.gdt)), unsafe.Sizeof(all.gdt)-1)
	ltr(selTSS)

	stubs, _, _, _, _, _ := entryAddrs()
	for v := range 256 {
		ist := ISTOf(v)
		vectorIST[v] = uint8(ist)
		all.setGate(v, stubs+uintptr(v)*vectorStub, ist)
	}
	lidt(uintptr(unsafe.Pointer(&all.idt)), unsafe.Sizeof(all.idt)-1)
}

// wantedCR4 returns the bits of CR4 for machine checks and for fast changes of the FS base, as far
// as the CPU has them.
func wantedCR4() (bits uint64) {
	const (
		hasMachineCheck = 1 << 7 // CPUID.1:EDX
		hasBases        = 1 << 0 // CPUID.7.0:EBX
		structured      = 7
	)
	max, _, _, _ := CPUID(0, 0)
	if _, _, _, edx := CPUID(1, 0); edx&hasMachineCheck != 0 {
		bits |= CR4MachineCheck
	}
	if max >= structured {
		if _, ebx, _, _ := CPUID(structured, 0); ebx&hasBases != 0 {
			bits |= cr4FSGSBASE
			hasFSGSBASE = 1
		}
	}
	return bits
}

func (t *tables) setGate(v int, entry uintptr, ist int) {
	e := uint64(entry)
	t.idt[2*v] = e&0xffff | selCode<<16 | uint64(ist)<<32 | gateInterrupt<<40 | (e>>16&0xffff)<<48
	t.idt[2*v+1] = e >> 32
}

// ClearGate makes a vector's gate not present, so that delivering it faults. It is for the crash
// lab: a contributory exception without a gate is a double fault.
func ClearGate(v uint8) {
	c := ThisCPU()
	cr0 := c.openTables()
	c.tables().idt[2*int(v)] = 0
	c.closeTables(cr0)
}

// SetIST sets the stack of an IST slot: lo is its lowest address, top the
// address just above it, a multiple of 16.
func (c *CPU) SetIST(slot int, lo, top uintptr) {
	i := tssIST + 2*(slot-1)
	t := c.tables()
	c.istGuard[slot] = lo + StackGuard
	top -= unsafe.Sizeof(landing{})
	cr0 := c.openTables()
	if slot == ISTInterrupt {
		c.irqSS = top + unsafe.Offsetof(landing{}.ss)
	}
	t.tss[i] = uint32(top)
	t.tss[i+1] = uint32(uint64(top) >> 32)
	c.closeTables(cr0)
}

// IST returns the values that SetIST set.
func (c *CPU) IST(slot int) (lo, top uintptr) {
	i := tssIST + 2*(slot-1)
	t := c.tables()
	return c.istGuard[slot] - StackGuard, uintptr(uint64(t.tss[i])|uint64(t.tss[i+1])<<32) +
		unsafe.Sizeof(landing{})
}
