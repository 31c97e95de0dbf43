package linuxabi

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/kernel/sched"
)

// What the program has said last: when the Go runtime dies, it says why before it ends
// the process, in lines that begin with "panic: ", "fatal error: " or the name of a
// signal. The reason of the trace is the first of them since the thread has begun to die.

const maxMessage = 160

var (
	line     [maxMessage]byte // the line that is being written
	nLine    int
	message  [maxMessage]byte
	nMessage int
	speaker  int32 // the thread that has written the message
)

// noteOutput looks at output for such a line.
func noteOutput(n uintptr) {
	if n > maxMessage {
		nLine = 0
		return // the runtime prints in small pieces
	}
	for _, b := range block[:n] {
		if b != '\n' {
			if nLine < maxMessage {
				line[nLine] = b
				nLine++
			}
			continue
		}
		if nMessage == 0 && (begins("panic: ") || begins("fatal error: ") || begins("runtime: out of memory") || namesSignal()) {
			speaker = sched.Current().TID
			for i := 0; i < nLine; i++ {
				message[i] = line[i]
			}
			nMessage = nLine
		}
		nLine = 0
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

// Message returns the first line of what the Go runtime has said of its death, or
// nothing. Any context.
func Message() []byte {
	return unsafe.Slice(&message[0], nMessage)
}
