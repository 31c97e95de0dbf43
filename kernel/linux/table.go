package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer"
)

// The tables of the system calls. Each architecture has its own, by number: table_amd64.go. A call
// is answered by its function in calls or in fileCalls, or by onSocket.

// A callTrait is a property of a call.
type callTrait uint8

const (
	ofSocket callTrait = 1 << iota // its descriptor is a socket; onSocket answers it
	ofPath                         // it is in fileCalls, and accepts a descriptor of O_PATH, too
	quiet                          // it is in calls, and no event: it would push out all others
	starts                         // it would start another program
	debugs                         // it would look at another program
)

// do makes the call with that number; cpu is the running CPU's record.
func (c *call) do(cpu *percpu.Record, number uintptr) int64 {
	percpu.AssertLocked()
	if number >= numCalls {
		return noSuchCall(c, number)
	}
	// The compiler must not see that c goes to a function that it does not know, or c escapes to
	// the heap.
	hidden := (*call)(arch.Pointer(uintptr(unsafe.Pointer(c))))
	do, traits := calls[number], callTraits[number]
	var f *file
	var s *socket
	errno := int64(0)
	switch {
	case traits&quiet != 0:
		return do(hidden)
	case do != nil:
	case fileCalls[number] != nil:
		if f = get(c.fd(0)); f == nil || f.flags&oPath != 0 && traits&ofPath == 0 {
			return -eBADF
		}
	case traits&ofSocket != 0:
		if f, s, errno = getSocket(c.fd(0)); errno != 0 {
			return errno
		}
	default:
		return noSuchCall(c, number)
	}
	at := cpu.NoteCall(uint32(number), c.args[0])
	result := int64(0)
	switch { // a call that waits does not come back
	case f == nil:
		came := c.args
		if form := forms[number]; len(form) > 0 {
			c.arrange(form)
		}
		result = do(hidden)
		c.args = came
	case s == nil:
		result = fileCalls[number](hidden, f)
	default:
		result = hidden.onSocket(number, f, s)
	}
	cpu.Answer(at, uint32(number), uintptr(result))
	return result
}

// arrange gives a call the arguments of another call that does the same and more. form has a letter
// for each of those: a digit is the argument with that number. The remaining arguments are 0.
func (c *call) arrange(form string) {
	came := c.args
	for i := range c.args {
		v := uintptr(0)
		if i < len(form) {
			switch b := form[i]; b {
			case 'h':
				v = here
			case 'n':
				v = atNoFollow
			case 'r':
				v = atRemoveDir
			case 'c': // creat
				v = vfs.O_CREAT | oWronly | vfs.O_TRUNC
			case 'd':
				v = byDescriptor
			case 'm': // nanoseconds of a microsecond
				v = 1000
			case '+':
				v = 1
			case '-':
			default:
				v = came[b-'0']
			}
		}
		c.args[i] = v
	}
}

// CallName returns the name of system call n, or "?". Any context.
func CallName(n int) string {
	if name := tracer.CallName(uint32(n)); name != "" && n >= 0 {
		return name
	}
	return "?"
}
