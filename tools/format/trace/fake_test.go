package trace

// What the tests share: a resolver with a small fixed image, and a writer of
// the three forms that owes nothing to package tracer's, so that a mistake in
// reading the format is not made twice.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

const testBuild = "3f9a0c5b7de1"

// fakeFunc is a function of the fake image.
type fakeFunc struct {
	lo, hi uint64
	name   string
	file   string
	inline []string // inlined calls at each of its addresses, innermost first
	delta  func(pc uint64) (uint64, bool)
}

// fakeImage resolves addresses of functions in the text 0x200000-0x210000.
type fakeImage struct {
	build string
	funcs []fakeFunc
}

func (m *fakeImage) BuildID() string { return m.build }

func (m *fakeImage) at(a uint64) *fakeFunc {
	for i := range m.funcs {
		if f := &m.funcs[i]; a >= f.lo && a < f.hi {
			return f
		}
	}
	return nil
}

func (m *fakeImage) Lookup(addr uint64, ret bool) []lookup.Call {
	pc := addr
	if ret {
		pc--
	}
	f := m.at(pc)
	if f == nil {
		return nil
	}
	var calls []lookup.Call
	for i, name := range f.inline {
		calls = append(calls, lookup.Call{Function: name, Offset: addr - f.lo, File: f.file, Line: 100 + i, Inlined: true})
	}
	// The line is the offset of the byte that was looked up: it shows whether
	// one was subtracted.
	return append(calls, lookup.Call{Function: f.name, Offset: addr - f.lo, File: f.file, Line: int(pc - f.lo)})
}

func (m *fakeImage) SPDelta(pc uint64) (uint64, bool) {
	if f := m.at(pc); f != nil && f.delta != nil {
		return f.delta(pc)
	}
	return 0, false
}

func (m *fakeImage) IsText(a uint64) bool { return a >= 0x200000 && a < 0x210000 }

func (m *fakeImage) Nearest(a uint64) string { return fmt.Sprintf(".data+%#x", a-0x300000) }

// testImage has main.f0 to main.f9 at 0x200000, 0x200100, ..., main.leaf, which
// never pushes RBP, main.work, which does so in its first 8 bytes and undoes it
// in its last 8, and a few with awkward names.
func testImage() *fakeImage {
	m := &fakeImage{build: testBuild}
	for i := range uint64(10) {
		m.funcs = append(m.funcs, fakeFunc{lo: 0x200000 + i*0x100, hi: 0x200100 + i*0x100,
			name: fmt.Sprintf("main.f%d", i), file: "/src/kernel/main.go"})
	}
	m.funcs = append(m.funcs,
		fakeFunc{lo: 0x201000, hi: 0x201100, name: "main.leaf", file: "/src/kernel/leaf.s",
			delta: func(uint64) (uint64, bool) { return 0, true }},
		fakeFunc{lo: 0x201100, hi: 0x201200, name: "main.work", file: "/src/kernel/main.go",
			delta: func(pc uint64) (uint64, bool) {
				switch o := pc - 0x201100; {
				case o < 1, o >= 0xff: // before PUSHQ BP, and at RET
					return 0, true
				case o < 8: // between PUSHQ BP and MOVQ SP, BP
					return 8, true
				}
				return 0x18, true
			}},
		fakeFunc{lo: 0x201200, hi: 0x201300, name: "main.outer", file: "/src/kernel/main.go",
			inline: []string{"main.inner", "main.middle"}},
		fakeFunc{lo: 0x201300, hi: 0x201400, name: "runtime.sigpanic", file: "/go/src/runtime/signal_unix.go"},
		fakeFunc{lo: 0x201400, hi: 0x201500, name: "main.evil\x1b]0;pwned\x07\n", file: "/src/\u009bx\xffy.go"},
		fakeFunc{lo: 0x201500, hi: 0x201600,
			name: "github.com/zeroframe/zeroframe/kernel/crashlab.readNil2", file: "/elsewhere/early.go"},
		fakeFunc{lo: 0x201600, hi: 0x201700, name: "runtime.systemstack", file: "/go/src/runtime/asm_amd64.s",
			delta: func(uint64) (uint64, bool) { return 8, true }},
		fakeFunc{lo: 0x201700, hi: 0x201800, name: "runtime.goexit", file: "/go/src/runtime/asm_amd64.s"},
		fakeFunc{lo: 0x201800, hi: 0x201900, name: "runtime.asyncPreempt", file: "/go/src/runtime/preempt_amd64.s"})
	return m
}

// sampleWords are at 0x3e8fc0 upwards.
var sampleWords = []uint64{0x200342, 0, 0x3e8ff0, 0xffffffffffffffff}

// sample is a trace with every kind of record. Each stack index is a row.
func sample() *wire.Trace {
	return &wire.Trace{
		Seq: 7, Kind: "fault", Context: "early", Thread: 3, BuildID: testBuild,
		Reason: "page fault: write of 0x8",
		Cause:  &wire.Cause{Vector: 14, ErrorCode: 2, PC: 0x200110, Address: 8, HasAddress: true},
		Registers: map[string]uint64{
			"rip": 0x200110, "rsp": 0x3e8fc0, "rbp": 0x3e8fe0, "rax": 0, "r15": 1<<64 - 1, "cr2": 8,
		},
		Frames: []wire.Frame{
			{Kind: tracer.PC, Address: 0x200110, SP: 0x3e8fc0, FP: 0x3e8fe0, Stack: "fault"},
			{Kind: tracer.RA, Address: 0x200210, FP: 0x3e8ff0, Stack: "fault"},
			{Kind: tracer.Trap, Address: 0x200310, Vector: 32, ErrorCode: 0, Stack: "fault"},
			{Kind: tracer.PC, Address: 0x200310, SP: 0x200, FP: 0x208, Stack: "boot"},
			{Kind: tracer.Inferred, Address: 0x200410, FP: 0x218, Stack: "boot"},
			{Kind: tracer.Scan, Address: 0x200510, FP: 0x228, Stack: ""},
			{Kind: tracer.RA, Address: 0x200600, FP: 0x238, Stack: "boot"},
		},
		End: "text", EndValue: 0x300010,
		Stacks: []wire.Stack{
			{Name: "boot", Lo: 0x3e5000, Hi: 0x3e9000, Size: 0x4000, Used: 2104, Limit: 14745, Level: "ok"},
			{Name: "fault", Lo: 0x3e0000, Hi: 0x3e1000, Size: 0x1000, Used: 0x1000, Limit: 0xf00, Level: "overflowed"},
		},
		Words: map[uint64]uint64{0x3e8fc0: 0x200342, 0x3e8fc8: 0, 0x3e8fd0: 0x3e8ff0, 0x3e8fd8: 0xffffffffffffffff},
	}
}

// sampleGo is a trace of a goroutine: a signal handler over a system call on the
// stack of g0, for which the goroutine has left its own, and which a fault in a
// leaf has led to.
func sampleGo() *wire.Trace {
	return &wire.Trace{
		Seq: 9, Kind: "trace", Context: "goroutine", Thread: 3, Goroutine: 1 << 40, BuildID: testBuild,
		Reason:    "asked for",
		Registers: map[string]uint64{"rip": 0x200110, "rsp": 0x3e0fc0},
		Frames: []wire.Frame{
			{Kind: tracer.PC, Address: 0x200110, SP: 0x3e0fc0, FP: 0x3e0fe0, Stack: "gsignal"},
			{Kind: tracer.Trap, Address: 0x200210, Vector: 258, ErrorCode: 23, Stack: "gsignal"},
			{Kind: tracer.PC, Address: 0x200210, SP: 0x3e8f00, FP: 0x3e8f80, Stack: "kernel"},
			{Kind: tracer.Trap, Address: 0x200310, Vector: 257, ErrorCode: 202, Stack: "kernel"},
			{Kind: tracer.PC, Address: 0x200310, SP: 0x3f0f00, FP: 0x3f0f80, Stack: "g0"},
			{Kind: tracer.RA, Address: 0x201640, FP: 0xc000007000, Stack: "g0"},
			{Kind: tracer.RA, Address: 0x201340, FP: 0xc000007100, Stack: "g"},
			{Kind: tracer.PC, Address: 0x200400, SP: 0xc000007110, FP: 0xc000007200, Stack: "g"},
			{Kind: tracer.RA, Address: 0x201840, FP: 0xc000007300, Stack: "g"},
			{Kind: tracer.PC, Address: 0x200500, SP: 0xc000007310, FP: 0xc000007fc0, Stack: "g"},
			{Kind: tracer.RA, Address: 0x201701, FP: 0, Stack: "g"},
		},
		End: "goexit",
		Stacks: []wire.Stack{
			{Name: "gsignal", Lo: 0x3e0000, Hi: 0x3e1000, Size: 0x1000, Used: 0x100, Limit: 0xf00, Level: "ok"},
			{Name: "kernel", Lo: 0x3e8000, Hi: 0x3e9000, Size: 0x1000, Used: 0x100, Limit: 0xf00, Level: "ok"},
			{Name: "g0", Lo: 0x3f0000, Hi: 0x3f1000, Size: 0x1000, Used: 0x100, Limit: 0xf00, Level: "ok"},
			{Name: "g", Lo: 0xc000000000, Hi: 0xc000008000, Size: 0x8000, Used: 0x100, Limit: 0x7000, Level: "ok"},
		},
	}
}

// textForm writes t as the target would, with CR LF.
func textForm(t *wire.Trace, markup bool) []byte {
	var lines []string
	add := func(format string, a ...any) { lines = append(lines, fmt.Sprintf(format, a...)) }
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	goroutine := ""
	if t.Goroutine != 0 {
		goroutine = fmt.Sprintf(" goroutine=%d", t.Goroutine)
	}
	add("zf1 begin %d %s %s thread=%d%s build=%s", t.Seq, t.Kind, t.Context, t.Thread, goroutine, dash(t.BuildID))
	if markup {
		add("{{{reset}}}")
		add("{{{module:0:kernel:elf:%s}}}", t.BuildID)
		add("{{{mmap:0x200000:0x10000:load:0:rx:0x200000}}}")
	}
	add("zf1 reason %s", t.Reason)
	if c := t.Cause; c != nil {
		s := fmt.Sprintf("zf1 cause vector=%d name=#PF error=%#x pc=%#x", c.Vector, c.ErrorCode, c.PC)
		if c.HasAddress {
			s += fmt.Sprintf(" addr=%#x", c.Address)
		}
		add("%s", s)
	}
	if len(t.Words) > 0 {
		s := "zf1 mem 0x3e8fc0:"
		for _, w := range sampleWords {
			s += fmt.Sprintf(" %x", w)
		}
		add("%s", s)
	}
	for i, f := range t.Frames {
		head := fmt.Sprintf("#%d %s %#x", i, f.Kind, f.Address)
		if markup && (f.Kind == tracer.PC || f.Kind == tracer.RA) {
			head = fmt.Sprintf("{{{bt:%d:%#x:%s}}}", i, f.Address, f.Kind)
		}
		switch f.Kind {
		case tracer.Trap:
			name := map[uint64]string{14: "#PF", 257: "SYSCALL", 258: "SIGNAL"}[f.Vector]
			if name == "" {
				name = "IRQ"
			}
			add("zf1 %s vector=%d name=%s error=%#x %s", head, f.Vector, name, f.ErrorCode, dash(f.Stack))
		case tracer.PC:
			add("zf1 %s sp %#x fp %#x %s", head, f.SP, f.FP, dash(f.Stack))
		default:
			add("zf1 %s fp %#x %s", head, f.FP, dash(f.Stack))
		}
	}
	switch t.End {
	case "":
	case "zero", "goexit":
		add("zf1 stop %s (complete)", t.End)
	default:
		add("zf1 stop %s %#x (truncated)", t.End, t.EndValue)
	}
	for i, name := range tracer.AMD64.Registers {
		if v, ok := t.Registers[name]; ok {
			add("zf1 reg %s=%#x extra%d=1", name, v, i)
		}
	}
	for _, s := range t.Stacks {
		add("zf1 stack %s %#x size=%d used>=%d free<=%d limit=%d %s",
			s.Name, s.Lo, s.Size, s.Used, s.Size-s.Used, s.Limit, s.Level)
	}
	crc := crc32.ChecksumIEEE([]byte(strings.Join(lines, "\n") + "\n"))
	add("zf1 done %d crc=%#x", len(lines), crc)
	return []byte(strings.Join(lines, "\r\n") + "\r\n")
}

// compactBytes writes t as the byte string of the compact form. Its values are all
// absolute: the other ways are for what tracer.Writer writes, and for TestValues.
func compactBytes(t *wire.Trace) []byte {
	var b []byte
	u := func(v uint64) { b = binary.AppendUvarint(b, v) }
	value := func(v uint64) { b = binary.BigEndian.AppendUint64(append(b, 0xe7), v) }
	str := func(s string) { u(uint64(len(s))); b = append(b, s...) }
	kinds := map[string]byte{"panic": 1, "fault": 2, "oom": 3, "nmi": 4, "trace": 5}
	contexts := map[string]byte{"early": 1, "kernel": 2, "goroutine": 3}
	ends := map[string]byte{"zero": 1, "misaligned": 2, "outside": 3, "backward": 4,
		"revisit": 5, "text": 6, "unreadable": 7, "limit": 8, "goexit": 9}
	stack := func(name string) byte {
		for i, s := range t.Stacks {
			if s.Name == name {
				return byte(i)
			}
		}
		return 0xff
	}
	b = append(b, 1)
	u(t.Seq)
	b = append(b, kinds[t.Kind]<<4|contexts[t.Context])
	u(t.Thread)
	b = append(b, byte(len(t.BuildID)/2))
	b = fmt.Appendf(b, "%s", unhex(t.BuildID))
	if t.Goroutine != 0 {
		b = append(b, 8)
		u(t.Goroutine)
	}
	b = append(b, 2)
	str(t.Reason)
	if c := t.Cause; c != nil {
		if c.HasAddress {
			b = append(b, 9)
		} else {
			b = append(b, 3)
		}
		u(c.Vector)
		u(c.ErrorCode)
		if c.HasAddress {
			value(c.Address)
		}
	}
	if len(t.Words) > 0 {
		b = append(b, 4)
		value(0x3e8fc0)
		u(uint64(len(sampleWords)))
		for _, w := range sampleWords {
			value(w)
		}
	}
	for _, f := range t.Frames {
		b = append(b, 0x10+byte(f.Kind))
		value(f.Address)
		if f.Kind == tracer.Trap {
			u(f.Vector)
			u(f.ErrorCode)
		} else {
			if f.Kind == tracer.PC {
				value(f.SP)
			}
			value(f.FP)
		}
		b = append(b, stack(f.Stack))
	}
	if t.End != "" {
		b = append(b, 5, ends[t.End])
		if t.End != "zero" && t.End != "goexit" {
			value(t.EndValue)
		}
	}
	set := uint64(0)
	for i, name := range tracer.AMD64.Registers {
		if _, ok := t.Registers[name]; ok {
			set |= 1 << i
		}
	}
	b = append(b, 6)
	u(set)
	for _, name := range tracer.AMD64.Registers {
		if v, ok := t.Registers[name]; ok {
			value(v)
		}
	}
	for i, s := range t.Stacks {
		b = append(b, 7, 0)
		str(s.Name)
		u(uint64(i))
		value(s.Lo)
		value(s.Size)
		u(s.Used)
		value(s.Limit)
	}
	return b
}

// compactForm writes t as lines of the compact form.
func compactForm(t *wire.Trace) []byte { return compactLines(compactBytes(t)) }

func compactLines(b []byte) []byte {
	all := binary.BigEndian.AppendUint32(bytes.Clone(b), crc32.ChecksumIEEE(b))
	var out bytes.Buffer
	for n := 0; len(all) > 0; n++ {
		k := min(len(all), 60)
		if rest := len(all) - k; rest > 0 && rest < 4 {
			k -= 4 // the CRC is in the last line, all of it
		}
		tag := "zf1:"
		if k == len(all) {
			tag = "zf1;"
		}
		out.WriteString(tag)
		out.WriteByte('!' + byte(n)) // of less than 85 lines
		for g := all[:k]; len(g) > 0; g = g[min(len(g), 4):] {
			var four [4]byte
			digits := copy(four[:], g) + 1
			v, group := binary.BigEndian.Uint32(four[:]), [5]byte{}
			for i := 4; i >= 0; i-- {
				group[i] = '!' + byte(v%85)
				v /= 85
			}
			out.Write(group[:digits])
		}
		out.WriteString("\r\n")
		all = all[k:]
	}
	return out.Bytes()
}

func unhex(s string) []byte {
	var b []byte
	fmt.Sscanf(s, "%x", &b)
	return b
}

// forms are the three forms of a trace.
var forms = []struct {
	name  string
	write func(*wire.Trace) []byte
}{
	{"text", func(t *wire.Trace) []byte { return textForm(t, false) }},
	{"markup", func(t *wire.Trace) []byte { return textForm(t, true) }},
	{"compact", compactForm},
}

// run is what a filter made of an input.
type run struct {
	out, json, log bytes.Buffer
	stats          Stats
	traces         []*wire.Trace
}

// filter sends the parts through a new filter, one Write each; nil has it flush.
func filter(t testing.TB, opt Options, parts ...[]byte) *run {
	t.Helper()
	r := &run{}
	opt.JSON, opt.Log = &r.json, &r.log
	opt.OnTrace = func(t *wire.Trace) { r.traces = append(r.traces, t) }
	if opt.Dir == "" {
		opt.Dir = "/src"
	}
	f, err := NewFilter(&r.out, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if p == nil {
			f.Flush()
		}
		if n, err := f.Write(p); n != len(p) || err != nil {
			t.Fatalf("Write(%d bytes) = %d, %v; want all, nil", len(p), n, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatalf("Close() = %v; want nil", err)
	}
	r.stats = f.Stats()
	return r
}
