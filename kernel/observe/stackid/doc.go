// Package stackid names stacks by numbers: it holds the kernel's one stack depot (package
// tracer/depot; option depot=BYTES), and walks into it.
//
// Nearly all stacks are those of a goroutine, or of the runtime's own work for one on the
// thread's stack. They are walked in one loop, which hashes as it goes: what the function
// at the top has done of its frame is told by the pc tables, and kept in a small cache.
// Whatever is not so plain (a signal handler, the middle of a switch of stacks, an
// injected call) is given to the walker of traces. So an ID names the frames that a trace
// would show, at each instruction.
//
// It imports goinfo, tracer and arch, so that all of the kernel may use it. Kernel
// context.
//
// In the order of reading:
//
//	stackid.go  a trap's stack -> its number in the depot
//	here.go     the same from where the kernel is called
package stackid
