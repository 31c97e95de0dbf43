package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// call is a system call that is being handled: its arguments, and the frame in which
// the thread waits for the result.
type call struct {
	f                *amd64.TrapFrame
	a, b, c, d, e, g uintptr
	again            bool // it starts over after a wait
	part             bool // of a call that moves several; it moves what it can, and then does not wait
}

// Handle answers a system call. It is called by the system call entry.
func Handle(f *amd64.TrapFrame) {
	calls++
	t := sched.Current()
	c := call{f, f.DI, f.SI, f.DX, f.R10, f.R8, f.R9, t.Retried, false}
	t.Retried = false
	if !c.again {
		t.Done = 0
	}
	callPC = f.RIP
	result := c.do(f.AX)
	f.AX = uintptr(result)
	leave(f)
}

// leave is the way out of a call that does not wait: straight back, but for signals
// and for threads that are more urgent.
func leave(f *amd64.TrapFrame) {
	t := sched.Current()
	if t.Pending&^t.Mask == 0 && !t.HasSavedMask && !sched.Preempting() {
		return
	}
	sched.SaveCall(f)
	t.Number = f.Error
	if sched.Preempting() && sched.AnyReady() {
		sched.GiveWay(t)
	}
	sched.Resume(t)
}

// LeaveTrap is the way out of a trap that has interrupted a thread: back, unless it
// has a signal to take or another thread should run. It returns if it goes straight
// back. Kernel context.
func LeaveTrap(f *amd64.TrapFrame) {
	t := sched.Current()
	give := sched.Preempting() && sched.AnyReady()
	if t.Pending&^t.Mask == 0 && !give {
		return
	}
	sched.SaveTrap(f)
	if give {
		sched.GiveWay(t)
	}
	sched.Resume(t)
}

// calls counts the system calls.
var calls uint64

// Calls returns the number of system calls since boot. Any context.
func Calls() uint64 { return calls }

// Errors, as Linux numbers them (include/uapi/asm-generic/errno-base.h, errno.h).
const (
	ePERM         = 1
	eNOENT        = 2
	eSRCH         = 3
	eINTR         = 4
	eIO           = 5
	eNXIO         = 6
	eBADF         = 9
	eCHILD        = 10
	eAGAIN        = 11
	eNOMEM        = 12
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
	eSPIPE        = 29
	ePIPE         = 32
	eNOSYS        = 38
	eLOOP         = 40
	eNODATA       = 61
	eOVERFLOW     = 75
	eAFNOSUPPORT  = 97
	eOPNOTSUPP    = 95
	eTIMEDOUT     = 110
	eRESTART      = 512 // never leaves the kernel: the call starts over after a signal
	maxErrno      = 4095
	notAnErrno    = -1
	pathMax       = 4096
	ioMax         = 0x7ffff000 // the most that one read or write moves
	allSignals    = ^uint64(0)
	unblockable   = 1<<(sigKILL-1) | 1<<(sigSTOP-1)
	numSignals    = 64
	timespecSize  = 16
	sigactionSize = 32
)

// Hooks into package kernel, as addresses of top-level functions.
var exitHook, killHook uintptr

// OnExit sets the function that ends the machine when the program ends with a
// status: by exit_group, whose frame it gets. It does not return.
func OnExit(f func(f *amd64.TrapFrame, status int)) {
	exitHook = **(**uintptr)(unsafe.Pointer(&f))
}

// OnKill sets the function that ends the machine when a signal ends the program.
// The thread, whose registers are saved in it, took the signal. It does not return.
func OnKill(f func(t *sched.Thread, signal int)) {
	killHook = **(**uintptr)(unsafe.Pointer(&f))
}

func exit(f *amd64.TrapFrame, status int) {
	p := &exitHook
	(*(*func(*amd64.TrapFrame, int))(unsafe.Pointer(&p)))(f, status)
}

func kill(t *sched.Thread, signal int) {
	p := &killHook
	(*(*func(*sched.Thread, int))(unsafe.Pointer(&p)))(t, signal)
}

// Start sets up the first process's descriptors, and the delivery of signals.
// Early context.
func Start() {
	openStd()
	sched.OnResume(deliver)
}
