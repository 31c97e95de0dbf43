package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/vfs"
	"github.com/zeroframe/zeroframe/tracer"
)

// The table of the system calls. Each architecture has its own, by number:
// table_amd64.go.

// row is a system call. One of its functions answers it, or onSocket.
type row struct {
	do func(c *call) int64
	// file is for a call whose first argument is an open descriptor.
	file   func(c *call, f *file) int64
	socket bool   // its descriptor is a socket; onSocket answers it
	args   string // how do arranges the arguments (arrange); "": unchanged
	path   bool   // file accepts a descriptor of O_PATH, too
	quiet  bool   // it is not recorded as an event, because it would push out all others
	starts bool   // it would start another program
}

// do makes the call with that number; cpu is the running CPU's record.
func (c *call) do(cpu *percpu.Record, number uintptr) int64 {
	percpu.AssertLocked()
	if number >= uintptr(len(table)) {
		return noSuchCall(c, number)
	}
	// The compiler must not see that c goes to a function that it does not know, or c escapes to
	// the heap.
	hidden := (*call)(arch.Pointer(uintptr(unsafe.Pointer(c))))
	r := &table[number]
	var f *file
	var s *socket
	errno := int64(0)
	switch {
	case r.quiet:
		return r.do(hidden)
	case r.do != nil:
	case r.file != nil:
		if f = get(c.fd(0)); f == nil || f.flags&oPath != 0 && !r.path {
			return -eBADF
		}
	case r.socket:
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
		if len(r.args) > 0 {
			c.arrange(r.args)
		}
		result = r.do(hidden)
		c.args = came
	case s == nil:
		result = r.file(hidden, f)
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
