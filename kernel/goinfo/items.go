package goinfo

import (
	"github.com/zeroframe/zeroframe/arch"
)

// The table is an interface between this package and `zf build`: a magic number, the version of the
// list of items, then one 64-bit value an item. tools/machine/image finds it by the name of its
// symbol and has the same list, because tools do not import kernel; a test compares the two. A
// change of the list is a new version.
//
// The word before a name says what the value is:
//
//	field    a field of a struct: its offset in bytes, and from bit 32 on its
//	         size in bytes
//	word     the address of a variable of 8 bytes
//	strings  the address of an array of strings
//	len      the number of that array's elements
//	const    an integer constant
//
// unknown is the value of an item that is not known; before the table is filled, 0 means the same,
// since no item has that value.

const (
	tableMagic   = 0x6f666e696f67667a // "zfgoinfo" in memory
	tableVersion = 5
	tableHead    = 2 // words before the first item

	unknown = ^uint64(0)
)

// The items, by their index.
const (
	gStackLo = iota
	gStackHi
	gID
	gStatus
	gWaitReason
	gWaitSince
	gSchedSP
	gSchedPC
	gSchedBP
	gSyscallSP
	gSyscallPC
	gSyscallBP
	gM
	gLockedM
	gGoPC
	gStartPC
	gParentID
	gWaitingOn
	sudogElem
	sudogNext
	sudogChan
	chanSendq
	chanTimer
	timerWhen
	moduleData
	moduleEData
	moduleBSS
	moduleEBSS
	mCurg
	mProcID
	allgPtr
	allgLen
	waitReasons
	numWaitReasons
	statusNames
	numStatusNames
	maxStackSize
	maxStackCeiling
	statusRunning
	statusSyscall
	statusWaiting
	statusDead
	statusScan
	heapBuckets
	heapRate
	bucketAllNext
	bucketSize
	bucketStackLen
	recordAllocs
	recordActive
	numItems
)

// items are the names of the items. The runtime publishes allgptr and allglen for
// readers that take no lock: of the two, the pointer is stored first. Never written.
var items = [numItems]string{
	gStackLo:        "field runtime.g.stack.lo",
	gStackHi:        "field runtime.g.stack.hi",
	gID:             "field runtime.g.goid",
	gStatus:         "field runtime.g.atomicstatus.value",
	gWaitReason:     "field runtime.g.waitreason",
	gWaitSince:      "field runtime.g.waitsince",
	gSchedSP:        "field runtime.g.sched.sp",
	gSchedPC:        "field runtime.g.sched.pc",
	gSchedBP:        "field runtime.g.sched.bp",
	gSyscallSP:      "field runtime.g.syscallsp",
	gSyscallPC:      "field runtime.g.syscallpc",
	gSyscallBP:      "field runtime.g.syscallbp",
	gM:              "field runtime.g.m",
	gLockedM:        "field runtime.g.lockedm",
	gGoPC:           "field runtime.g.gopc",
	gStartPC:        "field runtime.g.startpc",
	gParentID:       "field runtime.g.parentGoid",
	gWaitingOn:      "field runtime.g.waiting",
	sudogElem:       "field runtime.sudog.elem",
	sudogNext:       "field runtime.sudog.waitlink",
	sudogChan:       "field runtime.sudog.c",
	chanSendq:       "field runtime.hchan.sendq",
	chanTimer:       "field runtime.hchan.timer",
	timerWhen:       "field runtime.timer.when",
	moduleData:      "field runtime.moduledata.data",
	moduleEData:     "field runtime.moduledata.edata",
	moduleBSS:       "field runtime.moduledata.bss",
	moduleEBSS:      "field runtime.moduledata.ebss",
	mCurg:           "field runtime.m.curg",
	mProcID:         "field runtime.m.procid",
	allgPtr:         "word runtime.allgptr",
	allgLen:         "word runtime.allglen",
	waitReasons:     "strings runtime.waitReasonStrings",
	numWaitReasons:  "len runtime.waitReasonStrings",
	statusNames:     "strings runtime.gStatusStrings",
	numStatusNames:  "len runtime.gStatusStrings",
	maxStackSize:    "word runtime.maxstacksize",
	maxStackCeiling: "word runtime.maxstackceiling",
	statusRunning:   "const runtime._Grunning",
	statusSyscall:   "const runtime._Gsyscall",
	statusWaiting:   "const runtime._Gwaiting",
	statusDead:      "const runtime._Gdead",
	statusScan:      "const runtime._Gscan",
	heapBuckets:     "word runtime.mbuckets",
	heapRate:        "word runtime.MemProfileRate",
	bucketAllNext:   "field runtime.bucket.allnext",
	bucketSize:      "field runtime.bucket.size",
	bucketStackLen:  "field runtime.bucket.nstk",
	recordAllocs:    "field runtime.memRecord.active.allocs",
	recordActive:    "field runtime.memRecord.active",
}

// table is filled in the file by `zf build`. Its first word is not zero, so that it lies in the
// file and not in bss. Never written here.
var table = [tableHead + numItems]uint64{tableMagic, tableVersion}

// Keep stores a second copy of the table (arch.Keep). Early context.
func Keep() { arch.KeepVar(&table) }

// Known reports whether goroutines can be read: whether the table was filled, and has what [NumG],
// [GAt] and [ReadG] need. If it is false, the image was built without DWARF (-ldflags=-w or -s), or
// `zf build` did not know its runtime and said so. Any context.
func Known() bool {
	for i := gStackLo; i <= gStatus; i++ {
		if item(i) == unknown {
			return false
		}
	}
	return item(allgPtr) != unknown && item(allgLen) != unknown
}

// NumItems returns the number of items of the table. Any context.
func NumItems() int { return numItems }

// Item returns the name of item i, 0 <= i < [NumItems], and whether its value is
// known. Any context.
func Item(i int) (name string, known bool) {
	if uint(i) >= numItems {
		return "", false
	}
	return items[i], item(i) != unknown
}

// item returns the value of an item.
//
//go:noinline
func item(i int) uint64 {
	if v := table[tableHead+i]; v != 0 {
		return v
	}
	return unknown
}
