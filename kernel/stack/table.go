package stack

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/tracer"
)

// The one table of stacks. Painter, guard pages, interrupt stack table, walker, overflow check and
// report all read it; nothing else says where a stack is.

// Rows of the table. Those of the IST come in the order of its slots.
const (
	Boot = iota
	PageFault
	Exception
	Interrupt
	DoubleFault
	NMI
	MachineCheck
	Debug
	Panic
	Nested
	Kernel      // system calls, scheduler, idling
	Count       // number of the kernel's own; after them:
	Goroutine   = Count
	firstThread = Goroutine + 1 // two for each thread

	// maxRows is the length of the table.
	maxRows = firstThread + 2*26
)

// Table is the table. Init fills in the bounds of the kernel's own stacks, ProgramRows those of the
// program's. One per CPU.
var Table = []tracer.Stack{
	Boot:         {Name: "boot"},
	PageFault:    {Name: "pf"},
	Exception:    {Name: "exc"},
	Interrupt:    {Name: "irq"},
	DoubleFault:  {Name: "df"},
	NMI:          {Name: "nmi"},
	MachineCheck: {Name: "mc"},
	Debug:        {Name: "debug"},
	Panic:        {Name: "panic"},
	Nested:       {Name: "nested"},
	Kernel:       {Name: "kernel"},
	Goroutine:    {Name: "g"}, // the goroutine's
	// For threads 1, 2, ...: the stack that the runtime runs on, and that for signals.
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

// The table must not be longer than a walk can tell apart.
const _ = uint(tracer.MaxStacks - maxRows)

// sizes of the stacks in bytes, multiples of the page size; areaSize has their sum. Never written.
var sizes = [Count]uintptr{
	Boot:         boot.StackSize,
	PageFault:    16 << 10,
	Exception:    16 << 10,
	Interrupt:    16 << 10,
	DoubleFault:  16 << 10,
	NMI:          16 << 10,
	MachineCheck: 16 << 10,
	Debug:        16 << 10,
	Panic:        16 << 10,
	Nested:       32 << 10,
	Kernel:       32 << 10,
}

const (
	guardSize = arch.PageSize
	// areaSize is the size of all stacks but the boot stack, a guard page below each, and room to
	// align them.
	areaSize = 8*16<<10 + 2*32<<10 + Count*guardSize + arch.PageSize
)

// area is the memory of all stacks but the boot stack. One per CPU.
var area [areaSize]byte

// Init lays the stacks out, paints them and hands them to the IST. The entry code has painted the
// boot stack.
func Init() {
	Add(0, uintptr(unsafe.Pointer(&area)))
	Show(0)
	for i := range Table[:Count] {
		s := &Table[i]
		if i != Boot {
			tracer.Paint(s.Lo, s.Hi)
		}
		s.Limit = provenLimit(i, s.Size())
	}
	SetTraps(0)
	Walker.TextLo, Walker.TextHi = image.TextLo, image.TextHi
	Walker.EntryLo, Walker.EntryHi = arch.EntryBounds()
}

// Measure updates a stack's high-water mark, if all of it can be read.
func Measure(s *tracer.Stack) {
	for p := s.Lo; p < s.Hi; p += arch.PageSize {
		if _, ok := tracer.ReadWord(p); !ok {
			return
		}
	}
	if used := tracer.HighWaterPages(s.Lo, s.Hi, arch.PageSize, dirty); used > s.Used {
		s.Used = used
	}
}

// dirty is mem.NextDirty once the kernel's stacks are watched.
func dirty(lo, hi uintptr) uintptr {
	if !watched {
		return lo
	}
	return mem.NextDirty(lo, hi)
}

var watched bool // set once at boot

// Watch makes the dirty bits of all stacks' pages tell whether they are still all paint.
func Watch() {
	for i := range Table[:Count] {
		s := &Table[i]
		for p := s.Lo; p < s.Hi; p += arch.PageSize {
			mem.SetDirty(p, tracer.HighWater(p, p+arch.PageSize) != 0)
		}
		watches[i].Begin(s.Lo, s.Hi)
	}
	watched = true
}

// Guard unmaps the page below every stack. It returns false if there is no RAM for the page tables
// that this needs. Early context.
func Guard() bool {
	for i := range Table[:Count] {
		if !mem.Unmap(Table[i].Lo - guardSize) {
			return false
		}
	}
	return true
}

// GuardOf returns the stack whose guard page holds addr, or nil.
func GuardOf(addr uintptr) *tracer.Stack {
	for i := range Table[:Count] {
		if s := &Table[i]; addr < s.Lo && addr >= s.Lo-guardSize {
			return s
		}
	}
	return nil
}

// named returns the row with that name, or nil.
func named(name []byte) *tracer.Stack {
	for i := range Table[:Count] {
		if ascii.Same(name, Table[i].Name) {
			return &Table[i]
		}
	}
	return nil
}

// limitOption begins the options of the limits: stack.limit=POLICY, stack.limit.NAME=BYTES, and
// stack.limit=NAME:BYTES, an older form of that.
const limitOption = "stack.limit"

// SetLimits reads every stack.limit option of the command line.
func SetLimits() {
	line := option.Line()
	for {
		word, rest, ok := option.NextWord(line)
		if !ok {
			return
		}
		line = rest
		if n := len(limitOption); len(word) > n && ascii.Same(word[:n], limitOption) &&
			!setLimit(word[n], word[n+1:]) {
			console.Bytes(word)
			console.String(" is ignored: want stack.limit=panic, report or off, or stack.limit.NAME=BYTES, with 1 to the stack's size and a NAME of")
			for i := range Table[:Count] {
				console.String(" ")
				console.String(Table[i].Name)
			}
			console.String("\n")
		}
	}
}

// setLimit reads what follows "stack.limit": the separator, "=" or ".", and the rest of the word.
// It returns false if it does not know that.
func setLimit(mark byte, value []byte) bool {
	parts := byte('=') // separates a name from its number
	if mark == '=' {
		for policy, word := range policies {
			if ascii.Same(value, word) {
				OverLimit = Policy(policy)
				return true
			}
		}
		parts = ':'
	} else if mark != '.' {
		return true // another option
	}
	n := 0
	for n < len(value) && value[n] != parts {
		n++
	}
	s := named(value[:n])
	if s == nil || n == len(value) {
		return false
	}
	bytes, ok := ascii.Uint(value[n+1:])
	if !ok || bytes == 0 || bytes > uint64(s.Size()) {
		return false
	}
	s.Limit = uintptr(bytes)
	return true
}

// warned has bit i set once a warning about stack i has been printed. Under the kernel lock.
var warned uint32

// WarnOnce warns, once, that stack i is more than three quarters full.
func WarnOnce(i int) {
	percpu.AssertLocked()
	s := &Table[i]
	if s.Level() != tracer.LevelWarning || warned&(1<<uint(i)) != 0 {
		return
	}
	warned |= 1 << uint(i)
	console.FreshLine()
	console.String("stack ")
	console.String(s.Name)
	console.Printf(": at least %d of %d", uint64(s.Used), uint64(s.Size()))
	console.String(" bytes used, warning: above 75 %\n")
}
