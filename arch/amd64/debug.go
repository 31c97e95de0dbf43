package amd64

// The debug registers (SDM Vol. 3B, 18.2): DR0 to DR3 each hold an address, DR7 says for each which
// accesses raise the debug exception and of how many bytes, and DR6 then says which of them it was.
// An access to data is reported after the instruction that makes it, whatever its privilege. The
// address is a linear one, so the kernel's writes to the program's memory are seen, too.

// NumWatches is the number of places that can be watched.
const NumWatches = 4

// A Watch is a place whose accesses raise the debug exception. Size is 1, 2, 4 or 8, and Addr a
// multiple of it; Size 0: none.
type Watch struct {
	Addr  uintptr
	Size  uint32
	Reads bool // not only writes
}

// Bits of DR7 and DR6.
const (
	dr7Fixed   = 1 << 10 // always 1
	dr7Write   = 1       // of the four bits of a place: writes
	dr7Access  = 3       // reads and writes
	dr6Fixed   = 0xffff0ff0
	dr6Step    = 1 << 14 // a single step
	dr6Watches = 1<<NumWatches - 1
)

// dr7Of returns the value of DR7 for the places.
func dr7Of(w *[NumWatches]Watch) uint64 {
	v := uint64(dr7Fixed)
	for i := range w {
		kind, length := uint64(dr7Write), uint64(0)
		if w[i].Reads {
			kind = dr7Access
		}
		switch w[i].Size {
		case 0:
			continue
		case 2:
			length = 1
		case 4:
			length = 3
		case 8:
			length = 2
		}
		v |= 2<<(2*i) | (kind|length<<2)<<(16+4*i) // 2: for all tasks
	}
	return v
}

// SetWatches makes the CPU watch these places only. Early and kernel context.
func SetWatches(w *[NumWatches]Watch) {
	writeDR7(dr7Fixed)
	setDR(w[0].Addr, w[1].Addr, w[2].Addr, w[3].Addr)
	writeDR6(dr6Fixed)
	writeDR7(dr7Of(w))
}

// HoldWatches makes the CPU watch nothing, until SetWatches is called. Kernel context.
func HoldWatches() { writeDR7(dr7Fixed) }

// WatchesExact reports whether the debug exception is raised only by accesses to the places. QEMU's
// emulation treats an unaligned write as one to its whole page up to the end of the write. It also
// raises the exception twice if an instruction makes an access and is a single step; the second
// exception comes at the first instruction of the first one's entry, whose stack is lost. Early
// context.
func WatchesExact() bool {
	h, _ := FindHypervisor()
	return h != HypervisorQEMU
}

// TakeWatchHits is for the debug exception: it returns a bit for each place that was accessed since
// the last call, including places that are not watched, and whether a single step is among the
// reasons. Kernel context.
func TakeWatchHits() (hits uint32, step bool) {
	v := readDR6()
	writeDR6(dr6Fixed)
	return uint32(v) & dr6Watches, v&dr6Step != 0
}

// BehindAccess reports whether pc, at which the debug exception of a watched place was raised, is
// after the instruction that made the access. It is at that instruction if that repeats and was
// interrupted before its end (SDM Vol. 3B, 18.3.1.2).
func (f *TrapFrame) BehindAccess() bool {
	if f.CX == 0 {
		return true
	}
	p := (*[3]byte)(Pointer(f.PC))
	if p[0] != 0xf3 && p[0] != 0xf2 {
		return true
	}
	op := p[1]
	if op&0xf0 == 0x40 { // REX
		op = p[2]
	}
	switch op {
	case 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf, 0x6c, 0x6d, 0x6e, 0x6f:
		return f.RFLAGS&flagResume == 0
	}
	return true
}

// flagResume is RFLAGS.RF: the CPU sets it in the pushed flags when a repeated instruction was not
// finished.
const flagResume = 1 << 16

func setDR(dr0, dr1, dr2, dr3 uintptr)
func readDR6() uint64
func writeDR6(v uint64)
func writeDR7(v uint64)
