package linux

import (
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// What the Go runtime has said: when it dies, it says why before it ends the process, in
// lines that begin with "panic: ", "fatal error: " or the name of a signal. The reason of
// the trace is the first of them, with the panics that followed it: those have lines of
// their own, behind a tab. Only the function counts with which the runtime itself writes;
// the program's output, through package os or any other, may look as it will.

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
	speaker  int32 // the thread that has written the message
)

// runtimeWriter bounds the runtime's function that makes system call write. Set once at boot.
var runtimeWriter struct{ lo, hi uintptr }

// SetRuntimeWriter tells where runtime.write1 is: lo <= address < hi. Early context.
func SetRuntimeWriter(lo, hi uintptr) { runtimeWriter.lo, runtimeWriter.hi = lo, hi }

// noteOutput looks at output, n bytes in block, for such a line.
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

// appendMessage makes the message longer, as far as there is room.
func appendMessage(b []byte) {
	for i := 0; i < len(b) && uint(nMessage) < maxMessage; i++ {
		message[nMessage] = b[i]
		nMessage++
	}
}

// namesSignal reports whether the line begins like "SIGSEGV: ": the runtime then dies of
// a signal that it cannot make a panic of.
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

func begins(s string) bool {
	if nLine < len(s) {
		return false
	}
	for i := 0; i < len(s); i++ {
		if line[i] != s[i] {
			return false
		}
	}
	return true
}

// Message returns why the Go runtime has said that it ends the program, in a line, or
// nothing: "panic: first [recovered], panic: second". Any context.
func Message() []byte {
	if uint(nMessage) > maxMessage { // the number has been overwritten
		return nil
	}
	return message[:nMessage]
}

// MessageSignal returns the fault whose signal, by its name, is what the runtime died of.
// ok is false if the message is another. Kernel context.
func MessageSignal() (fault thread.Fault, ok bool) {
	t := thread.Get(speaker)
	if nMessage < 3 || t == nil {
		return thread.Fault{}, false
	}
	name := signalName(int(t.Delivered.Signal))
	if name == "" || nMessage <= len(name) || message[len(name)] != ':' {
		return thread.Fault{}, false
	}
	for i := 0; i < len(name); i++ {
		if message[i] != name[i] {
			return thread.Fault{}, false
		}
	}
	return t.Delivered, true
}

// signalName returns the name of a signal that a fault can make, or "".
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
