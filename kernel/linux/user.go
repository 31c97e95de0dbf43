package linux

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/percpu"
)

// Access to the program's memory. An address may be anything: it is compared with what the program
// may use, and the access itself may still fault when memory has run out.

// inReach reports whether n bytes at a lie where a program's memory can be at all. Linux checks
// only that before it checks a call's other arguments.
func inReach(a, n uintptr) bool {
	const end = 1<<47 - pageSize
	return a <= end && n <= end-a
}

// copyIn copies n bytes from the program to the kernel's address to.
func copyIn(to, from, n uintptr) bool {
	return mem.Allowed(from, n, false) && arch.CopyUser(to, from, n) == 0
}

// copyFrom is copyIn for bytes in the program's memory or (own) in the kernel's.
func copyFrom(to, from, n uintptr, own bool) bool {
	if own {
		return arch.CopyUser(to, from, n) == 0
	}
	return copyIn(to, from, n)
}

// copied is the result of a call that ends with copying, or with checking the memory.
func copied(ok bool) int64 {
	if !ok {
		return -eFAULT
	}
	return 0
}

// partly is the result of a call that an error stopped after it had moved done bytes.
func partly(done uintptr, errno int64) int64 {
	if done > 0 {
		return int64(done)
	}
	return errno
}

// copyOut copies n bytes from the kernel's address from to the program.
func copyOut(to, from, n uintptr) bool {
	return mem.Allowed(to, n, true) && arch.CopyUser(to, from, n) == 0
}

// load copies a value from the program, and store copies one to it.
func load[T any](v *T, from uintptr) bool { return copyIn(addressOf(v), from, unsafe.Sizeof(*v)) }
func store[T any](to uintptr, v *T) bool  { return copyOut(to, addressOf(v), unsafe.Sizeof(*v)) }

// addressOf returns the address of a value of the kernel.
func addressOf[T any](v *T) uintptr { return uintptr(unsafe.Pointer(v)) }

// outBytes copies bytes to the program.
func outBytes(to uintptr, b []byte) bool {
	return copyOut(to, addressOf(unsafe.SliceData(b)), uintptr(len(b)))
}

func zeroOut(to, n uintptr) bool {
	return mem.Allowed(to, n, true) && arch.FillUser(to, n, 0) == 0
}

func in32(a uintptr) (uint32, bool) {
	if !mem.Allowed(a, 4, false) {
		return 0, false
	}
	return arch.LoadUser32(a)
}

func in64(a uintptr) (uint64, bool) {
	if !mem.Allowed(a, 8, false) {
		return 0, false
	}
	return arch.LoadUser64(a)
}

// inPair reads two words.
func inPair(a uintptr) (v, w uint64, ok bool) {
	var words [2]uint64
	ok = load(&words, a)
	return words[0], words[1], ok
}

func out32(a uintptr, v uint32) bool { return mem.Allowed(a, 4, true) && arch.StoreUser32(a, v) }
func out64(a uintptr, v uint64) bool { return mem.Allowed(a, 8, true) && arch.StoreUser64(a, v) }

// outWords writes words one after another.
func outWords(a uintptr, words []uint64) bool {
	return copyOut(a, addressOf(unsafe.SliceData(words)), uintptr(len(words))*8)
}

// paths are the buffers for names of files; a call names two at most. Under the kernel lock.
var paths [2][pathMax]byte

// inString copies a zero-terminated string into buffer i.
func inString(i int, a uintptr) (s []byte, errno int64) {
	percpu.AssertLocked()
	buf := &paths[i]
	n := uintptr(0)
	for n < pathMax {
		// No further than the end of the page, because the next one need not be mapped.
		chunk := min(arch.PageSize-(a+n)%arch.PageSize, pathMax-n)
		if !copyIn(addressOf(&buf[n]), a+n, chunk) {
			return nil, -eFAULT
		}
		for end := n + chunk; n < end; n++ {
			if buf[n] == 0 {
				return buf[:n], 0
			}
		}
	}
	return nil, -36 // ENAMETOOLONG
}

// inTimeout is inTimespec for a time that may be missing, which means never.
func inTimeout(a uintptr) (ns uint64, errno int64) {
	if a == 0 {
		return never, 0
	}
	return inTimespec(a)
}

// inDeadline is inTimeout, as a deadline from now on.
func inDeadline(a uintptr) (until uint64, errno int64) {
	until, errno = inTimeout(a)
	if until != never {
		until += clock.Now()
	}
	return until, errno
}

// inTimespec reads a struct timespec as nanoseconds.
func inTimespec(a uintptr) (ns uint64, errno int64) {
	sec, nsec, ok := inPair(a)
	switch {
	case !ok:
		return 0, -eFAULT
	case int64(sec) < 0 || nsec >= 1e9:
		return 0, -eINVAL
	case sec > (1<<63)/1_000_000_000-2:
		return 1<<63 - 1, 0
	}
	return sec*1e9 + nsec, 0
}

func outTimespec(a uintptr, ns uint64) int64 {
	return copied(mem.Allowed(a, timespecSize, true) && arch.StoreUser64(a, ns/1e9) &&
		arch.StoreUser64(a+8, ns%1e9))
}
