// Package heapprofile has Go's runtime keep a heap profile, for programs that import it and
// those of zf run -memprofile:
//
//	import _ "github.com/zeroframe/zeroframe/kernel/observe/heapprofile"
//
// The linker turns the profile off in a program from which runtime.MemProfile cannot be
// reached. The kernel reads the profile by itself (kernel/observe/handle/heap.go).
package heapprofile

import "runtime"

// ask is false. Never written. A call would have the runtime publish what was allocated so far as if a
// garbage collection had been done; that there is one is enough for the linker.
var ask bool

func init() {
	if ask {
		runtime.MemProfile(nil, false)
	}
}
