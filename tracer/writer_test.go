package tracer

import (
	"encoding/ascii85"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

// sample writes a trace that uses every kind of line.
func sample(form Form) string {
	var out []byte
	w := Writer{Put: func(b byte) { out = append(out, b) }, Form: form}
	writeSample(&w)
	return string(out)
}

func writeSample(w *Writer) {
	w.Begin(7, KindFault, ContextEarly, 3, 0, []byte{0x01, 0xab}, 0x200000, 0x280000)
	w.Reason([]byte("nil\x1bpointer"))
	w.Cause(14, 2, 0x201000, 8, true)
	w.Mem(0x9000, []uintptr{0, 0x201234, ^uintptr(0), 3, 4})
	w.Frame(0, &Frame{Kind: PC, Addr: 0x201000, SP: 0x9000, FP: 0x9020, Stack: 0}, "boot")
	w.Frame(1, &Frame{Kind: RA, Addr: 0x200800, FP: 0x9050, Stack: 0}, "boot")
	w.Frame(2, &Frame{Kind: Trap, Addr: 0x202000, Vector: 33, Error: 1, Stack: 1}, "irq")
	w.Frame(3, &Frame{Kind: PC, Addr: 0x202000, SP: 0xa000, FP: 0x11, Stack: NoStack}, "")
	w.Stop(EndMisaligned, 0x11)
	w.Registers(&[NumRegisters]uintptr{1, 2, 3, 4, 5}, 1<<0|1<<2|1<<3|1<<4)
	w.Stack(&Stack{Name: "boot", Lo: 0x9000, Hi: 0x9100, Limit: 230, Used: 248})
	w.Stack(&Stack{Name: "irq", Lo: 0xa000, Hi: 0xa100, Limit: 230, Used: 200})
	w.Done()
}

const wantText = `zf1 begin 7 fault early thread=3 build=01ab
zf1 reason nil?pointer
zf1 cause vector=14 name=#PF error=0x2 pc=0x201000 addr=0x8
zf1 mem 0x9000: 0 201234 ffffffffffffffff
zf1 mem 0x9018: 3 4
zf1 #0 pc 0x201000 sp 0x9000 fp 0x9020 boot
zf1 #1 ra 0x200800 fp 0x9050 boot
zf1 #2 trap 0x202000 vector=33 name=IRQ error=0x1 irq
zf1 #3 pc 0x202000 sp 0xa000 fp 0x11 -
zf1 stop misaligned 0x11 (truncated)
zf1 reg rip=0x1 rbp=0x3 rflags=0x4
zf1 reg rax=0x5
zf1 stack boot 0x9000 size=256 used>=248 free<=8 limit=230 over-limit
zf1 stack irq 0xa000 size=256 used>=200 free<=56 limit=230 warning
`

const wantMarkup = `zf1 begin 7 fault early thread=3 build=01ab
{{{reset}}}
{{{module:0:kernel:elf:01ab}}}
{{{mmap:0x200000:0x80000:load:0:rx:0x200000}}}
zf1 reason nil?pointer
zf1 cause vector=14 name=#PF error=0x2 pc=0x201000 addr=0x8
zf1 mem 0x9000: 0 201234 ffffffffffffffff
zf1 mem 0x9018: 3 4
zf1 {{{bt:0:0x201000:pc}}} sp 0x9000 fp 0x9020 boot
zf1 {{{bt:1:0x200800:ra}}} fp 0x9050 boot
zf1 #2 trap 0x202000 vector=33 name=IRQ error=0x1 irq
zf1 {{{bt:3:0x202000:pc}}} sp 0xa000 fp 0x11 -
zf1 stop misaligned 0x11 (truncated)
zf1 reg rip=0x1 rbp=0x3 rflags=0x4
zf1 reg rax=0x5
zf1 stack boot 0x9000 size=256 used>=248 free<=8 limit=230 over-limit
zf1 stack irq 0xa000 size=256 used>=200 free<=56 limit=230 warning
`

func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		form Form
		want string
	}{{Text, wantText}, {Markup, wantMarkup}} {
		// The CRC covers the lines with LF alone; an independent implementation computes it.
		want := tt.want + fmt.Sprintf("zf1 done %d crc=%#x\n", strings.Count(tt.want, "\n"), crc32.ChecksumIEEE([]byte(tt.want)))
		if got := sample(tt.form); got != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Errorf("form %d: got\n%s\nwant\n%s", tt.form, got, want)
		}
	}
}

// unpack returns the byte string of a compact trace, without its CRC, from its lines.
func unpack(t *testing.T, lines []string) []byte {
	t.Helper()
	var packed []byte
	for i, l := range lines {
		tag := "zf1:"
		if i == len(lines)-1 {
			tag = "zf1;"
		}
		p, ok := strings.CutPrefix(l, tag+string(rune('!'+i)))
		if !ok {
			t.Fatalf("line %d is %q; want tag and number", i, l)
		}
		b := make([]byte, len(p)+4) // Decode needs room for a whole group
		n, used, err := ascii85.Decode(b, []byte(p), true)
		if err != nil || used != len(p) {
			t.Fatalf("line %d: %d of %d digits, %v", i, used, len(p), err)
		}
		if full := i != 0 && i < len(lines)-2; full && n != CompactLine || len(l) > 80 {
			t.Errorf("line %d holds %d bytes in %d columns; want %d in 80, or less behind frame 0 and at the end", i, n, len(l), CompactLine)
		}
		packed = append(packed, b[:n]...)
	}
	n := len(packed) - 4
	if got, want := binary.BigEndian.Uint32(packed[n:]), crc32.ChecksumIEEE(packed[:n]); got != want {
		t.Errorf("the CRC is %#x; want %#x", got, want)
	}
	return packed[:n]
}

// wantCompact is the sample, written by hand after wire.go.
const wantCompact = "\x01\x07\x21\x03\x02\x01\xab" + // seq 7, fault, early, thread 3, two bytes of build ID
	"\x02\x0bnil?pointer" +
	"\x09\x0e\x02\xf8" + // cause 14, 2, address 8
	"\x04\xe1\x90\x00\x05\xf0\xe2\x20\x12\x34\xe8\xff\xf3\xf4" + // five words at 0x9000
	"\x11\xe2\x20\x10\x00\x03\x43\x04\x00" + // pc; sp is value 3, fp 8*4 above it
	"\x85\x78\x00" + // ra, fp 8*6 higher, address 0x800 below the base
	"\x15\x80\x18\x00\x21\x01\x01" + // trap, 0x1800 above the base
	"\x11\x00\xe1\xa0\x00\xe0\x11\xff" + // pc, at the same address
	"\x05\x02\x00" + // misaligned, at that frame pointer
	"\x06\x1d\xf1\xf3\xf4\xf5" + // registers 0, 2, 3, 4
	"\x60\x03\x09\x4b\x20\xf8\x01\xe0\xe6" + // boot, where lo is value 9, size 8*32 above value 11, a 0, used 248, limit 230
	"\x63\x2b\x03\xc8\x01" // irq, where lo is value 3, as large, used 200, the same limit

func TestCompactWriter(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(sample(Compact), "\r\n"), "\r\n")
	if got := string(unpack(t, lines)); got != wantCompact {
		t.Errorf("the string is %x; want %x", got, wantCompact)
	}
}

// TestRepeatLine: the line of a repetition has its number and a check, nine bytes in all; comparing
// adds no bytes to the wire.
func TestRepeatLine(t *testing.T) {
	var out []byte
	w := Writer{Put: func(b byte) { out = append(out, b) }, Form: Compact}
	say := func() {
		w.Reason([]byte("again"))
		w.Frame(0, &Frame{Kind: RA, Addr: 0x201000, FP: 0x9020, Stack: 0}, "boot")
		w.Stop(EndZero, 0)
	}
	compare := func(seq uint32, kind TraceKind, pc uintptr) bool {
		return w.Compare(seq, kind, ContextEarly, 0, 0, pc)
	}
	if compare(1, KindTrace, 0) {
		t.Errorf("the first trace may be a repetition")
	}
	w.Begin(1, KindTrace, ContextEarly, 0, 0, nil, 0, 0)
	say()
	if compare(2, KindTrace, 0x201000) {
		t.Errorf("a trace that has no end may be repeated")
	}
	w.Done()
	first := len(out)
	sum := crc32.ChecksumIEEE(unpack(t, strings.Split(strings.TrimSuffix(string(out), "\r\n"), "\r\n")))
	for seq := uint32(2); seq < 17; seq++ {
		if !compare(seq, KindTrace, 0x201000) {
			t.Fatalf("trace %d may not be a repetition", seq)
		}
		say()
		if !w.Repeat() {
			t.Fatalf("trace %d is no repetition", seq)
		}
		check := crc32.ChecksumIEEE(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, sum), seq)) % (85 * 85)
		want := fmt.Sprintf("zf1=%c%c%c\r\n", '!'+seq, '!'+check/85, '!'+check%85)
		if got := string(out[first:]); got != want {
			t.Errorf("trace %d: %q; want %q", seq, got, want)
		}
		out = out[:first]
	}
	if compare(17, KindTrace, 0x201000) || compare(18, KindTrace, 0x201000) || compare(16, KindNMI, 0x201001) {
		t.Errorf("trace 17, a trace too far or one from elsewhere may be a repetition")
	}
	w.Begin(17, KindFault, ContextEarly, 0, 0, nil, 0, 0)
	say()
	w.Done()
	if compare(18, KindFault, 0x201000) {
		t.Errorf("a fault may be a repetition")
	}
	first = len(out)
	if !compare(18, KindTrace, 0x201000) {
		t.Errorf("trace 18 may be no repetition")
	}
	say()
	if w.Repeat() || len(out) != first {
		t.Errorf("a trace of another kind: %q; want nothing written", out[first:])
	}
}

// TestGoroutineWriter: the number is in the begin line, or after the begin record; the ends of a
// complete walk have no value.
func TestGoroutineWriter(t *testing.T) {
	for _, tt := range []struct {
		form Form
		end  End
		want string
	}{
		{Text, EndGoexit, "zf1 begin 1 trace goroutine thread=2 goroutine=18 build=-\r\nzf1 stop goexit (complete)\r\n"},
		{Text, EndZero, "zf1 begin 1 trace goroutine thread=2 goroutine=18 build=-\r\nzf1 stop zero (complete)\r\n"},
		{Compact, EndGoexit, "\x01\x01\x53\x02\x00\x08\x12\x05\x09"},
	} {
		var out []byte
		w := Writer{Put: func(b byte) { out = append(out, b) }, Form: tt.form}
		w.Begin(1, KindTrace, ContextGoroutine, 2, 18, nil, 0, 0)
		w.Stop(tt.end, 0)
		w.Done()
		got, _, _ := strings.Cut(string(out), "zf1 done")
		if tt.form == Compact {
			got = string(unpack(t, strings.Split(strings.TrimSuffix(got, "\r\n"), "\r\n")))
		}
		if got != tt.want {
			t.Errorf("form %d, %v: %q; want %q", tt.form, tt.end, got, tt.want)
		}
	}
}

func TestLast(t *testing.T) {
	for _, form := range []Form{Text, Markup, Compact} {
		var out []byte
		w := Writer{Put: func(b byte) { out = append(out, b) }, Form: form}
		w.Last(KindFault, 0x201000, []byte("page\nfault"))
		if got, want := string(out), "zf1 last fault 0x201000 page?fault\r\n"; got != want {
			t.Errorf("Last = %q; want %q", got, want)
		}
	}
}

func TestWriterAllocatesNothing(t *testing.T) {
	n := 0
	w := Writer{Put: func(b byte) { n++ }}
	for _, w.Form = range []Form{Text, Markup, Compact} {
		if got := testing.AllocsPerRun(10, func() { writeSample(&w) }); got > 4 {
			// The sample's own literals may be allocated; the writer adds none.
			t.Errorf("form %d: %v allocations; want at most those of the sample", w.Form, got)
		}
	}
}

func TestDigits(t *testing.T) {
	for _, v := range []uint64{0, 1, 9, 10, 15, 16, 12345, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
		var b [MaxDigits]byte
		if got, want := string(b[Digits(&b, v, 10):]), fmt.Sprint(v); got != want {
			t.Errorf("Digits(%d, 10) = %s; want %s", v, got, want)
		}
		if got, want := string(b[Digits(&b, v, 16):]), fmt.Sprintf("%x", v); got != want {
			t.Errorf("Digits(%d, 16) = %s; want %s", v, got, want)
		}
	}
}

func TestVectorName(t *testing.T) {
	for v, want := range map[uint32]string{0: "#DE", 2: "NMI", 3: "#BP", 8: "#DF", 13: "#GP", 14: "#PF", 18: "#MC", 32: "IRQ", 255: "IRQ",
		VectorCall: "CALL", VectorSyscall: "SYSCALL", VectorSignal: "SIGNAL"} {
		if got := VectorName(v); got != want {
			t.Errorf("VectorName(%d) = %s; want %s", v, got, want)
		}
	}
}

// TestCompactSize: the compact form of a trace of 32 different frames is much smaller than its
// text, both with the kernel's default contents: the first trace of a boot, a later one, and one
// with all registers.
func TestCompactSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const textLo, textHi, depth = 0x200000, 0x360000, 32
	stacks := []Stack{{Name: "boot", Lo: 0x46c000, Hi: 0x474000, Used: 1304, Limit: 29491}}
	for _, name := range []string{"pf", "exc", "irq", "df", "nmi", "mc", "debug", "panic", "nested", "kernel"} {
		s := Stack{Name: name, Lo: stacks[len(stacks)-1].Hi + 0x1000}
		if s.Hi, s.Limit = s.Lo+16<<10, 14745; len(stacks) > 7 {
			s.Hi, s.Limit = s.Lo+32<<10, 29491
		}
		stacks = append(stacks, s)
	}
	stacks[1].Lo += 0x53000 // the others are not next to it
	// A stack with frames of 3 to 16 words: the record, and the functions' values.
	sp := uintptr(0x473400)
	frames := []Frame{{Kind: PC, Addr: textLo + uintptr(rng.Uint64N(textHi-textLo)), SP: sp, FP: sp + 16}}
	words := map[uintptr]uintptr{}
	for range depth - 1 {
		f := &frames[len(frames)-1]
		next := Frame{Kind: RA, Addr: textLo + uintptr(rng.Uint64N(textHi-textLo)), FP: f.FP + 8*uintptr(3+rng.IntN(14))}
		words[f.FP], words[f.FP+8] = next.FP, next.Addr
		frames = append(frames, next)
	}
	for a := sp; a < sp+128; a += 8 {
		if _, ok := words[a]; !ok {
			words[a] = []uintptr{0, Signature, uintptr(rng.IntN(300)), sp + uintptr(rng.IntN(4096)), 0xc000000000 + 8*uintptr(rng.IntN(1<<16))}[rng.IntN(5)]
		}
	}
	dump := func(a uintptr, n int) (w []uintptr) {
		for range n {
			w, a = append(w, words[a]), a+8
		}
		return w
	}
	var regs [NumRegisters]uintptr
	for i := range regs {
		regs[i] = words[sp+uintptr(i%16)*8]
	}
	regs[0], regs[1], regs[2] = frames[0].Addr, frames[0].SP, frames[0].FP
	size := func(form Form, traces int, have uint64) (n int) {
		w := Writer{Put: func(byte) { n++ }, Form: form}
		for seq := 1; seq <= traces; seq++ {
			n = 0
			w.Begin(uint32(seq), KindPanic, ContextEarly, 0, 0, make([]byte, 20), textLo, textHi)
			w.Reason([]byte("deep"))
			w.Mem(sp, dump(sp, 3))
			for i := range frames {
				w.Frame(i, &frames[i], "boot")
			}
			w.Stop(EndZero, 0)
			w.Registers(&regs, have)
			for i := range stacks {
				w.Stack(&stacks[i])
			}
			more := 13
			if form != Compact {
				more = 61
			}
			for k := 0; k < more; k += 13 { // words beyond the frames count as zeros
				w.Mem(sp+24+uintptr(k)*8, dump(sp+24+uintptr(k)*8, 13))
			}
			w.Done()
		}
		return n
	}
	const few, all = 1<<0 | 1<<1 | 1<<2, 1<<20 - 1
	for _, tt := range []struct {
		name   string
		traces int
		have   uint64
		max    float64
	}{
		{"the first trace", 1, few, 0.125},
		{"a later one", 2, few, 0.10},
		{"the first, with all registers", 1, all, 0.125},
		{"a later one, with all registers", 2, all, 0.10},
	} {
		text, compact := size(Text, tt.traces, tt.have), size(Compact, tt.traces, tt.have)
		if ratio := float64(compact) / float64(text); ratio > tt.max {
			t.Errorf("%s: %d bytes against %d, %.3f; want %.2f at most", tt.name, compact, text, ratio, tt.max)
		} else {
			t.Logf("%s: %d bytes against %d, %.3f", tt.name, compact, text, ratio)
		}
	}
}
