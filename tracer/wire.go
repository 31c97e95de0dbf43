package tracer

// The trace format, version 1: what the target says to the host. This file is
// its one description; writer.go and compact.go produce it, the host's
// tools/trace reads it.
//
// # Lines
//
// A trace is a run of lines. Each begins with the tag "zf1 " (in the compact
// form "zf1c "), or, in the markup form, may be an element line that begins
// with "{{{". A trace starts on a fresh line. Lines end in CR LF. The writer
// never emits a control character but that; a reason's bytes below 0x20 and
// 0x7f are sent as '?'. Lines of others (a program's output) may stand between
// a trace's lines and are no part of it. Numbers are decimal, or hexadecimal
// behind 0x; words of a memory dump are bare hexadecimal. Fields are parted by
// one space; a reader ignores key=value fields that it does not know.
//
// # Text form (trace=text)
//
//	zf1 begin SEQ KIND CONTEXT thread=N [goroutine=N] build=HEX
//	zf1 reason TEXT
//	zf1 cause vector=N name=#PF error=0xE pc=0xPC [addr=0xA]
//	zf1 mem 0xADDR: W W W
//	zf1 #0 pc 0xADDR sp 0xSP fp 0xFP STACK
//	zf1 #1 ra 0xADDR fp 0xFP STACK
//	zf1 #2 trap 0xADDR vector=N name=#PF error=0xE STACK
//	zf1 #3 pc 0xADDR sp 0xSP fp 0xFP STACK
//	zf1 stop END [0xVALUE] (complete) | (truncated)
//	zf1 reg rip=0xV rsp=0xV rbp=0xV
//	zf1 stack NAME 0xLO size=N used>=N free<=N limit=N LEVEL
//	zf1 done LINES crc=0xCRC
//
// SEQ counts the traces since boot, from 1. KIND, CONTEXT, END and LEVEL are
// the String of [TraceKind], [Context], [End] and [Level]; the word behind #N
// is that of [Kind]. STACK is a stack's name, or "-" for none. thread is the
// number of the thread that ran, goroutine the runtime's number of the goroutine
// that it ran (from 1; without one the field is left out). build is the
// ELF's GNU build ID, or "-" when it has none. A fault has a cause line, a page
// fault's with addr. used>= is the high-water mark, a lower bound: at least so
// many bytes have been used; so free<= is an upper one.
//
// A mem line dumps up to three 8-byte words from ADDR upwards. A line with the
// words at SP comes just before frame 0 and before each later pc frame, so that
// the host can repair that frame (a leaf's caller, a prologue, an epilogue)
// before it prints the next one; the rest of the dump, 64 words in all (16 in
// the compact form), follows the stack table. The kernel's option trace.stack=BYTES
// asks for more or fewer, and then for so many of each other stack too that a pc
// frame is on, so that the host can unwind code without frame pointers. When SP is
// in a guard page the dump starts in the next page up. It ends at the end of the
// stack, or at a word that cannot be read.
//
// A pc is what the CPU says: for a breakpoint (vector 3) that is the instruction
// behind it, and likewise behind a SYSCALL (vector 257). A pc that follows an ra
// with no trap between them is that of an instruction in whose place a signal
// handler injected a call.
//
// A trap line stands for each place where the kernel took over or handed over by
// a record on the stack. Vectors below 256 are the CPU's. Of the others, 256
// (CALL) is a switch that code asked for by a call: an ra follows, and error is
// 0. 257 (SYSCALL) is a system call, whose number error is. 258 (SIGNAL) is the
// delivery of the signal with the number error, to code that no fault of its own
// brought there; the signal for a fault carries that fault's vector and error
// code. A pc follows each.
//
// A frame may be on another stack than the one before it without a trap line
// between: the runtime's own stack switches (systemstack, mcall) leave none.
//
// The ends "zero" and "goexit" are those of a complete walk: it has reached the
// function that the entry code started, or the runtime's first frame of a
// goroutine, which is the last frame. Neither has a value.
//
// The order is: what and where first, the walk, then the long tables. The
// first frame is sent before the walk begins.
//
// # CRC
//
// crc is CRC-32 (IEEE 802.3, reflected, polynomial 0xedb88320) over the
// trace's lines from begin up to and without done, each with its line feed and
// without its carriage return. LINES is the number of those lines. A trace
// without its done line was cut; one whose CRC or LINES differ is damaged. A
// begin inside an unfinished trace ends that one: the panic path itself died,
// and what follows is the next rung of its ladder.
//
// # Ladder
//
// When the panic path faults, a second trace follows with addresses only: no
// mem, reg or stack lines. When that one faults too, a single line is left,
// with neither a begin nor a done line:
//
//	zf1 last KIND 0xPC REASON
//
// # Markup form (trace=markup)
//
// LLVM symbolizer markup (https://llvm.org/docs/SymbolizerMarkupFormat.html),
// which llvm-symbolizer --filter-markup resolves. The lines are those of the
// text form, but that the begin line is followed by
//
//	{{{reset}}}
//	{{{module:0:kernel:elf:HEX}}}
//	{{{mmap:0xLO:0xSIZE:load:0:rx:0xLO}}}
//
// (these three are lines of the trace when the first follows a begin line),
// and the frames of kinds pc and ra are written as follows, unless their address
// is outside the mmap line's range (a call of nil: no symbolizer can help there)
//
//	zf1 {{{bt:0:0xADDR:pc}}} sp 0xSP fp 0xFP STACK
//	zf1 {{{bt:1:0xADDR:ra}}} fp 0xFP STACK
//
// # Compact form (trace=compact)
//
// For slow lines. A byte string, cut into pieces of up to 54 bytes, each sent
// in base64 (RFC 4648, standard alphabet, padded) behind its number, which
// counts from 0. A piece ends behind frame 0, so that what and where are out
// before the walk begins:
//
//	zf1c 0 BASE64
//	zf1c 1 BASE64
//	zf1c end LINES crc=0xCRC
//
// The CRC is over the byte string. A line that is missing or damaged cuts the
// string there. The string is a run of records: a tag byte, then fields. U is
// an unsigned LEB128 number, Z a zigzag-coded signed one, B a U length with so
// many bytes. Addresses of frames are sent as differences (Z) to the one
// before, from 0; frame pointers likewise; words of memory as U.
//
//	0x01 begin   U seq, byte kind, byte context, U thread, B build ID
//	0x02 reason  B text
//	0x03 cause   U vector, U error code, byte hasAddr, [U address] (the pc is frame 0's)
//	0x04 mem     U address, U count, count times U word
//	0x05 stop    byte end, U value
//	0x06 reg     byte number (index in [RegisterNames]), U value
//	0x07 stack   B name, Z lo (difference to the row before), U size, U used, U limit;
//	             size 0: the row is empty and only keeps its number
//	0x08 goroutine U number (directly behind begin; left out when there is none)
//	0x11 pc      Z address, Z sp (difference to the address fp), Z fp, byte stack (0xff: none)
//	0x12 ra      Z address, Z fp, byte stack
//	0x13, 0x14   as 0x12, for inferred and scan
//	0x15 trap    Z address, U vector, U error code, byte stack
//
// For pc, sp is sent as the difference to the frame pointer of this same
// record. A cause, an end or a stack name means the same as in the text form.
//
// # Ends of a run
//
// How the program ended is not part of the format: under QEMU it is the exit
// status (see the package qemu).

// Tags that begin the lines of a trace.
const (
	// Tag begins each line of the text and markup forms.
	Tag = "zf1 "
	// CompactTag begins each line of the compact form.
	CompactTag = "zf1c "
)

// CompactLine is the number of bytes that one line of the compact form holds.
const CompactLine = 54

// Record tags of the compact form. A frame's tag is recFrame + its Kind.
const (
	RecBegin  = 0x01
	RecReason = 0x02
	RecCause  = 0x03
	RecMem    = 0x04
	RecStop   = 0x05
	RecReg    = 0x06
	RecStack  = 0x07
	RecGo     = 0x08
	RecFrame  = 0x10
)

// RegisterNames are the registers of a trace, in the order of the compact
// form's numbers; text and JSON use the names.
var RegisterNames = [NumRegisters]string{
	"rip", "rsp", "rbp", "rflags", "rax", "rbx", "rcx", "rdx", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cr2", "cr3",
}

// NumRegisters is the number of registers that a trace can carry.
const NumRegisters = 20

// VectorName returns the mnemonic of an exception vector (Intel SDM Vol. 3,
// table 6-1), "IRQ" for the interrupts from 32 up, and "CALL", "SYSCALL" and
// "SIGNAL" for [VectorCall], [VectorSyscall] and [VectorSignal]. It is one word,
// as the text form needs it.
func VectorName(v uint32) string {
	if v < uint32(len(vectorNames)) {
		return vectorNames[v]
	}
	switch v {
	case VectorCall:
		return "CALL"
	case VectorSyscall:
		return "SYSCALL"
	case VectorSignal:
		return "SIGNAL"
	}
	return "IRQ"
}

// Vectors of trap frames that no trap of the CPU made.
const (
	// VectorCall: code asked for a trace or a panic by a call, and the entry
	// saved the registers in the same form. What it interrupted is a return
	// address.
	VectorCall = 256
	// VectorSyscall: the SYSCALL instruction. The error code is the number of
	// the system call, what it interrupted the exact pc behind the instruction.
	VectorSyscall = 257
	// VectorSignal: a signal was delivered that no fault caused. The error code
	// is the signal's number, what it interrupted an exact pc. The signal for a
	// fault has the vector and the error code of that fault.
	VectorSignal = 258
)

var vectorNames = [32]string{
	"#DE", "#DB", "NMI", "#BP", "#OF", "#BR", "#UD", "#NM",
	"#DF", "#09", "#TS", "#NP", "#SS", "#GP", "#PF", "#15",
	"#MF", "#AC", "#MC", "#XM", "#VE", "#CP", "#22", "#23",
	"#24", "#25", "#26", "#27", "#HV", "#VC", "#SX", "#31",
}
