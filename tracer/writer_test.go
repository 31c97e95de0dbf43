package tracer

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
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
		// The CRC is over the lines with LF alone, by an independent implementation.
		want := tt.want + fmt.Sprintf("zf1 done %d crc=%#x\n", strings.Count(tt.want, "\n"), crc32.ChecksumIEEE([]byte(tt.want)))
		if got := sample(tt.form); got != strings.ReplaceAll(want, "\n", "\r\n") {
			t.Errorf("form %d: got\n%s\nwant\n%s", tt.form, got, want)
		}
	}
}

func TestCompactWriter(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(sample(Compact), "\r\n"), "\r\n")
	var packed []byte
	for i, l := range lines[:len(lines)-1] {
		p, ok := strings.CutPrefix(l, fmt.Sprintf("zf1c %d ", i))
		if !ok {
			t.Fatalf("line %d is %q; want tag and number", i, l)
		}
		b, err := base64.StdEncoding.DecodeString(p)
		if err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if full := i == 2; full && len(b) != CompactLine || len(b) > CompactLine {
			t.Errorf("line %d holds %d bytes; want %d, or less behind frame 0 and at the end", i, len(b), CompactLine)
		}
		packed = append(packed, b...)
	}
	want := fmt.Sprintf("zf1c end %d crc=%#x", len(lines)-1, crc32.ChecksumIEEE(packed))
	if got := lines[len(lines)-1]; got != want {
		t.Errorf("last line = %q; want %q", got, want)
	}
	// The beginning, by hand from wire.go: seq 7, fault, early, thread 3, two
	// bytes of build ID; reason of 11 bytes; cause 14, 2, with address 8; five
	// words at 0x9000.
	start := "\x01\x07\x02\x01\x03\x02\x01\xab" + "\x02\x0bnil?pointer" + "\x03\x0e\x02\x01\x08" + "\x04\x80\xa0\x02\x05\x00\xb4\xa4\x80\x01"
	if got := string(packed[:len(start)]); got != start {
		t.Errorf("the string begins %q; want %q", got, start)
	}
}

// TestGoroutineWriter: the number stands in the begin line, or behind the begin
// record; the ends of a complete walk have no value.
func TestGoroutineWriter(t *testing.T) {
	for _, tt := range []struct {
		form Form
		end  End
		want string
	}{
		{Text, EndGoexit, "zf1 begin 1 trace goroutine thread=2 goroutine=18 build=-\r\nzf1 stop goexit (complete)\r\n"},
		{Text, EndZero, "zf1 begin 1 trace goroutine thread=2 goroutine=18 build=-\r\nzf1 stop zero (complete)\r\n"},
		{Compact, EndGoexit, "zf1c 0 " + base64.StdEncoding.EncodeToString([]byte("\x01\x01\x05\x03\x02\x00\x08\x12\x05\x09\x00")) + "\r\n"},
	} {
		var out []byte
		w := Writer{Put: func(b byte) { out = append(out, b) }, Form: tt.form}
		w.Begin(1, KindTrace, ContextGoroutine, 2, 18, nil, 0, 0)
		w.Stop(tt.end, 0)
		w.Done()
		if got, _, _ := strings.Cut(string(out), "zf1 done"); !strings.HasPrefix(got, tt.want) {
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
