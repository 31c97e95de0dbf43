package wire

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// written is a trace in one of its forms, as the target's own writer writes it.
func written(form tracer.Form) []byte {
	var b bytes.Buffer
	w := tracer.Writer{Form: form, Put: func(c byte) { b.WriteByte(c) }}
	w.Begin(1, tracer.KindFault, tracer.ContextEarly, 3, 0, []byte{0x3f, 0x9a, 0x0c}, 0x200000, 0x210000)
	w.Reason([]byte("page fault: write of 0x8"))
	w.Cause(14, 2, 0x200110, 8, true)
	w.Mem(0x3e8fc0, []uintptr{0x200342, 0, 0x3e8ff0, 1<<64 - 1})
	w.Frame(0, &tracer.Frame{Kind: tracer.PC, Addr: 0x200110, SP: 0x3e8fc0, FP: 0x3e8fe0, Stack: 1}, "fault")
	w.Frame(1, &tracer.Frame{Kind: tracer.RA, Addr: 0x200210, FP: 0x3e8ff0, Stack: 0}, "boot")
	w.Stop(tracer.EndText, 0x99)
	w.Registers(&[tracer.NumRegisters]uintptr{0: 0x200110, 1: 0x3e8fc0}, 3)
	w.Stack(&tracer.Stack{Name: "boot", Lo: 0x3e5000, Hi: 0x3e9000, Used: 2104, Limit: 14745})
	w.Stack(&tracer.Stack{Name: "fault", Lo: 0x3ea000, Hi: 0x3ee000, Used: 16384, Limit: 14745})
	w.Done()
	return b.Bytes()
}

// compactString is the byte string of the trace in the compact form.
func compactString(t testing.TB) (b []byte) {
	t.Helper()
	for line := range strings.Lines(string(written(tracer.Compact))) {
		s, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), tracer.CompactTag)
		if !ok {
			s, ok = strings.CutPrefix(strings.TrimRight(line, "\r\n"), tracer.CompactEnd)
		}
		_, p, good := piece(s)
		if !ok || !good {
			t.Fatalf("%q is no line of the compact form", line)
		}
		b = append(b, p...)
	}
	return b[:len(b)-4] // its CRC
}

// TestValues reads each way to code a value, by hand from go.
func TestValues(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want []uint64
	}{
		{"\x00", []uint64{0x57acfeed57acd00d}},
		{"\x01\x3f", []uint64{0, 0}},
		{"\xf0\xff", []uint64{0, 15}},
		{"\xe0\x80\xe8\x80\xe9\x80\x01", []uint64{0x80, 1<<64 - 0x80, 1<<64 - 0x7fff}},
		{"\xe7\x01\x02\x03\x04\x05\x06\x07\x08\x00", []uint64{0x0102030405060708, 0x0102030405060708}},
		{"\xe1\x10\x00\x40\x01\x41\xff\xc0\x01\x00\xc3\xff\xff", []uint64{0x1000, 0x1008, 0xff8, 0x17f8, 0xff8}},
		{"\x60\x10\x7f\xff\x70\x00", []uint64{0x200010, 0x1fffff, 0x1ff000}},
		{"\x80\x00\x10\xbf\xff\xff\x90\x00\x00\xa0\x00\x00", []uint64{0x200010, 0x1fffff, 0x300000, 0}},
	} {
		d := &decoder{r: reader{b: []byte(tt.in)}, addr: 0x200000}
		d.remember(uint64(tracer.Signature))
		for i, want := range tt.want {
			if got := d.value(); got != want || d.r.err != nil {
				t.Errorf("%x: value %d = %#x, %v; want %#x", tt.in, i, got, d.r.err, want)
			}
		}
		if len(d.r.b) != 0 {
			t.Errorf("%x: %x is left", tt.in, d.r.b)
		}
	}
}

// TestDecodeCut: a string that ends early yields what came before, the first
// words of the reason too, and names stacks by an earlier table.
func TestDecodeCut(t *testing.T) {
	b := compactString(t)
	rows := bytes.Index(b, []byte("\x05fault")) - 2 // of its row
	for _, tt := range []struct {
		known []Stack
		want  string
	}{{[]Stack{{Name: "boot"}, {Name: "fault"}}, "fault"}, {nil, "stack1"}} {
		d := decodeCompact(b[:rows], &table{rows: tt.known}, false)
		i := slices.IndexFunc(d.recs, func(r Record) bool { return r.Op == OpFrame })
		if d.err != nil || i < 0 || d.recs[i].Frame.Stack != tt.want {
			t.Errorf("known stacks %+v: %+v, %v; want frame 0 on %q", tt.known, d.recs, d.err, tt.want)
		}
	}
	reason := bytes.Index(b, []byte("page"))
	d := decodeCompact(b[:reason+10], &table{}, false)
	if len(d.recs) != 2 || d.recs[1].Text != "page fault" || d.err == nil {
		t.Errorf("cut in the reason: %+v, %v; want its first words and an error", d.recs, d.err)
	}
}

func TestNumber(t *testing.T) {
	tests := []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"0", 0, true}, {"42", 42, true}, {"0x2a", 42, true}, {"0xffffffffffffffff", 1<<64 - 1, true},
		{"", 0, false}, {"0x", 0, false}, {"-1", 0, false}, {"+1", 0, false}, {"1_0", 0, false},
		{"0x10000000000000000", 0, false}, {"2a", 0, false}, {"0b1", 0, false},
	}
	for _, tt := range tests {
		if got, ok := number(tt.in); ok != tt.ok || ok && got != tt.want {
			t.Errorf("number(%q) = %d, %v; want %d, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSent(t *testing.T) {
	const pc = "zf1 #0 pc 0x1 sp 0x2 fp 0x3 boot"
	for _, tt := range []struct {
		in   string
		want int
	}{
		{pc, len(pc)}, {pc + " main.f+0x1", len(pc)}, {pc + " main.f (inlined)", len(pc)}, {pc + " main.f", len(pc + " main.f")},
		{pc + " ? main.f[go.shape.struct { X int }]+0x1 (repaired)", len(pc)}, {pc + " 0x1 (.data+0x1)", len(pc)},
		{pc + " later=0x1", len(pc + " later=0x1")}, {"zf1 reason boot main.f+0x1", 26},
		{"zf1 {{{bt:1:0x2:ra}}} fp 0x3 - main.f+0x1", 30}, {"zf1 #2 trap 0x1 vector=1 name=#DB error=0x0 boot", 48},
	} {
		if got := sent([]byte(tt.in)); got != tt.want {
			t.Errorf("sent(%q) = %d; want %d", tt.in, got, tt.want)
		}
	}
}

// TestGoroutine: the number of a goroutine.
func TestGoroutine(t *testing.T) {
	// The number is part of what the begin record says, or makes no sense.
	for _, tt := range []struct {
		in   string
		want uint64
		ok   bool
	}{
		{"\x01\x07\x53\x03\x00\x08\x12", 18, true},
		{"\x01\x07\x53\x03\x00", 0, true},
		{"\x01\x07\x53\x03\x00\x08", 0, false},
		{"\x01\x07\x53\x03\x00\x02\x00\x08\x12", 0, false},
		{"\x08\x12", 0, false},
	} {
		d := decodeCompact([]byte(tt.in), &table{}, true)
		if (d.err == nil) != tt.ok || len(d.recs) > 0 && d.recs[0].Goroutine != tt.want {
			t.Errorf("decodeCompact(%q) = %+v, %v; want goroutine %d, no error %v", tt.in, d.recs, d.err, tt.want, tt.ok)
		}
	}
}
