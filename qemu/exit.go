package qemu

// How a machine ended is told by two parties that cannot be confused: the kernel
// writes a value to the debug-exit port, and everything else that ends QEMU is a
// failure of the machine. QEMU's isa-debug-exit device turns a value v into the
// exit status (v<<1 | 1) & 0xff, which is odd; QEMU itself exits with 0 or 1, and
// no value below 0x20 is ever written, so the two never meet.
//
//	v            QEMU exits with   meaning
//	0x20         65                the program exited with status 0
//	0x21         67                it ended in a trace
//	0x40..0x7f   129..255, odd     the program exited with status v-0x40
//
// A program's status above 63 does not fit and is written as 63; a kernel with a virtio console has
// said it before (kernel/console/port.go). Port and width:
// a 32-bit OUT to 0xf4 (QEMU hw/misc/debugexit.c). A newer QEMU ends a moment
// after the OUT, so the kernel halts behind it.

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
)

const (
	// ExitPort is the I/O port of the debug-exit device, 4 bytes wide.
	ExitPort = 0xf4
	// ExitOK is what the kernel writes when the program exited with status 0.
	ExitOK = 0x20
	// ExitTrace is what the kernel writes when it ended in a trace.
	ExitTrace = 0x21
	// ExitProgram plus a status of 0 to 63 is what it writes for that status.
	ExitProgram = 0x40
)

var (
	// ErrReset is returned when the machine reset: a triple fault, or a reset
	// by the kernel.
	ErrReset = errors.New("triple fault or reset")
	// ErrPowerOff is returned when the machine was switched off without a word
	// from the kernel, as by ACPI.
	ErrPowerOff = errors.New("machine powered off without an exit status")
	// ErrTimeout is returned when Config.Timeout passed.
	ErrTimeout = errors.New("timeout")
	// ErrKilled is returned when QEMU was ended from outside: by VM.Kill, a
	// signal, or the end of the context. One that crashed is ErrQEMU.
	ErrKilled = errors.New("QEMU was ended from outside")
	// ErrQEMU is returned for a failure of QEMU itself, with what it printed.
	ErrQEMU = errors.New("QEMU failed")
	// ErrPort is returned, with ErrQEMU, by a QEMU that has no virtio console for Config.Port.
	ErrPort = errors.New("QEMU has no virtio console")
	// ErrExitValue is returned when something wrote a value to the debug-exit
	// port that is not in the contract.
	ErrExitValue = errors.New("unknown debug-exit value")
)

// Outcome is what the kernel said of its end.
type Outcome int

const (
	// Failed means that it said nothing: the machine failed.
	Failed Outcome = iota
	// Exited means that the program exited, with the status in Result.Program.
	Exited
	// Traced means that it ended in a trace.
	Traced
)

// String returns "failed", "exited" or "traced".
func (o Outcome) String() string {
	return [...]string{"failed", "exited", "traced"}[o]
}

// Result is how a machine ended.
type Result struct {
	Outcome Outcome
	Program int            // status of the program, 0 to 255, without Config.Port to 63, if it Exited
	Status  int            // QEMU's exit status; -1 if a signal ended it
	Signal  syscall.Signal // that ended QEMU; 0: none
	// of QMP's first SHUTDOWN event, such as "guest-reset"; "" if there was none
	Reason string
	Stderr string // what QEMU itself printed

	// Registers is the monitor's register dump at the moment a machine reset,
	// powered off, timed out or was ended by VM.End, and RIP the instruction
	// address in it: where a triple fault happened, or what the machine was at.
	// Registers is "" and RIP 0 for any other end.
	Registers string
	RIP       uint64
}

// decode fills in what QEMU's exit status, and the reason it gave, say of the
// machine's end. The error is nil if the kernel ended it by the contract.
func (r *Result) decode() error {
	r.Outcome, r.Program = Failed, 0
	s := r.Status
	switch {
	case s == ExitOK<<1|1:
		r.Outcome = Exited
	case s == ExitTrace<<1|1:
		r.Outcome = Traced
	case s >= (ExitProgram<<1|1) && s&1 == 1 && s <= 0xff:
		r.Outcome, r.Program = Exited, s>>1-ExitProgram
	case s == 0:
		return r.shutdownError()
	case s == 1, s == 126, s == 127: // the latter two are the shell's, if there is no such program
		return r.qemuError(fmt.Sprintf("exit status %d", s))
	case s < 0:
		return r.signalError()
	case s&1 == 1:
		return fmt.Errorf("%w %#x (QEMU's exit status %d)", ErrExitValue, s>>1, s)
	default:
		return r.qemuError(fmt.Sprintf("exit status %d", s))
	}
	return nil
}

// signalError is for a QEMU that a signal has ended: one of its own making, or somebody's.
func (r *Result) signalError() error {
	switch r.Signal {
	case syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGILL, syscall.SIGFPE:
		return r.qemuError(fmt.Sprintf("it crashed: %v", r.Signal))
	case syscall.SIGKILL:
		return fmt.Errorf("%w: killed, by somebody or by the system for want of memory", ErrKilled)
	}
	return fmt.Errorf("%w: %v", ErrKilled, r.Signal)
}

// shutdownError is for a QEMU that ended in peace while the kernel said nothing.
func (r *Result) shutdownError() error {
	at := ""
	if r.Registers != "" {
		at = fmt.Sprintf(" at rip %#x", r.RIP)
	}
	switch {
	case r.Reason == "guest-reset":
		return fmt.Errorf("%w%s", ErrReset, at)
	case r.Reason == "guest-shutdown":
		return fmt.Errorf("%w%s", ErrPowerOff, at)
	case strings.HasPrefix(r.Reason, "host-"):
		return fmt.Errorf("%w: %s", ErrKilled, r.Reason)
	case r.Reason != "":
		return fmt.Errorf("%w: shut down for the reason %s", ErrQEMU, r.Reason)
	}
	return r.qemuError("it exited early")
}

// qemuError is a failure of QEMU itself, told in its own words if it had any.
func (r *Result) qemuError(what string) error {
	if msg := strings.TrimSpace(r.Stderr); msg != "" {
		msg = strings.ReplaceAll(msg, "\n", "; ") // an error is one line
		if r.Signal == 0 {
			what = msg
		} else {
			what += "; " + msg
		}
	}
	return fmt.Errorf("%w: %s", ErrQEMU, what)
}
