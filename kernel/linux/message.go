package linux

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// What the Go runtime prints when it dies: before it ends the process it says why, in lines that
// begin with "panic: ", "fatal error: " or the name of a signal. The reason of the trace is the
// first of these lines, with the panics that followed it, which have lines of their own after a
// tab. Only writes by the runtime's own function count; the program's output, through package os or
// anything else, may look like anything.

const (
	maxLine    = 160
	maxMessage = 4 * maxLine
)

// Under the kernel lock.
var (
	line     [maxLine]byte // the line that is being written
	nLine    int
	message  [maxMessage]byte
	nMessage int
	speaker  int32 // the thread that wrote the message
)

// runtimeWriter is the address range of the runtime's function that makes system call write. Set
// once at boot.
var runtimeWriter struct{ lo, hi uintptr }

// SetRuntimeWriter sets where runtime.write1 is: lo <= address < hi. Early context.
func SetRuntimeWriter(lo, hi uintptr) { runtimeWriter.lo, runtimeWriter.hi = lo, hi }

// noteOutput looks for such a line in output of n bytes, which is in block.
func noteOutput(n uintptr) {
	if percpu.This().CallPC-runtimeWriter.lo >= runtimeWriter.hi-runtimeWriter.lo {
		return
	}
	if n > maxLine {
		nLine = 0
		return // the runtime prints in small pieces
	}
	for _, b := range block[:n] {
		if b != '\n' {
			if uint(nLine) < maxLine {
				line[nLine] = b
				nLine++
			}
			continue
		}
		if nMessage == 0 && (begins("panic: ") || begins("fatal error: ") ||
			begins("runtime: out of memory") || namesSignal()) {
			speaker = thread.Current().TID
			appendMessage(line[:nLine])
		} else if nMessage > 0 && begins("\tpanic: ") {
			appendMessage([]byte(", "))
			appendMessage(line[1:nLine])
		}
		nLine = 0
	}
}

// appendMessage appends to the message, as far as there is room.
func appendMessage(b []byte) {
	for i := 0; i < len(b) && uint(nMessage) < maxMessage; i++ {
		message[nMessage] = b[i]
		nMessage++
	}
}

// namesSignal reports whether the line begins like "SIGSEGV: ": the runtime then dies of a signal
// that it cannot turn into a panic.
func namesSignal() bool {
	if !begins("SIG") {
		return false
	}
	i := 3
	for i < nLine && line[i] >= 'A' && line[i] <= 'Z' {
		i++
	}
	return i > 3 && i+1 < nLine && line[i] == ':' && line[i+1] == ' '
}

func begins(s string) bool { return ascii.HasPrefix(line[:min(uint(nLine), maxLine)], s) }

// Message returns in one line the reason that the Go runtime gave for ending the program, or
// nothing: "panic: first [recovered], panic: second". Any context.
func Message() []byte {
	if uint(nMessage) > maxMessage { // the number was overwritten
		return nil
	}
	return message[:nMessage]
}

// MessageSignal returns the fault whose signal killed the runtime, by the signal's name in the
// message. ok is false if the message names none. Kernel context.
func MessageSignal() (fault thread.Fault, ok bool) {
	t := thread.Get(speaker)
	if t == nil {
		return thread.Fault{}, false
	}
	name, said := signalName(int(t.Delivered.Signal)), Message()
	if name == "" || !ascii.HasPrefix(said, name) || len(said) == len(name) ||
		said[len(name)] != ':' {
		return thread.Fault{}, false
	}
	return t.Delivered, true
}

// signalName returns the name of a signal that a fault can cause, or "".
func signalName(sig int) string {
	switch sig {
	case sigILL:
		return "SIGILL"
	case sigTRAP:
		return "SIGTRAP"
	case sigBUS:
		return "SIGBUS"
	case sigFPE:
		return "SIGFPE"
	case sigSEGV:
		return "SIGSEGV"
	}
	return ""
}
