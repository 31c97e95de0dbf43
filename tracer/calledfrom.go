package tracer

import "unsafe"

// Who called: whether a function is up the running stack, and the stack as text, by the program's
// own pc tables. The return addresses are collected in pieces by a few instructions during which
// the stack does not move (calledfrom_amd64.s). Between two pieces the stack may move, so the place
// to go on is kept as a distance from the stack's top.
//
// Only the calls up to the nearest trap, interrupt or start of a goroutine count: interrupted code
// called nobody.

// pieceFrames is the number of return addresses that are collected at a time.
const pieceFrames = 32

// maxInlined bounds the inlined calls at one pc.
const maxInlined = 256

// replaced marks a return address that was replaced by an exit thunk's: the other bits say where it
// lies.
const replaced = 1 << 63

// maxCalls bounds the frames of a stack, in case its records form a loop.
const maxCalls = 1 << 20

// CalledFrom reports whether fn has called the function that calls CalledFrom, directly or through
// others. fn is a function, a method expression or a method value. Inlined calls count. The
// function that asks is not its own caller, unless it has called itself. For a generic function use
// [CalledFromName], because its value is a closure that calls it. CalledFrom allocates nothing. Any
// context; on CPUs other than amd64 it returns false.
func CalledFrom(fn any) bool {
	t, ok := OwnTable()
	if !ok {
		return false
	}
	f, ok := t.Find(codeOf(fn))
	if !ok {
		return false
	}
	name := f.Name()
	if n := len(name); n > 3 && name[n-3] == '-' && name[n-2] == 'f' && name[n-1] == 'm' {
		name = name[:n-3] // the suffix of a method value's wrapper
	}
	return called(&t, name)
}

// CalledFromName is CalledFrom for a function's full name, as traces have it: "main.parse",
// "net/http.(*Server).Serve". A generic function's name is given without its type arguments, with
// "[...]" for them, or with all of them as the linker writes them. Any context.
func CalledFromName(name string) bool {
	t, ok := OwnTable()
	return ok && called(&t, unsafe.Slice(unsafe.StringData(name), len(name)))
}

// codeOf returns the code address of a func in an interface, or 0.
func codeOf(fn any) uintptr {
	const (
		kindOffset = 23 // internal/abi.Type.Kind_
		kindMask   = 31
		kindFunc   = 19
	)
	words := (*[2]uintptr)(unsafe.Pointer(&fn))
	if words[0] == 0 || words[1] == 0 ||
		*(*uint8)(pointer(words[0] + kindOffset))&kindMask != kindFunc {
		return 0
	}
	return *(*uintptr)(pointer(words[1]))
}

// calls iterates over the calls of the running stack, inlined ones included, innermost first. It
// holds no pointers, so storing into it needs no write barrier.
type calls struct {
	pcs    [pieceFrames]uintptr
	n, i   int
	from   uintptr // where the next piece begins; 0 at the end
	frames int
	depth  int     // inlined calls at this frame
	ra     uintptr // the latest return address
	pc     uintptr // of the current call
	exact  bool    // the next return address is an interrupted instruction
	in     bool    // the current call is the innermost inlined one at pc, not the function there
}

// next moves on to the next caller.
func (c *calls) next(t *PCTable) bool {
	if c.in {
		f, _ := t.Find(c.pc)
		call, _ := f.Inlined(c.pc)
		c.pc, c.in = call.Outer()
		c.depth++
		c.in = c.in && c.depth < maxInlined
		return true
	}
	if c.i == c.n {
		if c.from == 0 || c.frames > maxCalls {
			return false
		}
		text, end := t.TextRange()
		c.n, c.from = callers(&c.pcs, c.from, text, end)
		c.i = 0
		c.frames += c.n
		if c.n == 0 {
			return false
		}
	}
	pc := c.pcs[c.i]
	if pc&replaced != 0 {
		pc, _ = TrueReturn(pc&^replaced, exitThunkPC())
	}
	c.ra, c.pc = pc, pc-1
	if c.exact {
		c.pc = pc
	}
	c.i++
	f, ok := t.Find(c.pc)
	if ok {
		_, c.in = f.Inlined(c.pc)
		c.depth = 0
		name := f.Name()
		c.exact = sameBytes(name, "runtime.sigpanic") || sameBytes(name, "runtime.asyncPreempt")
	}
	return ok
}

// name returns the name of the current function.
func (c *calls) name(t *PCTable) []byte {
	f, _ := t.Find(c.pc)
	if c.in {
		call, _ := f.Inlined(c.pc)
		return call.Name()
	}
	return f.Name()
}

// asker moves to the function that called this package.
func (c *calls) asker(t *PCTable) bool {
	for c.next(t) {
		if !isOwn(c.name(t)) {
			return true
		}
	}
	return false
}

// called reports whether a function of that name has called the one that asks.
//
//go:noinline
func called(t *PCTable, name []byte) bool {
	c := calls{from: startHere()}
	if !c.asker(t) {
		return false
	}
	for c.next(t) {
		if sameFunc(c.name(t), name) {
			return true
		}
	}
	return false
}

// isOwn reports whether name is one of the functions of this package through which a caller asks.
func isOwn(name []byte) bool {
	for _, own := range [...]string{"called", "CalledFrom", "CalledFromName", "Dump"} {
		if n := len(name) - len(own); n > len(ownPackage) && sameBytes(name[n:], own) &&
			sameBytes(name[n-len(ownPackage):n], ownPackage) {
			return true
		}
	}
	return false
}

// ownPackage is how the names of this package's functions begin, after the path.
const ownPackage = "/tracer."

// sameFunc reports whether a function's name is the wanted one, which may leave out type arguments,
// or have "[...]" for them.
func sameFunc(name, want []byte) bool {
	const some = "[...]"
	i, j := 0, 0
	for i < len(name) {
		given := name[i] == '[' && len(want)-j >= len(some) && sameBytes(want[j:j+len(some)], some)
		switch {
		case !given && j < len(want) && name[i] == want[j]:
			i++
			j++
		case name[i] == '[':
			for depth := 0; i < len(name); i++ {
				if name[i] == '[' {
					depth++
				} else if name[i] == ']' {
					depth--
				}
				if depth == 0 {
					break
				}
			}
			i++
			if given {
				j += len(some)
			}
		default:
			return false
		}
	}
	return j == len(want)
}

func sameBytes(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i] != s[i] {
			return false
		}
	}
	return true
}
