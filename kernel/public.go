package kernel

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/observe/handle"
	"github.com/zeroframe/zeroframe/kernel/secret"
	"github.com/zeroframe/zeroframe/kernel/stack"
	"github.com/zeroframe/zeroframe/tracer"
)

// What a program may call. Functions that look at their caller have no body: they are those of
// other packages under a second name, so that no frame lies between.

// Panic writes a trace of its caller, with that reason, and ends the machine as the option panic=
// says. It does not return, and runs no deferred calls. Any context.
//
//go:linkname Panic github.com/zeroframe/zeroframe/kernel/fault.Panic
//go:noescape
func Panic(reason string)

// CheckStacks measures the kernel's stacks, warns of those that are more than three quarters full,
// and treats one that has passed its limit as the option stack.limit= says. Early and kernel
// context; while the program runs, the kernel does this once a second.
func CheckStacks() { fault.CheckStacks() }

// Stacks measures the kernel's stacks and returns their table: names, bounds, limits, and as Used
// the most bytes that were in use at a time since boot or [ResetStacks]. It is the kernel's own
// table: do not write to it. Any context.
func Stacks() []tracer.Stack { return stack.All() }

// ResetStacks makes only what is in use now count as used. It returns false, and changes nothing,
// if a walk cannot tell what that is. Any context.
func ResetStacks() bool { return stack.Reset() }

// Measure calls fn and returns how many bytes of the running stack it has used at least. ok is
// false if that cannot be told, for example because a goroutine's stack has grown. Any context.
func Measure(fn func()) (bytes uintptr, ok bool) { return stack.MeasureCall(fn) }

// CalledFrom reports whether the function fn has called the function that asks, directly or through
// others. Any context; see [tracer.CalledFrom].
//
//go:linkname CalledFrom github.com/zeroframe/zeroframe/tracer.CalledFrom
//go:noescape
func CalledFrom(fn any) bool

// CalledFromName is [CalledFrom] for a function's full name, as traces have it, such as
// "net/http.(*Server).Serve". Any context.
//
//go:linkname CalledFromName github.com/zeroframe/zeroframe/tracer.CalledFromName
//go:noescape
func CalledFromName(name string) bool

// OnReturn has hook called with arg when the function that calls OnReturn returns. Early and kernel
// context, such as the early hook; on a goroutine's stack it sets nothing and says so. See
// [tracer.OnReturn].
//
//go:linkname OnReturn github.com/zeroframe/zeroframe/tracer.OnReturn
//go:noescape
func OnReturn(hook func(arg uintptr), arg uintptr) tracer.Refusal

// Secret makes the bytes of b zeros in each dump of the machine's memory (option core=), until
// [Forget]. Copies of them are not found. It returns false if there is no room for another mark.
// Goroutine context.
func Secret(b []byte) bool { return secret.Mark(b) }

// Forget undoes [Secret] of the same bytes. Call it before their memory is used for something else.
// Goroutine context.
func Forget(b []byte) { secret.Forget(b) }

// A HandleKind is a kind of things that a program opens and closes. With the option record=user or
// record=all the kernel logs them with the stacks that did so, and zf handles shows them. The
// methods are not inlined, because then the stacks begin in the program.
type HandleKind struct{ kind handle.Kind }

// NewHandleKind returns the kind of that name, of at most 24 bytes. If such kinds are not logged,
// or there is no room for another, its methods do nothing. Any context.
func NewHandleKind(name string) HandleKind { return HandleKind{handle.NewKind(name)} }

// Open logs that the handle key, of that size, is in use from now on. Any context.
//
//go:noinline
func (k HandleKind) Open(key, size uintptr) { handle.Log(handle.Open, k.kind, key, size) }

// Close logs that the handle key is no longer in use. Any context.
//
//go:noinline
func (k HandleKind) Close(key uintptr) { handle.Log(handle.Close, k.kind, key, 0) }

// Note logs that something else has happened to the handle key. Any context.
//
//go:noinline
func (k HandleKind) Note(key, size uintptr) { handle.Log(handle.Note, k.kind, key, size) }

// DumpHandles sends a snapshot of what is open, if anything is logged, and the heap profile, if the
// option memprofile= is on. Any context.
func DumpHandles() { handle.Dump() }
