package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// The table of the system calls. Each architecture has its own, by number:
// table_amd64.go.

// row is a system call. One of the functions answers it; without any it is not answered.
type row struct {
	name   string
	do     func(c *call) int64
	file   func(c *call, f *file) int64            // of a call whose first argument is an open descriptor
	socket func(c *call, f *file, s *socket) int64 // and that of a socket
	path   bool                                    // file is for a descriptor of O_PATH, too
	quiet  bool                                    // it is no event: programs make it so often that no other would be left
	starts bool                                    // it is to start another program
	not    string                                  // what of it is not supported, or is done otherwise than Linux does
}

// do makes the call with that number; cpu is the running CPU's record.
func (c *call) do(cpu *percpu.Record, number uintptr) int64 {
	percpu.AssertLocked()
	if number < uintptr(len(table)) {
		// The compiler must not see that c goes to a function that it does not know, or
		// it puts c on the heap.
		c := (*call)(arch.Pointer(uintptr(unsafe.Pointer(c))))
		switch r := &table[number]; {
		case r.quiet:
			return r.do(c)
		case r.do != nil:
			at := cpu.NoteCall(uint32(number), uintptr(c.args[0]))
			result := r.do(c) // a call that waits does not come back
			cpu.Answer(at, uint32(number), uintptr(result))
			return result
		case r.file != nil:
			f := get(c.args[0].FD())
			if f == nil || f.flags&oPath != 0 && !r.path {
				return -eBADF
			}
			at := cpu.NoteCall(uint32(number), uintptr(c.args[0]))
			result := r.file(c, f)
			cpu.Answer(at, uint32(number), uintptr(result))
			return result
		case r.socket != nil:
			f, s, errno := getSocket(c.args[0].FD())
			if errno != 0 {
				return errno
			}
			at := cpu.NoteCall(uint32(number), uintptr(c.args[0]))
			result := r.socket(c, f, s)
			cpu.Answer(at, uint32(number), uintptr(result))
			return result
		case r.starts:
			refuseProgram()
		}
	}
	switch number {
	case PanicCall:
		return c.panic()
	case handle.Call:
		return c.resource()
	}
	return noSuchCall(number)
}

// CallName returns the name of system call n, or "?". Any context.
func CallName(n int) string {
	if n < 0 || n >= len(table) || len(table[n].name) == 0 {
		return "?"
	}
	return table[n].name
}
