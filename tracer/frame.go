package tracer

// The results of a walk. The walker fills these few types, the writer sends them and the host names
// them; their numeric values are part of the compact wire format and never change.

// Kind says how a frame's address was found, and so how it is looked up.
type Kind uint8

const (
	// PC is an exact address: the instruction that trapped or was about to
	// run. It is looked up as it is.
	PC Kind = iota + 1
	// RA is a return address found on the stack. The call is the instruction
	// before it, so it is looked up as address - 1.
	RA
	// Inferred is a caller proven by a call instruction, not found on the stack.
	Inferred
	// Scan is a word that looks like a return address; nothing proves it.
	Scan
	// Trap is no function but a boundary: before it (towards the innermost frame) comes the
	// handler, after it the interrupted PC.
	Trap
)

// String returns the kind's name on the wire.
func (k Kind) String() string { return nameOf(kindNames[:], uint8(k)) }

var kindNames = [...]string{PC: "pc", RA: "ra", Inferred: "inferred", Scan: "scan", Trap: "trap"}

// nameOf returns an entry of a table of names, or "?" outside it. Any context.
//
//go:noinline
func nameOf(names []string, i uint8) string {
	if int(i) < len(names) && names[i] != "" {
		return names[i]
	}
	return "?"
}

// End is the one reason for which a walk stopped.
type End uint8

const (
	// EndZero: frame pointer 0 and return address 0, as the entry stub left
	// them, or frame pointer 0 in the first function of a thread (RuleStart).
	// The walk is complete.
	EndZero End = iota + 1
	// EndMisaligned: the frame pointer is no multiple of 8 bytes.
	EndMisaligned
	// EndOutside: the frame pointer is outside the previous frame's stack, and no trap frame or
	// marked function accounts for the change.
	EndOutside
	// EndBackward: the frame pointer is not above the previous one.
	EndBackward
	// EndRevisit: a trap frame or a marked function leads into a stack that the walk has already
	// left.
	EndRevisit
	// EndText: the return address is not in the text.
	EndText
	// EndUnreadable: the memory of the frame cannot be read.
	EndUnreadable
	// EndLimit: the frame buffer is full.
	EndLimit
	// EndGoexit: frame pointer 0 in runtime.goexit, where the runtime starts a
	// goroutine (RuleExit). The walk is complete.
	EndGoexit

	// NumEnds is one more than the last reason.
	NumEnds
)

// Complete reports whether a walk with this end has reached the outermost frame. Any context.
func (e End) Complete() bool { return e == EndZero || e == EndGoexit }

// String returns the end reason's name on the wire.
func (e End) String() string { return nameOf(endNames[:], uint8(e)) }

var endNames = [...]string{
	EndZero: "zero", EndMisaligned: "misaligned", EndOutside: "outside", EndBackward: "backward",
	EndRevisit: "revisit", EndText: "text", EndUnreadable: "unreadable", EndLimit: "limit",
	EndGoexit: "goexit",
}

// Frame is one entry of a trace. Addresses are virtual.
type Frame struct {
	// Addr is the address in the function; for a Trap, the interrupted address.
	Addr uintptr
	// FP is the frame pointer with which the function ran.
	FP uintptr
	// SP is the stack pointer, known for a PC frame only.
	SP uintptr
	// Vector and Error are the trap's vector and error code (Trap only).
	Vector, Error uint32
	Kind          Kind
	// Stack is the index in the stack table of the frame's stack, or NoStack.
	Stack int8
	// Step and Repeat fold a run of frames, only for an RA: Repeat more frames follow, towards the
	// outermost, with the same address on the same stack, and each frame pointer is Step words
	// above the previous one.
	Step   uint16
	Repeat uint32
}

// Last returns the frame pointer of the outermost frame of the run that f stands for.
// Any context.
func (f *Frame) Last() uintptr { return f.FP + uintptr(f.Repeat)*uintptr(f.Step)*8 }

// NoStack is the Stack of a frame that is on no known stack.
const NoStack = -1

// MaxStacks is the largest number of stacks in a table.
const MaxStacks = 64

// Stack is a row of the table of stacks. The walker, the painter, the overflow check and the report
// all use this one table.
type Stack struct {
	// Name is short, lower-case and without spaces: "boot", "irq".
	Name string
	// Lo and Hi bound the stack: Lo <= address < Hi, both multiples of 8.
	Lo, Hi uintptr
	// Limit is the number of bytes of use above which the stack counts as
	// overflowing.
	Limit uintptr
	// Used is the high-water mark in bytes at the last measurement: at least that much has been
	// used.
	Used uintptr
}

// Size returns the stack's size in bytes.
func (s *Stack) Size() uintptr { return s.Hi - s.Lo }

// Contains reports whether the address a lies in the stack.
func (s *Stack) Contains(a uintptr) bool { return a-s.Lo < s.Hi-s.Lo }

// Level grades a stack's high-water mark.
type Level uint8

const (
	// LevelOK: at most 75 % of the stack has been used.
	LevelOK Level = iota
	// LevelWarning: more than 75 %.
	LevelWarning
	// LevelOverLimit: more than the stack's limit.
	LevelOverLimit
	// LevelOverflowed: the last word was written, so the stack was too small.
	LevelOverflowed
)

// String returns the level's name on the wire.
func (l Level) String() string { return nameOf(levelNames[:], uint8(l)) }

var levelNames = [...]string{
	LevelOK: "ok", LevelWarning: "warning",
	LevelOverLimit: "over-limit", LevelOverflowed: "overflowed",
}

// Level grades the stack's Used.
func (s *Stack) Level() Level {
	switch size := s.Size(); {
	case s.Used >= size:
		return LevelOverflowed
	case s.Limit != 0 && s.Used > s.Limit:
		return LevelOverLimit
	case s.Used*4 > size*3:
		return LevelWarning
	}
	return LevelOK
}

// TraceKind says why a trace was written.
type TraceKind uint8

const (
	// KindPanic: the program or the kernel gave up by itself.
	KindPanic TraceKind = iota + 1
	// KindFault: the CPU raised an exception.
	KindFault
	// KindOOM: memory ran out.
	KindOOM
	// KindNMI: a non-maskable interrupt asked what the kernel is doing. Not fatal.
	KindNMI
	// KindTrace: the trace was asked for. Not fatal.
	KindTrace
)

// String returns the trace kind's name on the wire.
func (k TraceKind) String() string { return nameOf(traceKindNames[:], uint8(k)) }

var traceKindNames = [...]string{
	KindPanic: "panic", KindFault: "fault", KindOOM: "oom", KindNMI: "nmi", KindTrace: "trace",
}

// Fatal reports whether a trace of this kind ends the kernel.
func (k TraceKind) Fatal() bool { return k == KindPanic || k == KindFault || k == KindOOM }

// Context says in which of the kernel's contexts the traced code ran.
type Context uint8

const (
	// ContextEarly: from the entry stub until the Go runtime starts.
	ContextEarly Context = iota + 1
	// ContextKernel: trap, system call, interrupt, panic.
	ContextKernel
	// ContextGoroutine: everything else.
	ContextGoroutine
)

// String returns the context's name on the wire.
func (c Context) String() string { return nameOf(contextNames[:], uint8(c)) }

var contextNames = [...]string{ContextEarly: "early", ContextKernel: "kernel",
	ContextGoroutine: "goroutine"}
