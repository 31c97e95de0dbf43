package boot

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// The page below 1 MiB in which another CPU starts: apCode at its beginning, and at its end what
// that needs, at these offsets in bytes.
const (
	apCode32 = 32         // in apCode: where 32-bit code begins
	apEnd    = 0xf80      // what follows is no code
	apGDT    = apEnd      // four descriptors: none, 32-bit code, data, 64-bit code
	apGDTR   = 0xfa2      // limit, base
	apJump32 = 0xfa8      // address, selector
	apJump64 = 0xfb0      // address, selector
	apRoot   = 0xfb8      // of the page tables
	apTop    = apRoot + 8 // just above the stack
	apLo     = apTop + 8  // its lowest address
	apRecord = apLo + 8   // the CPU's record
	apMain   = apRecord + 8

	apCodeSel = 0x08
	apData    = 0x10
	apLongSel = 0x18
)

// APPage is the size of the page in bytes, for who keeps what was there.
const APPage = amd64.PageSize

func apCode()
func apStart()
func apAddrs() (code, long, root uintptr)

// FillAP makes the page at that address, below 1 MiB, one in which a CPU can start: on the
// stack lo <= address < top, painted, with the CPU's record, all zero, it calls main, a
// top-level function that does not return. RBP is zero there. Early context.
func FillAP(page, lo, top, record uintptr, main func()) {
	code, long, root := apAddrs()
	for i := uintptr(0); i < apEnd; i += 8 {
		*(*uint64)(amd64.Pointer(page + i)) = *(*uint64)(amd64.Pointer(code + i))
	}
	put := func(at, v uintptr) { *(*uint64)(amd64.Pointer(page + at)) = uint64(v) }
	put(apGDT, 0)
	put(apGDT+apCodeSel, 0x00cf9b000000ffff) // SDM Vol. 3A, 3.4.5
	put(apGDT+apData, 0x00cf93000000ffff)
	put(apGDT+apLongSel, 0x00af9b000000ffff)
	put(apGDTR&^7, (page+apGDT)<<32|(4*8-1)<<16)
	put(apJump32, (page+apCode32)|apCodeSel<<32)
	put(apJump64, long|apLongSel<<32)
	put(apRoot, root)
	put(apTop, top)
	put(apLo, lo)
	put(apRecord, record)
	put(apMain, **(**uintptr)(unsafe.Pointer(&main)))
}
