package kernel

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/mm"
	"github.com/zeroframe/zeroframe/tracer"
)

// The one table of stacks. Painter, guard pages, interrupt stack table, walker,
// overflow check and report all read it; nothing else says where a stack is.

// Rows of the table. Those of the IST come in the order of its slots.
const (
	stackBoot = iota
	stackPF
	stackException
	stackIRQ
	stackDF
	stackNMI
	stackMC
	stackDebug
	stackPanic
	stackNested
	stackKernel // system calls, scheduler, idling
	numStacks   // the kernel's own; behind them:
	stackG      = numStacks
	stackThread = stackG + 1 // two for each thread

	// maxRows is the length of the table.
	maxRows = stackThread + 2*26
)

// stacks is the table. Bounds are filled in by initStacks for the kernel's own, by
// threadStacks for those of the program.
var stacks = []tracer.Stack{
	stackBoot:      {Name: "boot"},
	stackPF:        {Name: "pf"},
	stackException: {Name: "exc"},
	stackIRQ:       {Name: "irq"},
	stackDF:        {Name: "df"},
	stackNMI:       {Name: "nmi"},
	stackMC:        {Name: "mc"},
	stackDebug:     {Name: "debug"},
	stackPanic:     {Name: "panic"},
	stackNested:    {Name: "nested"},
	stackKernel:    {Name: "kernel"},
	stackG:         {Name: "g"}, // the goroutine's
	// Of thread 1, 2, ...: the one that the runtime runs on, and that for signals.
	{Name: "g0.1"}, {Name: "sig.1"},
	{Name: "g0.2"}, {Name: "sig.2"},
	{Name: "g0.3"}, {Name: "sig.3"},
	{Name: "g0.4"}, {Name: "sig.4"},
	{Name: "g0.5"}, {Name: "sig.5"},
	{Name: "g0.6"}, {Name: "sig.6"},
	{Name: "g0.7"}, {Name: "sig.7"},
	{Name: "g0.8"}, {Name: "sig.8"},
	{Name: "g0.9"}, {Name: "sig.9"},
	{Name: "g0.10"}, {Name: "sig.10"},
	{Name: "g0.11"}, {Name: "sig.11"},
	{Name: "g0.12"}, {Name: "sig.12"},
	{Name: "g0.13"}, {Name: "sig.13"},
	{Name: "g0.14"}, {Name: "sig.14"},
	{Name: "g0.15"}, {Name: "sig.15"},
	{Name: "g0.16"}, {Name: "sig.16"},
	{Name: "g0.17"}, {Name: "sig.17"},
	{Name: "g0.18"}, {Name: "sig.18"},
	{Name: "g0.19"}, {Name: "sig.19"},
	{Name: "g0.20"}, {Name: "sig.20"},
	{Name: "g0.21"}, {Name: "sig.21"},
	{Name: "g0.22"}, {Name: "sig.22"},
	{Name: "g0.23"}, {Name: "sig.23"},
	{Name: "g0.24"}, {Name: "sig.24"},
	{Name: "g0.25"}, {Name: "sig.25"},
	{Name: "g0.26"}, {Name: "sig.26"},
}

// The table is as long as it says, and no longer than a walk can tell apart.
const _ = uint(tracer.MaxStacks - maxRows)

// sizes of the stacks in bytes, multiples of the page size.
var sizes = [numStacks]uintptr{
	stackBoot:      boot.StackSize,
	stackPF:        16 << 10,
	stackException: 16 << 10,
	stackIRQ:       16 << 10,
	stackDF:        16 << 10,
	stackNMI:       16 << 10,
	stackMC:        16 << 10,
	stackDebug:     16 << 10,
	stackPanic:     32 << 10,
	stackNested:    32 << 10,
	stackKernel:    32 << 10,
}

const (
	guardSize = amd64.PageSize
	// areaSize holds all stacks but boot's, a guard page below each, and room
	// to align them.
	areaSize = 7*16<<10 + 3*32<<10 + numStacks*guardSize + amd64.PageSize
)

// area is the memory of all stacks but boot's.
var area [areaSize]byte

// initStacks lays the stacks out, paints them and hands them to the IST.
func initStacks() {
	next := uintptr(unsafe.Pointer(&area))
	next = (next + amd64.PageSize - 1) &^ (amd64.PageSize - 1)
	for i := range stacks[:numStacks] {
		s := &stacks[i]
		if i == stackBoot {
			s.Lo, s.Hi = boot.StackLo, boot.StackHi // painted by the entry code
		} else {
			s.Lo = next + guardSize
			s.Hi = s.Lo + sizes[i]
			next = s.Hi
			tracer.Paint(s.Lo, s.Hi)
		}
		s.Limit = provenLimit(i, s.Size())
	}
	for slot := 1; slot < amd64.NumIST; slot++ {
		s := &stacks[stackPF+slot-1]
		amd64.SetIST(slot, s.Lo, s.Hi)
	}
	nestedLo, nestedHi = stacks[stackNested].Lo, stacks[stackNested].Hi
}

// measure updates a stack's high-water mark, if all of it can be read.
func measure(s *tracer.Stack) {
	for p := s.Lo; p < s.Hi; p += amd64.PageSize {
		if _, ok := tracer.ReadWord(p); !ok {
			return
		}
	}
	if used := tracer.HighWaterPages(s.Lo, s.Hi, amd64.PageSize, dirty); used > s.Used {
		s.Used = used
	}
}

// dirty is mm.NextDirty once the kernel's stacks have been looked through.
func dirty(lo, hi uintptr) uintptr {
	if !watched {
		return lo
	}
	return mm.NextDirty(lo, hi)
}

var watched bool

// watchStacks makes the dirty bits of all stacks' pages say whether they are still all
// paint.
func watchStacks() {
	for i := range stacks[:numStacks] {
		s := &stacks[i]
		for p := s.Lo; p < s.Hi; p += amd64.PageSize {
			mm.SetDirty(p, tracer.HighWater(p, p+amd64.PageSize) != 0)
		}
	}
	watched = true
}

// guardStacks unmaps the page below every stack.
func guardStacks() {
	for i := range stacks[:numStacks] {
		if !mm.Unmap(stacks[i].Lo - guardSize) {
			Panic("not enough RAM behind the kernel's image for page tables: a stack has no guard page")
		}
	}
}

// guardOf returns the stack whose guard page holds addr, or nil.
func guardOf(addr uintptr) *tracer.Stack {
	for i := range stacks[:numStacks] {
		if s := &stacks[i]; addr < s.Lo && addr >= s.Lo-guardSize {
			return s
		}
	}
	return nil
}

// stackNamed returns the row of that name, or nil.
func stackNamed(name []byte) *tracer.Stack {
	for i := range stacks[:numStacks] {
		if Same(name, stacks[i].Name) {
			return &stacks[i]
		}
	}
	return nil
}

// setLimits reads every stack.limit=NAME:BYTES of the command line.
func setLimits() {
	line := info.Cmdline()
	for {
		value, rest, ok := nextOption(line, "stack.limit")
		if !ok {
			return
		}
		line = rest
		colon := 0
		for colon < len(value) && value[colon] != ':' {
			colon++
		}
		s := stackNamed(value[:colon])
		var bytes uint64
		if colon < len(value) {
			bytes, ok = parseUint(value[colon+1:])
		}
		if s == nil || colon == len(value) || !ok || bytes == 0 || bytes > uint64(s.Size()) {
			console.String("stack.limit=")
			console.Bytes(value)
			console.String(" is ignored: want NAME:BYTES, with 1 to the stack's size and a NAME of")
			for i := range stacks[:numStacks] {
				console.String(" ")
				console.String(stacks[i].Name)
			}
			console.String("\n")
			continue
		}
		s.Limit = uintptr(bytes)
	}
}

// warned has bit i set when a warning about stack i has been printed.
var warned uint32

// warn says, once, that a stack is more than three quarters full.
func warn(i int) {
	s := &stacks[i]
	if s.Level() != tracer.LevelWarning || warned&(1<<uint(i)) != 0 {
		return
	}
	warned |= 1 << uint(i)
	console.FreshLine()
	console.String("stack ")
	console.String(s.Name)
	console.String(": at least ")
	console.Dec(uint64(s.Used))
	console.String(" of ")
	console.Dec(uint64(s.Size()))
	console.String(" bytes used, warning: above 75 %\n")
}

// CheckStacks measures every stack, warns of those that are more than three
// quarters full, and panics if one has passed its limit.
// Early and kernel context. It takes about one instruction for each unused
// word of stack.
func CheckStacks() {
	for i := range stacks[:numStacks] {
		s := &stacks[i]
		measure(s)
		if s.Level() < tracer.LevelOverLimit {
			warn(i)
			continue
		}
		overLimit(s)
	}
}

// overLimit panics about a stack. The trace begins at its caller.
//
//go:noinline
func overLimit(s *tracer.Stack) {
	fp := amd64.FramePointer()
	d := climb(tracer.KindPanic)
	r := &d.reason
	r.str("stack ")
	r.str(s.Name)
	if s.Level() == tracer.LevelOverflowed {
		r.str(" overflowed")
	} else {
		r.str(" is over its limit")
	}
	r.str(": at least ")
	r.dec(uint64(s.Used))
	r.str(" of ")
	r.dec(uint64(s.Size()))
	r.str(" bytes used, limit ")
	r.dec(uint64(s.Limit))
	panicCaller(d, fp)
}
