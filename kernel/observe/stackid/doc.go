// Package stackid names stacks by numbers: it holds the kernel's one stack depot (package
// tracer/depot; option depot=BYTES), and walks into it.
//
// Nearly all stacks are those of a goroutine, or of the runtime's own work for one on the thread's
// stack. One loop walks them and hashes as it goes: the pc tables tell how much of its frame the
// top function has made, and a small cache keeps the answers. Anything else (a signal handler, the
// middle of a switch of stacks, an injected call) goes to the walker of traces. So an ID names the
// frames that a trace would show, at each instruction.
//
// It imports only goinfo, tracer and arch, so that the whole kernel may use it. Kernel context.
//
// In the order of reading:
//
//	stackid.go  a trap's stack -> its number in the depot
//	here.go     the same from where the kernel is called
package stackid
