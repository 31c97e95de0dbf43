// Package heapprofile makes Go's runtime keep a heap profile, for programs that import it and those
// of zf run -memprofile:
//
//	import _ "github.com/zeroframe/zeroframe/kernel/observe/heapprofile"
//
// The linker turns the profile off in a program in which runtime.MemProfile is unreachable. The
// kernel reads the profile itself (kernel/observe/handle/heap.go).
package heapprofile

import "runtime"

// ask is false. Never written. A real call would make the runtime publish what was allocated so far
// as if a garbage collection had been done; for the linker it is enough that the call exists.
var ask bool

func init() {
	if ask {
		runtime.MemProfile(nil, false)
	}
}
