package tracer

import "unsafe"

// Who called: whether a function is up the running stack, and the stack as text, by the
// program's own pc tables. The return addresses are gathered in pieces by a few
// instructions during which the stack does not move (calledfrom_amd64.s); between two
// pieces it may, so where to go on is kept as a distance from the stack's top.
//
// What counts is the stack of calls up to the nearest trap, interrupt or start of a
// goroutine: what was interrupted has called nobody.

// pieceFrames is how many return addresses are gathered at a time.
const pieceFrames = 32

// maxInlined bounds the inlined calls at one pc.
const maxInlined = 256

// replaced marks a return address that is an exit thunk's: the rest is where it lies.
const replaced = 1 << 63

// maxCalls bounds the frames of a stack, should its records lead in a circle.
const maxCalls = 1 << 20

// CalledFrom reports whether the function that calls it has been called, directly or by
// others, by fn: a function, a method expression or a method value. Calls that the
// compiler has inlined count. The function that asks is not its own caller, unless it
// has called itself. A generic function is asked for by [CalledFromName], as the value of
// one is a closure that calls it. It allocates nothing. Any context; on amd64 alone, elsewhere it
// reports false.
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
		name = name[:n-3] // what a method value is made of
	}
	return called(&t, name)
}

// CalledFromName is CalledFrom for a function's full name, as traces have it:
// "main.parse", "net/http.(*Server).Serve". A generic function's is given without its
// type arguments, with "[...]" for them, or with all of them as the linker writes them. Any
// context.
func CalledFromName(name string) bool {
	t, ok := OwnTable()
	return ok && called(&t, unsafe.Slice(unsafe.StringData(name), len(name)))
}

// codeOf returns the address of the code of a func in an interface, or 0.
func codeOf(fn any) uintptr {
	const (
		kindOffset = 23 // internal/abi.Type.Kind_
		kindMask   = 31
		kindFunc   = 19
	)
	words := (*[2]uintptr)(unsafe.Pointer(&fn))
	if words[0] == 0 || words[1] == 0 || *(*uint8)(pointer(words[0] + kindOffset))&kindMask != kindFunc {
		return 0
	}
	return *(*uintptr)(pointer(words[1]))
}

// calls goes up the calls of the running stack, inlined ones included. It keeps no
// pointers, so that none is stored.
type calls struct {
	pcs    [pieceFrames]uintptr
	n, i   int
	from   uintptr // where the next piece begins, 0 at the end
	frames int
	depth  int     // inlined calls at this frame
	ra     uintptr // the latest return address
	pc     uintptr // of the call that is looked at
	exact  bool    // the next return address is an instruction's that has been interrupted
	in     bool    // the innermost inlined call at pc is meant, not the function there
}

// next goes on to the next caller.
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

// name returns the name of the function that next has come to.
func (c *calls) name(t *PCTable) []byte {
	f, _ := t.Find(c.pc)
	if c.in {
		call, _ := f.Inlined(c.pc)
		return call.Name()
	}
	return f.Name()
}

// asker goes to the function that has called this package.
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

// isOwn reports whether a name is that of a function by which this package is asked.
func isOwn(name []byte) bool {
	for _, own := range [...]string{"called", "CalledFrom", "CalledFromName", "Dump"} {
		if n := len(name) - len(own); n > len(ownPackage) && sameBytes(name[n:], own) && sameBytes(name[n-len(ownPackage):n], ownPackage) {
			return true
		}
	}
	return false
}

// ownPackage is how the names of this package's functions begin, behind the path.
const ownPackage = "/tracer."

// sameFunc reports whether a function's name is the one that was asked for, which may
// lack type arguments, or have "[...]" for them.
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
