package boot

import "github.com/zeroframe/zeroframe/arch/amd64"

// The page below 1 MiB in which another CPU starts: apCode at its start, and at its end the data
// for it, at these offsets in bytes. (Those with a capital letter are for the crash lab.)
const (
	apCode32 = 48         // in apCode: where 32-bit code begins
	apIDT64  = 0x800      // gates of all exceptions, in 64-bit mode
	apIDT32  = 0xa00      // in 32-bit mode
	apFault  = 0xb00      // where they lead
	apEnd    = 0xf80      // what follows is no code
	apGDT    = apEnd      // four descriptors: none, 32-bit code, data, 64-bit code
	apGDTR   = 0xfa2      // limit, base
	apJump32 = 0xfa8      // address, selector
	APJump64 = 0xfb0      // address, selector
	apRoot   = 0xfb8      // of the page tables
	apTop    = apRoot + 8 // just above the stack
	apLo     = apTop + 8  // its lowest address
	apRecord = apLo + 8   // the CPU's record
	apMain   = apRecord + 8
	APStage  = apMain + 8   // how far the CPU has come, and after it whether it has faulted
	apIDTR32 = APStage + 8  // limit, base
	apIDTR64 = apIDTR32 + 8 // limit, base

	apStackTop = apEnd // the page's own stack, for the exceptions

	apCodeSel = 0x08
	apData    = 0x10
	apLongSel = 0x18
)

// How far a CPU has come in its start, according to the page.
const (
	APNone = iota // it has executed nothing
	AP16          // to 16-bit code
	AP32          // to 32-bit code
	AP64          // to 64-bit code
)

// APState returns how far the CPU that started in the page has come, and whether it had an
// exception there. Early context.
func APState(page uintptr) (stage uint8, fault bool) {
	v := amd64.Load32(amd64.Virtual(page + APStage)) // another CPU writes it
	return uint8(v), v>>8 != 0
}

// APPage is the size of the page in bytes, for callers that save its contents.
const APPage = amd64.PageSize

func apCode()
func apStart()
func apAddrs() (code, long, root uintptr)

// FillAP prepares the page at that physical address, below 1 MiB, for a CPU to start in: on the
// painted stack lo <= address < top, with the CPU's record, all zero, the CPU calls main, a
// top-level function that does not return. RBP is zero there. Early context.
func FillAP(page, lo, top, record uintptr, main func()) {
	code, long, root := apAddrs()
	for i := uintptr(0); i < apEnd; i += 8 {
		*(*uint64)(amd64.Pointer(amd64.Virtual(page + i))) = *(*uint64)(amd64.Pointer(code + i))
	}
	put := func(at, v uintptr) { *(*uint64)(amd64.Pointer(amd64.Virtual(page + at))) = uint64(v) }
	put(apGDT, 0)
	put(apGDT+apCodeSel, 0x00cf9b000000ffff) // SDM Vol. 3A, 3.4.5
	put(apGDT+apData, 0x00cf93000000ffff)
	put(apGDT+apLongSel, 0x00af9b000000ffff)
	put(apGDTR&^7, (page+apGDT)<<32|(4*8-1)<<16)
	put(apJump32, (page+apCode32)|apCodeSel<<32)
	put(APJump64, long|apLongSel<<32)
	put(apRoot, root)
	put(apTop, top)
	put(apLo, lo)
	put(apRecord, record)
	put(apMain, amd64.EntryOf(main))
	put(APStage, APNone)

	// Interrupt gates (SDM Vol. 3A, 6.11 and 6.14.1).
	const exceptions = 32
	to := page + apFault
	gate := to&0xffff | 0x8e00<<32 | to>>16<<48
	for i := range uintptr(exceptions) {
		put(apIDT32+i*8, gate|apCodeSel<<16)
		put(apIDT64+i*16, gate|apLongSel<<16)
		put(apIDT64+i*16+8, 0)
	}
	put(apIDTR32, (page+apIDT32)<<16|(exceptions*8-1))
	put(apIDTR64, (page+apIDT64)<<16|(exceptions*16-1))
	put(apIDTR64+8, 0)
	// MOVB $1, APStage+1; HLT; JMP to that: the same in both modes, because the address is
	// absolute.
	put(apFault, 0x2504c6|(page+APStage+1)<<24|1<<56)
	put(apFault+8, 0xfdebf4)
}
