package tracer

// The trace format, version 1: what the target says to the host. This file is its only description;
// writer.go and compact.go produce it, the host's tools/format/wire reads it.
//
// # Lines
//
// A trace is a run of lines. Each begins with the tag "zf1 " (in the compact form "zf1:", "zf1;" or
// "zf1="), or, in the markup form, may be an element line that begins with "{{{". A trace starts on
// a fresh line. Lines end in CR LF. The writer emits no other control character; a reason's bytes
// below 0x20 and 0x7f are sent as '?'. Other lines (a program's output) may stand between a trace's
// lines and are no part of it. Numbers are decimal, or hexadecimal after 0x; words of a memory dump
// are bare hexadecimal. Fields are separated by one space; a reader ignores key=value fields that
// it does not know.
//
// # Text form (trace=text)
//
//	zf1 begin SEQ KIND CONTEXT thread=N [goroutine=N] [cpu=N] [of=SEQ] build=HEX
//	zf1 reason TEXT
//	zf1 cause vector=N name=#PF error=0xE pc=0xPC [addr=0xA]
//	zf1 mem 0xADDR: W W W
//	zf1 #0 pc 0xADDR sp 0xSP fp 0xFP STACK
//	zf1 #1 ra 0xADDR fp 0xFP STACK
//	zf1 #2 trap 0xADDR vector=N name=#PF error=0xE STACK
//	zf1 #3 pc 0xADDR sp 0xSP fp 0xFP STACK
//	zf1 repeat N fp 0xFP
//	zf1 ... N frames left out
//	zf1 stop END [0xVALUE] (complete) | (truncated)
//	zf1 reg rip=0xV rsp=0xV rbp=0xV
//	zf1 stack NAME 0xLO size=N used>=N free<=N limit=N LEVEL
//	zf1 event -US KIND [NAME] [KEY=VALUE ...] [thread=N]
//	zf1 branch from=0xADDR to=0xADDR [cycles=N] [missed=1]
//	zf1 done LINES crc=0xCRC
//
// SEQ counts the traces since boot, from 1. KIND, CONTEXT, END and LEVEL are the String of
// [TraceKind], [Context], [End] and [Level]; the word after #N is that of [Kind]. STACK is a
// stack's name, or "-" for none. thread is the number of the thread that ran, goroutine the
// runtime's number of the goroutine that it ran (from 1; without one the field is left out). cpu is
// the number of the CPU, from 0, on a machine with more than one. of is the number of another CPU's
// trace, which died first; this CPU was stopped for it, or had died, too, and its reason says
// which. A CPU that did not answer has no frames and no stop line. build is the ELF's GNU build ID,
// or "-" when it has none. A fault has a cause line, a page fault's with addr. used>= is the
// high-water mark, a lower bound: at least that many bytes have been used; so free<= is an upper
// bound.
//
// A mem line dumps up to three 8-byte words from ADDR upwards. A line with the words at SP comes
// just before frame 0 and before each later pc frame, so that the host can repair that frame (a
// leaf's caller, a prologue, an epilogue) before it prints the next one; the rest of the dump, 64
// words in all (16 in the compact form), follows the stack table. The kernel's option
// trace.stack=BYTES asks for more or fewer, and then for as many of each other stack that has a pc
// frame, so that the host can unwind code without frame pointers. When SP is in a guard page, the
// dump starts in the next page up. It ends at the end of the stack, or at a word that cannot be
// read.
//
// After the dump, more mem lines carry what the host needs to show the arguments of the innermost
// frames, unless the dump already has it: the words in which a frame keeps them, and, where a word
// and the next one may be a pointer and a length, the words with the first 32 bytes there. All
// these words come to BYTES at most, by the kernel's option args=BYTES. For a pc in whose place a
// signal handler injected a call, they include the registers: the words of the variable
// kernel/linux.faultRegisters, whose last two, the stack pointer and the pc, must be those of the
// frame. For a failed bounds check, they include what runtime.panicBounds saved in its frame. The
// lines do not say which word means what: a reader evaluates the locations in the image's DWARF.
// The contents of the image's read-only segments are not sent, because the ELF file has them.
//
// A pc is what the CPU reports: for a breakpoint (vector 3) and a SYSCALL (vector 257) that is the
// next instruction. A pc that follows an ra without a trap between them is that of an instruction
// in whose place a signal handler injected a call.
//
// After all that, event lines carry what the CPU did last before it died, the oldest first, as many
// as the kernel's option last=N says. US is the time before the death, in microseconds with three
// decimals; KIND and the keys are those of events.go, NAME is the name of a system call, thread the
// thread that ran. A reader that does not know event lines skips them. The compact form has mem
// records instead, at addresses from [EventMark] on, which no memory has; a reader that does not
// know them takes them for memory that nobody asks for.
//
// After the events, branch lines say which branches the CPU took last before a fault, the oldest
// first, if it records them: from is the instruction that branched, to its target, cycles the time
// since the previous branch, and missed=1 says that it was mispredicted. The latest branches may be
// those of the kernel's entry. The compact form has mem records at addresses from [BranchMark] on
// (branches.go).
//
// A trap line stands for each place where the kernel took over or handed over by a record on the
// stack. Vectors below 256 are the CPU's. 256 (CALL) is a switch that code asked for by a call: an
// ra follows, and error is 0. 257 (SYSCALL) is a system call, and error its number. 258 (SIGNAL) is
// the delivery of a signal that no fault caused, and error its number; the signal for a fault
// carries that fault's vector and error code. A pc follows all but CALL.
//
// A frame may be on another stack than the one before it without a trap line between: the runtime's
// own stack switches (systemstack, mcall) leave none.
//
// A stack of up to 96 frames is sent frame by frame. In a deeper stack, runs of the same frame are
// folded: a repeat line after an ra says that N more like it follow, outwards, with the same
// address on the same stack, at equal distances; FP is the frame pointer of the last of them. Of
// the remaining frames, a folded run counted as one, the 64 innermost and the 32 outermost are
// sent, and a line gives the number of the others, with commas between thousands. #N counts all
// frames, also those that are folded or left out. A reader that does not know the two lines skips
// them.
//
// The ends "zero" and "goexit" are those of a complete walk: it has reached the function that the
// entry code started, or the runtime's first frame of a goroutine, which is the last frame. Neither
// has a value.
//
// The order is: what and where, the walk, then the long tables. The first frame is sent before the
// walk begins.
//
// # CRC
//
// crc is CRC-32 (IEEE 802.3, reflected, polynomial 0xedb88320), in the text form over the trace's
// lines from begin up to and without done, each with its line feed and without its carriage return.
// LINES is the number of those lines. A trace without its done line was cut; one whose CRC or LINES
// differ is damaged. A begin inside an unfinished trace ends that trace: the panic path itself has
// faulted, and what follows is its next stage.
//
// # Nested panics
//
// When the panic path faults, a second trace follows with addresses only: no mem, reg or stack
// lines. When that one faults too, a single line is left, with neither a begin nor a done line:
//
//	zf1 last KIND 0xPC REASON
//
// When that faults as well, the serial port gets a last line for people, which is no part of this
// format: "zeroframe: the panic path itself has failed; giving up".
//
// # Of an earlier boot
//
// A crash leaves its trace in RAM, in the compact form, and the next boot of that RAM sends it.
// Before it comes the line
//
//	zf1 previous N
//
// in every form. It is no part of the trace. It says that the trace that begins next is of an
// earlier boot, and the N'th, from 1, of the crashes that this RAM has seen. The traces of other
// CPUs follow, each after such a line. A trace has the number and the build ID that it had in its
// boot, and the traces of this boot neither build on it nor repeat it.
//
// # Markup form (trace=markup)
//
// LLVM symbolizer markup (https://llvm.org/docs/SymbolizerMarkupFormat.html), which llvm-symbolizer
// --filter-markup resolves. The lines are those of the text form, except that the begin line is
// followed by
//
//	{{{reset}}}
//	{{{module:0:kernel:elf:HEX}}}
//	{{{mmap:0xLO:0xSIZE:load:0:rx:0xLO}}}
//
// (these three are lines of the trace when the first follows a begin line), and the frames of kinds
// pc and ra are written as follows, unless their address is outside the mmap line's range (a call
// of nil: no symbolizer can help there)
//
//	zf1 {{{bt:0:0xADDR:pc}}} sp 0xSP fp 0xFP STACK
//	zf1 {{{bt:1:0xADDR:ra}}} fp 0xFP STACK
//
// # Compact form (trace=compact)
//
// For slow lines. A trace is a byte string, a run of records (below), cut into pieces of up to 60
// bytes. A piece ends after frame 0, so that what and where are out before the walk begins. Each
// piece is a line of a tag, its number and its bytes, without blanks. The last line has another
// tag, and after the bytes of the string the CRC of all of them, four bytes, highest first:
//
//	zf1:NBYTES
//	zf1;NBYTES
//
// The number N is one digit, the bytes are groups of five digits, in Ascii85: a digit d is the
// character 33+d ("!" to "u"), so none is a blank or a control character. Each group stands for
// four bytes, as a number of base 85 with the highest digit first; at the end of a line, 1 to 3
// bytes are the first 2 to 4 digits of the group that zeros would fill up (to read it, fill up with
// "u"). N is 0 in the first line alone; from 1 it counts to 84 and begins with 1 again. A line that
// is missing or damaged cuts the string there.
//
// ## Later traces
//
// A trace whose number SEQ leaves the remainder 1 when divided by 16, such as the first one of a
// boot, says everything. Others may build on what was sent before: they have only the first bytes
// of the build ID, and only the changes of the table of stacks. The trace after an unfinished one
// says everything, too.
//
// A trace that equals the previous one is one line of nine bytes, its line ending included:
//
//	zf1=NCC
//
// N is SEQ modulo 85. CC is a check, a number of two digits, highest first: a CRC-32, as below, of
// the CRC of the trace that is repeated and of SEQ, four bytes each, highest first, modulo 7225. So
// a reader recognizes a repetition whose original did not arrive. The repeated trace is the last
// one that was not sent as a repetition. Both have the same kind, context, thread, goroutine,
// reason, cause, frames with all their fields, end and value, and at each pc frame the same return
// addresses among the words at SP (the words that lie in the text). Other words, the high-water
// marks and the registers except those of frame 0 may have changed, and are not known. Only a trace
// after which the kernel goes on (kinds nmi and trace) is repeated this way.
//
// ## Values
//
// U is an unsigned LEB128 number, B a U length with as many bytes. V is an address or a word: 64
// bits, coded relative to what was sent earlier in this trace. The 64 latest values are numbered
// from 0, the latest; at the begin, number 0 is [Signature], the others are 0. The base is the
// address of the latest frame, or 0. Differences are signed, and numbers of several bytes or of
// bits in two bytes have the highest first.
//
//	00nnnnnn                 value n
//	010nnnnn D8              value n plus 8 times a difference
//	011ddddd d8              the base plus a difference of 13 bits
//	10dddddd d8 d8           the base plus a difference of 22 bits
//	110nnnnn D16             value n plus 8 times a difference
//	1110snnn byte ...        n+1 bytes; s: the topmost bit is a sign
//	1111nnnn                 n
//
// A value coded in the first or the last way is no new value. Nor is one that belongs to frame 16
// or a later one: the words that follow repeat the frames at the stack pointer.
//
// ## Records
//
// A tag byte, then fields:
//
//	0x01 begin   U seq, byte kind<<4|context, U thread, byte length, so many bytes
//	             of the build ID; 0x80 in the length: there are more of them
//	0x02 reason  B text
//	0x03 cause   U vector, U error code (the pc is frame 0's)
//	0x09 cause   U vector, U error code, V address
//	0x04 mem     V address, U count, count times V word
//	0x05 stop    byte end, V value (not for zero and goexit)
//	0x06 reg     U set of registers (bit n: register n of [Arch]), V value of each
//	0x07 stack   byte flags, B name, fields (a row of the table; see below)
//	0x08 goroutine U number (directly behind begin; left out when there is none)
//	0x0d cpu     U number, U of; 0: none (behind begin and goroutine; left out with one CPU)
//	0x0a again   U n: the frame before, an 0x80 one, n times more, each with the same
//	             address and the same distance
//	0x04 mem     V n, U 0 (no words): n odd: the frame before, an ra, (n-1)/2 times more,
//	             each with the same address, on the same stack, and as far above the one
//	             before as that above its own; n even: n/2 frames are left out here. What
//	             follows is coded as if this were not here
//	0x0b table   U n: what follows are changes to the table of the trace SEQ-n
//	0x0c used    U row, U used (all else in that row is as before)
//	0x11 pc      V address, V sp, V fp, byte stack (its row; 0xff: none)
//	0x12 ra      V address, V fp, byte stack
//	0x13, 0x14   as 0x12, for inferred and scan
//	0x15 trap    V address, U vector, U error code, byte stack
//	0x40+n       [U number], fields: a row with all flags set, of the name n, up to 31
//	0x60+n       byte flags, [U number], fields: a row of the name n
//	0x80+n       ra on the stack of the frame before, fp 8*(n+1) above the one before:
//	             V address
//
// The fields of a row, each left out if its flag is set:
//
//	0x01  U row number; set: that of the row before in this trace plus 1, from 0
//	0x02  nothing; set, but for 0x07: the name is name n of [StackNames], and if that
//	      ends in a dot a number from 1 follows it, which stands before the fields
//	0x04  V lo; set: the end of the row before in this trace plus 4096
//	0x08  V size; set: that of the row before in this trace
//	0x10  U used; set: 0
//	0x20  V limit; set: that of the row before in this trace
//
// A missing row is empty, as is one with the size 0. Without an 0x0b record, the rows sent are all.
// A cause, an end or a stack name means the same as in the text form.
//
// # Codes on a screen
//
// The byte string of the compact form, without its lines, is shown as QR codes (ISO/IEC 18004;
// package qr); the trace says everything. The string is cut into parts of the same length, of which
// the last may be shorter. A code has a head and a part:
//
//	byte 'Z', byte parts, byte number of the part from 0, CRC, bytes of the string
//
// The CRC, four bytes, highest first, is that of the whole string, as in the last line. It says
// which parts belong together, and whether they make up the trace. The code holds digits (numeric
// mode): every 7 bytes, the highest first, are a number of 17 digits, and 1 to 6 bytes at the end
// one of 3, 5, 8, 10, 13 or 15.
//
// # Ends of a run
//
// How the program ended is not part of the format: under QEMU it is the exit status (see the
// package qemu).

// DiedToo begins the reason in the trace of a CPU that had died, too, when the CPU that died first
// stopped it.
const DiedToo = "died at the same time: "

// RuntimeEnded begins the reason of a program's death whose message the kernel has not seen whole.
// The program's status follows.
const RuntimeEnded = "the Go runtime has ended the program with status "

// AllGoroutines begins the line of text that ends a list of all goroutines, each with a trace of
// the kind "trace". It is followed by the number of the program's goroutines, [OfThemRun], and the
// number of those that run.
const (
	AllGoroutines = "goroutines: "
	OfThemRun     = " in all, of which run "
)

// Tags that begin the lines of a trace.
const (
	// Tag begins each line of the text and markup forms.
	Tag = "zf1 "
	// CompactTag begins each line of the compact form but the last.
	CompactTag = "zf1:"
	// CompactEnd begins the last line of the compact form.
	CompactEnd = "zf1;"
	// RepeatTag begins the line that stands for a trace that equals the previous one.
	RepeatTag = "zf1="
)

// CompactLine is the number of bytes that one line of the compact form holds.
const CompactLine = 60

// WholeEvery is how often a trace says everything in the compact form: one in so many.
const WholeEvery = 16

// Record tags of the compact form. A frame's tag is RecFrame + its Kind.
const (
	RecBegin     = 0x01
	RecReason    = 0x02
	RecCause     = 0x03
	RecMem       = 0x04
	RecStop      = 0x05
	RecReg       = 0x06
	RecStack     = 0x07
	RecGo        = 0x08
	RecCauseAddr = 0x09
	RecAgain     = 0x0a
	RecTable     = 0x0b
	RecUsed      = 0x0c
	RecCPU       = 0x0d
	RecFrame     = 0x10
	RecRow       = 0x40
	RecRowFlags  = 0x60
	RecNext      = 0x80
)

// Flags of a row.
const (
	RowNext = 1 << iota
	RowName
	RowBehind
	RowSize
	RowUnused
	RowLimit
	RowAll = 1<<iota - 1
)

// RowGap is the distance of a row from the end of the previous one, in bytes: a guard page.
const RowGap = 4096

// Limits of the coding of values in the compact form.
const (
	// RecentValues is the number of latest values that are known.
	RecentValues = 64
	// RecentFrames is the number of the first frame whose values are not among them.
	RecentFrames = 16
)

// StackNames are the usual names of stacks, in the order of the compact form's numbers. A number
// follows those that end in a dot.
var StackNames = [...]string{
	"boot", "pf", "exc", "irq", "df", "nmi", "mc", "debug", "panic", "nested", "kernel", "g", "g0",
	"gsignal", "g0.", "sig.",
}

// VectorName returns the mnemonic of an exception vector (Intel SDM Vol. 3, table 6-1), "IRQ" for
// the interrupts from 32 up, and "CALL", "SYSCALL" and "SIGNAL" for [VectorCall], [VectorSyscall]
// and [VectorSignal]. It is one word, because the text form needs one.
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
	// VectorCall: code asked for a trace or a panic by a call, and the entry saved the registers in
	// the same form. The interrupted address is a return address.
	VectorCall = 256
	// VectorSyscall: the SYSCALL instruction. The error code is the number of the system call, the
	// interrupted address the exact pc of the next instruction.
	VectorSyscall = 257
	// VectorSignal: a signal that no fault caused was delivered. The error code is the signal's
	// number, the interrupted address an exact pc. The signal for a fault has the vector and the
	// error code of that fault.
	VectorSignal = 258
)

var vectorNames = [32]string{
	"#DE", "#DB", "NMI", "#BP", "#OF", "#BR", "#UD", "#NM",
	"#DF", "#09", "#TS", "#NP", "#SS", "#GP", "#PF", "#15",
	"#MF", "#AC", "#MC", "#XM", "#VE", "#CP", "#22", "#23",
	"#24", "#25", "#26", "#27", "#HV", "#VC", "#SX", "#31",
}
