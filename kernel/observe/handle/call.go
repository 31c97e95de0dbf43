package handle

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// How goroutines reach the log: through a system call that Linux does not have, so that the kernel
// finds their stack as it does for any call.

// Call is the number of the system call: its first argument is one of the op
// constants.
const Call = 0x7a66_0002

const (
	opLog = iota
	opNewKind
	opSend
)

// call makes the system call.
func call(op, a, b, c, d uintptr) (result uintptr) { return arch.Syscall(Call, op, a, b, c, d) }

// logCall is Log for a goroutine.
func logCall(e Event, k Kind, key, size uintptr) { call(opLog, uintptr(e), uintptr(k), key, size) }

// NewKind returns a kind of the program's own with that name, at most [MaxName] bytes; equal names
// give the same kind. It returns 0, a kind that is never logged, if the option record= names
// neither "user" nor "all", and if there are already [MaxKinds]. Any context.
func NewKind(name string) Kind {
	if !On() || len(name) == 0 {
		return 0
	}
	if arch.OnFakeG() {
		return newKind(ascii.Bytes(name))
	}
	return Kind(call(opNewKind, uintptr(unsafe.Pointer(unsafe.StringData(name))), uintptr(len(name)),
		0, 0))
}

// Dump sends a snapshot, if anything is logged: a record of the kind [SnapshotKind], which `zf run
// -handles FILE` keeps; and the heap profile, if the option memprofile= is on. The profile contains
// what was freed up to the garbage collection before the last, so call runtime.GC twice before for
// an exact one. Any context.
func Dump() {
	switch {
	case !On() && !heapWanted:
	case arch.OnFakeG():
		Send("kernel")
	default:
		call(opSend, 0, 0, 0, 0)
	}
}

// Answer answers the system call. name is the name that NameArgument found. Kernel context.
func Answer(op, a, b, c, d uintptr, name []byte) (result int64) {
	const invalid = -22 // EINVAL
	if !parts.Observe {
		return invalid
	}
	switch op {
	case opLog:
		e, k := Event(a), Kind(b)
		if e < Open || e > Note || a > uintptr(Note) || b >= MaxKinds || k < own {
			return invalid
		}
		if Logs(k) {
			note(e, k, c, d, 0)
		}
	case opNewKind:
		return int64(newKind(name))
	case opSend:
		Send("program")
	default:
		return invalid
	}
	return 0
}

// NameArgument returns where a call's name is, which Answer needs. n is 0 if it has none.
func NameArgument(op, a, b uintptr) (at, n uintptr) {
	if op != opNewKind {
		return 0, 0
	}
	return a, min(b, MaxName)
}
