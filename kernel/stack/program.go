package stack

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/tracer"
)

// The rows of the table for the stacks of the program's goroutines and threads.

// Running is set just before the program's first instruction runs. Set once at boot.
var Running bool

// ProgramRows fills in the rows of the stack table for the program's present stacks: the stack of
// the goroutine of the thread whose FS base is fs, or of the goroutine whose g is at g, if that is
// not 0; and the stacks of the threads. It returns the goroutine's number, or 0. The data may be
// damaged, so a stack that cannot be one is left out.
func ProgramRows(fs, g uintptr) (goroutine uint64) {
	if !Running {
		return 0
	}
	for tid := int32(1); tid <= thread.MaxTID() && firstThread+2*int(tid) <= maxRows; tid++ {
		g0, sig := &Table[firstThread+2*(tid-1)], &Table[firstThread+2*(tid-1)+1]
		g0.Lo, g0.Hi, sig.Lo, sig.Hi = 0, 0, 0, 0
		if t := thread.Get(tid); t != nil {
			readRow(g0, &t.StackLo, &t.StackHi)
			readRow(sig, &t.SigLo, &t.SigHi)
		}
	}
	row := &Table[Goroutine]
	row.Lo, row.Hi = 0, 0
	traced = fs
	var info goinfo.G
	var ok bool
	if g != 0 {
		info, ok = goinfo.ReadG(g)
	} else {
		info, ok = goroutineOf(fs)
	}
	if ok && info.ID != 0 {
		setRow(row, info.StackLo, info.StackHi)
		row.Limit = 0
		return info.ID
	}
	return 0
}

// ForGoroutine reports whether the thread with that FS base works for a goroutine, rather than for
// the runtime only. Kernel context.
func ForGoroutine(fs uintptr) bool {
	info, ok := goroutineOf(fs)
	return ok && info.ID != 0
}

// goroutineOf returns the goroutine of the thread with that FS base. On the stack of g0 or of a
// signal, that is the M's current goroutine.
func goroutineOf(fs uintptr) (info goinfo.G, ok bool) {
	g, ok := goinfo.GofFS(fs)
	if !ok {
		return info, false
	}
	if m, ok := mOf(g); ok {
		if cur, ok := goinfo.Curg(m); ok && cur != 0 {
			g = cur
		}
	}
	return goinfo.ReadG(g)
}

// mOf returns the M of a goroutine.
func mOf(g uintptr) (m uintptr, ok bool) {
	info, ok := goinfo.ReadG(g)
	return info.M, ok && info.M != 0
}

// readRow is setRow for bounds in memory that may be unmapped.
func readRow(s *tracer.Stack, lo, hi *uintptr) {
	l, ok := tracer.ReadWord(uintptr(unsafe.Pointer(lo)))
	h, ok2 := tracer.ReadWord(uintptr(unsafe.Pointer(hi)))
	if ok && ok2 {
		setRow(s, l, h)
	}
}

// maxStack is the size in bytes above which bounds are not accepted as a stack's.
const maxStack = 1 << 32

//go:noinline
func setRow(s *tracer.Stack, lo, hi uintptr) {
	if lo == 0 || lo%8 != 0 || hi%8 != 0 || hi <= lo || hi-lo > maxStack || hi > 1<<47 {
		return
	}
	s.Lo, s.Hi = lo, hi
	s.Limit = s.Size()
}
