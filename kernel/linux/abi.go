package linux

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// call is a system call in progress: its arguments, and the frame in which the thread waits for the
// result.
type call struct {
	f      *arch.TrapFrame
	args   [6]uintptr
	again  bool    // it starts over after a wait
	off    int64   // of the file, for a transfer
	before uintptr // bytes of a vector before the part that is being moved
	ends   bool    // an error from the host follows what has been done
	host   vfs.ID  // the file that the host opened for the call; 0: none
	part   bool    // one of several parts: it moves what it can, and then does not wait
}

// The methods return argument number i as the call uses it: a signed int, whose upper half Linux
// ignores, or an unsigned one; a descriptor, which is invalid if it is negative; a signal's number;
// flags, a mode or an owner; an operation, option, clock or timer; a number of bytes; an address of
// the program, or any word; a long that is none of these.

func (c *call) int(i int) int32       { return int32(c.args[i]) }
func (c *call) uint(i int) uint32     { return uint32(c.args[i]) }
func (c *call) int64(i int) int64     { return int64(c.args[i]) }
func (c *call) fd(i int) uintptr      { return uintptr(int32(c.args[i])) }
func (c *call) signal(i int) uintptr  { return uintptr(uint32(c.args[i])) }
func (c *call) flags(i int) uintptr   { return uintptr(uint32(c.args[i])) }
func (c *call) op(i int) uintptr      { return uintptr(uint32(c.args[i])) }
func (c *call) size(i int) uintptr    { return c.args[i] }
func (c *call) pointer(i int) uintptr { return c.args[i] }
func (c *call) word(i int) uintptr    { return c.args[i] }

// Handle answers a system call. The system call entry calls it with the CPU's record.
func Handle(f *arch.TrapFrame, cpu *arch.CPU) {
	percpu.AssertLocked()
	r := percpu.Of(cpu)
	r.Calls++
	t := thread.Get(r.Thread)
	c := call{f: f, again: t.Retried}
	// One by one: a literal of all six would be built first and then copied.
	c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5] = f.CallArgs()
	t.Retried = false
	if !c.again {
		t.Done = 0
	}
	r.CallPC = f.PC
	result := int64(0)
	if t.Told {
		result = c.told(f.CallNumber())
	} else {
		result = c.do(r, f.CallNumber())
	}
	if result == errMissing {
		result = c.fetch(f.CallNumber())
	}
	if vfs.Told != 0 {
		tellWatchers()
	}
	f.SetResult(uintptr(result))
	leave(f, r, t)
}

// leave returns from a call that does not wait: straight to the thread, unless there are signals or
// more urgent threads.
func leave(f *arch.TrapFrame, r *percpu.Record, t *thread.Thread) {
	if t.Pending&^t.Mask == 0 && !t.HasSavedMask && !r.Preempt {
		return
	}
	thread.SaveCall(f)
	t.Number = f.Error
	if r.Preempt && thread.AnyReady() {
		thread.GiveWay(t)
	}
	thread.Resume(t)
}

// LeaveTrap returns from a trap that interrupted a thread. If the thread has a signal to take or
// another thread should run, it does not return; if the thread goes straight on, it returns. Kernel
// context.
func LeaveTrap(f *arch.TrapFrame) {
	r := percpu.This()
	t := thread.Get(r.Thread)
	give := r.Preempt && thread.AnyReady()
	if t.Pending&^t.Mask == 0 && !give {
		return
	}
	thread.SaveTrap(f)
	if give {
		thread.GiveWay(t)
	}
	thread.Resume(t)
}

// Errors, as Linux numbers them (include/uapi/asm-generic/errno-base.h, errno.h).
const (
	ePERM         = 1
	eNOENT        = 2
	eSRCH         = 3
	eINTR         = 4
	eIO           = 5
	eNXIO         = 6
	e2BIG         = 7
	eBADF         = 9
	eCHILD        = 10
	eAGAIN        = 11
	eNOMEM        = 12
	eACCES        = 13
	eFAULT        = 14
	eEXIST        = 17
	eNODEV        = 19
	eNOTDIR       = 20
	eISDIR        = 21
	eBUSY         = 16
	eINVAL        = 22
	eMFILE        = 24
	eNOTTY        = 25
	eFBIG         = 27
	eNOSPC        = 28
	eSPIPE        = 29
	ePIPE         = 32
	eRANGE        = 34
	eDEADLK       = 35
	eNOLCK        = 37
	eNOSYS        = 38
	eLOOP         = 40
	eNODATA       = 61
	eOVERFLOW     = 75
	eAFNOSUPPORT  = 97
	eOPNOTSUPP    = 95
	eTIMEDOUT     = 110
	eCANCELED     = 125
	eRESTART      = 512 // never leaves the kernel: the call starts over after a signal
	eRESTARTTIMED = 516 // nor does this: the call goes on until Thread.Until, unless a handler has run
	pathMax       = 4096
	ioMax         = 0x7ffff000 // the most bytes that one read or write moves
	unblockable   = 1<<(sigKILL-1) | 1<<(sigSTOP-1)
	numSignals    = 64
	timespecSize  = 16
	sigsetSize    = 8
)

// Hooks into package kernel, as addresses of top-level functions. Set once at boot.
var exitHook, killHook uintptr

// OnExit sets the function that ends the machine when the program ends with a status. It gets the
// frame of exit_group and does not return.
func OnExit(f func(f *arch.TrapFrame, status int)) {
	exitHook = arch.EntryOf(f)
}

// OnKill sets the function that ends the machine when a signal ends the program. It gets the thread
// that took the signal, with its registers saved, and does not return.
func OnKill(f func(t *thread.Thread, signal int)) {
	killHook = arch.EntryOf(f)
}

func exit(f *arch.TrapFrame, status int) {
	arch.FuncAt[func(*arch.TrapFrame, int)](&exitHook)(f, status)
}

func kill(t *thread.Thread, signal int) {
	arch.FuncAt[func(*thread.Thread, int)](&killHook)(t, signal)
}

// Start sets up the first process's descriptors, and the delivery of signals.
// Early context.
func Start() {
	openStd()
	thread.OnResume(deliver)
}
