package stackid

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/goinfo"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
	"github.com/zeroframe/zeroframe/tracer/depot"
)

// Code is what the walks must know of the program's code.
type Code struct {
	TextLo, TextHi uintptr // TextLo <= pc < TextHi
	TabLo, TabHi   uintptr // Go's pc tables, .gopclntab
	// Functions, by their first address and their end; 0, 0 if there is none.
	Goexit, Mcall, Mstart, Systemstack [2]uintptr
}

// MinSize is the smallest number of bytes that the depot can work with.
const MinSize = depot.MinSize

var (
	the    depot.Depot   // under the kernel lock
	code   Code          // set once at boot
	packed tracer.Packed // of the current walk: interrupts are off; one per CPU
	walk   uintptr       // address of Walk's function; set once at boot

	slow uint64 // under the kernel lock
)

// special is the table of functions in which the plain walk is wrong. Set once at boot.
var special [32]struct{ lo, hi uintptr }
var specials int // set once at boot

// Setup starts the depot in size bytes of memory at base, all zeros. walk is called for stacks that
// are not plain: it walks, as for a trace, the code that f interrupted, or, with a number that is
// not negative, the system call that f made, and interns the stack; it must be a top-level
// function. Setup returns false if the memory is too small. Early context.
//
//go:noinline
func Setup(base, size uintptr, c *Code,
	walker func(f *arch.TrapFrame, number int) (id uint32, ok bool)) bool {
	code = *c
	walk = arch.EntryOf(walker)
	return the.Init(base, size, c.TextLo, c.TextHi)
}

// Special adds a function at lo <= pc < hi in which a walk needs a rule. Early context.
func Special(lo, hi uintptr) {
	if specials < len(special) && lo < hi {
		special[specials].lo, special[specials].hi = lo, hi
		specials++
	}
}

// On reports whether there is a depot. Any context.
func On() bool { return the.Ready() }

// Depot returns the depot, for its Frames, its Stats and its image. Kernel context.
func Depot() *depot.Depot {
	percpu.AssertLocked()
	return &the
}

// Slow returns how many stacks were walked by the walker of traces.
func Slow() uint64 { return slow }

// Program returns the ID of the program's stack that f interrupted; with a number that is not
// negative, that of the system call with that number, which is then the innermost frame. Kernel
// context.
func Program(f *arch.TrapFrame, number int) (id uint32, ok bool) {
	percpu.AssertLocked()
	p := &packed
	the.Begin(p)
	if number >= 0 {
		the.Call(p, uint32(number))
	}
	end := plain(p, f)
	if end != 0 {
		if id = the.Find(p, end); id != 0 {
			return id, true
		}
		if injected(p) {
			end = 0
		}
	}
	if end == 0 {
		slow++
		return arch.FuncAt[func(*arch.TrapFrame, int) (uint32, bool)](&walk)(f, number)
	}
	return the.Finish(p, end)
}

// plain walks into p and returns why the stack ends, or 0 if it is not plain.
func plain(p *tracer.Packed, f *arch.TrapFrame) tracer.End {
	g, lo, hi, ok := running(f.TLS)
	sp, fp := f.SP, f.FP
	if !ok || sp-lo >= hi-lo {
		return 0
	}
	delta, ok := spDelta(f.PC)
	if !ok {
		return 0
	}
	p.Add(the.PC(f.PC))
	slot, floor := sp+delta, sp
	if slot != fp+8 {
		// The function has not made its record, or has removed it: the frame pointers would miss
		// its caller.
		ra, ok := tracer.ReadWord(slot)
		if slot-lo >= hi-lo || !ok || ra-code.TextLo >= code.TextHi-code.TextLo {
			return 0
		}
		p.Add(uint32(ra - code.TextLo))
		floor = slot + 8
	}
	p.Walk(lo, hi, floor, fp)
	last := uintptr(p.Outermost())
	if p.Full() || last >= code.TextHi-code.TextLo {
		return 0 // there is no caller
	}
	ra := code.TextLo + last - 1
	if p.Last() != 0 && in(ra, &code.Systemstack) {
		// From g0 to the goroutine that it works for.
		m, ok := goinfo.MOf(g)
		if !ok {
			return 0
		}
		if g, ok = goinfo.Curg(m); !ok {
			return 0
		}
		if lo, hi, ok = goinfo.Bounds(g); !ok {
			return 0
		}
		n := p.Bytes()
		if p.Walk(lo, hi, 0, p.Last()); p.Bytes() == n || p.Full() {
			return 0
		}
		ra = code.TextLo + uintptr(p.Outermost()) - 1
	}
	switch {
	case p.Last() != 0:
	case in(ra, &code.Goexit):
		return tracer.EndGoexit
	case in(ra, &code.Mcall), in(ra, &code.Mstart):
		return tracer.EndZero
	}
	return 0
}

// trustedFS and trustedG are the last thread and its g whose memory could be read. One per CPU.
var trustedFS, trustedG uintptr

// running returns the g that the thread with that FS base runs, and the bounds of its stack. It
// checks only the first time, because the memory of a thread's local storage and of a g stays
// readable.
func running(fs uintptr) (g, lo, hi uintptr, ok bool) {
	if fs == trustedFS && fs != 0 {
		g = *(*uintptr)(arch.Pointer(fs - 8))
	} else {
		if g, ok = goinfo.GofFS(fs); !ok {
			return 0, 0, 0, false
		}
		trustedFS = fs
	}
	if g == trustedG {
		b := (*[2]uintptr)(arch.Pointer(g))
		return g, b[0], b[1], b[0] < b[1] && (b[0]|b[1])%8 == 0
	}
	if lo, hi, ok = goinfo.Bounds(g); ok {
		trustedG = g
	}
	return g, lo, hi, ok
}

func in(pc uintptr, f *[2]uintptr) bool { return pc-f[0] < f[1]-f[0] }

// injected reports whether p has a frame other than the outermost that needs a rule, and is no
// change of stacks by systemstack.
func injected(p *tracer.Packed) bool {
	for i := range p.N() - 2 {
		u := uintptr(p.Unit(i))
		if u >= code.TextHi-code.TextLo {
			continue // no return address
		}
		ra := code.TextLo + u - 1
		if isSpecial(ra) && !in(ra, &code.Systemstack) {
			return true
		}
	}
	return false
}

func isSpecial(pc uintptr) bool {
	for i := range special[:specials] {
		if s := &special[i]; pc-s.lo < s.hi-s.lo {
			return true
		}
	}
	return false
}

// deltas caches the pc tables' distance from RSP up to the return address: the offset of the pc in
// the text, and the number of bytes, or notPlain. Under the kernel lock.
var deltas [1024]struct{ off, delta uint32 }

const notPlain = ^uint32(0)

func spDelta(pc uintptr) (delta uintptr, ok bool) {
	off := pc - code.TextLo
	if off >= code.TextHi-code.TextLo {
		return 0, false
	}
	e := &deltas[uint32(off)*0x9e37_79b1>>22]
	if e.off != uint32(off) {
		e.off, e.delta = uint32(off), lookUp(pc)
	}
	return uintptr(e.delta), e.delta != notPlain
}

// lookUp is spDelta without the cache.
func lookUp(pc uintptr) uint32 {
	if isSpecial(pc) {
		return notPlain
	}
	t, ok := tracer.ParsePCTable(unsafe.Slice((*byte)(arch.Pointer(code.TabLo)),
		int(code.TabHi-code.TabLo)), code.TextLo)
	if !ok {
		return notPlain
	}
	f, ok := t.Find(pc)
	if !ok {
		return notPlain
	}
	d, ok := f.SPDelta(pc)
	if !ok || d < 0 {
		return notPlain
	}
	return uint32(d)
}
