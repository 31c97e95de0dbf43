package core

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tracer"
)

// A made-up image: no code, and one distance for all of its text.
type fakeSymbols struct{}

func (fakeSymbols) Code() *code.Image             { return nil }
func (fakeSymbols) SPDelta(uint64) (uint64, bool) { return 0x28, true }
func (fakeSymbols) IsText(a uint64) bool          { return a >= 0x1000 && a < 0x2000 }

// parsed reads one trace.
func parsed(t *testing.T, lines string) *wire.Trace {
	t.Helper()
	var tr *wire.Trace
	f, err := trace.NewFilter(nil, trace.Options{OnTrace: func(got *wire.Trace) { tr = got }})
	if err != nil {
		t.Fatal(err)
	}
	f.Write([]byte(lines))
	f.Close()
	if tr == nil {
		t.Fatal("no trace")
	}
	return tr
}

const crossing = `zf1 begin 1 fault kernel thread=1 build=ab
zf1 reason page ` + "\u00e9" + `fault
zf1 cause vector=14 name=#PF error=0x2 pc=0x1100 addr=0x18
zf1 mem 0x9000: 1 2 3
zf1 #0 pc 0x1100 sp 0x9000 fp 0x9020 irq
zf1 #1 ra 0x1200 fp 0x9040 irq
zf1 #2 trap 0x1300 vector=32 name=IRQ error=0x0 irq
zf1 mem 0x9040: 5020 f170617274316 7a
zf1 mem 0x9070: 206
zf1 #3 pc 0x1300 sp 0x5000 fp 0x5020 g
zf1 #4 ra 0x1400 fp 0x6010 g0
zf1 stop text 0x5 (truncated)
zf1 reg rip=0x1100 rsp=0x9000 rbp=0x9020
zf1 reg rflags=0x46 rax=0x7 cr2=0x18
`

// write makes a core of the test's own ELF file and reads it back.
func write(t *testing.T, tr *wire.Trace) (*elf.File, Info, []byte) {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	info, err := Write(&b, tr, nil, own, fakeSymbols{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	return f, info, b.Bytes()
}

func TestWrite(t *testing.T) {
	lines := strings.Replace(crossing, "5020 f170617274316 7a", fmt.Sprintf("5020 %x", uint64(tracer.TrapMark)), 1)
	f, info, _ := write(t, parsed(t, lines))
	if f.Type != elf.ET_CORE || f.Machine != elf.EM_X86_64 {
		t.Errorf("type, machine = %v, %v", f.Type, f.Machine)
	}
	// Three words from 0x9000; the record that the walk has followed, 0x9020; the trap
	// record's two words and its flags.
	memory := map[uint64]uint64{
		0x9000: 1, 0x9008: 2, 0x9010: 3, 0x9020: 0x9040, 0x9028: 0x1200,
		0x9040: 0x5020, 0x9048: uint64(tracer.TrapMark), 0x9070: 0x206,
	}
	if info.Threads != 3 || info.Words != len(memory) || info.Call {
		t.Errorf("Write = %+v; want 3 threads, %d words", info, len(memory))
	}
	found := 0
	var notes []byte
	for _, p := range f.Progs {
		b := make([]byte, p.Filesz)
		if _, err := p.ReadAt(b, 0); err != nil {
			t.Fatal(err)
		}
		if p.Type == elf.PT_NOTE {
			notes = b
			continue
		}
		if p.Filesz != p.Memsz {
			t.Errorf("segment at %#x: %d bytes in the file, %d in memory; want no invented ones", p.Vaddr, p.Filesz, p.Memsz)
		}
		if bytes.HasPrefix(b, []byte(elf.ELFMAG)) {
			continue // the image's headers
		}
		for i := 0; i < len(b); i += 8 {
			a, got := p.Vaddr+uint64(i), binary.LittleEndian.Uint64(b[i:])
			if want, ok := memory[a]; !ok || got != want {
				t.Errorf("word at %#x = %#x; want %#x, %v", a, got, want, ok)
			}
			found++
		}
	}
	if found != len(memory) {
		t.Errorf("%d words; want %d", found, len(memory))
	}

	var threads []map[string]uint64
	var files, signal []byte
	for len(notes) > 0 {
		size, kind := binary.LittleEndian.Uint32(notes[4:]), elf.NType(binary.LittleEndian.Uint32(notes[8:]))
		desc := notes[20 : 20+size]
		notes = notes[20+(size+3)&^3:]
		switch kind {
		case elf.NT_PRSTATUS:
			if len(desc) != prstatusSize {
				t.Errorf("NT_PRSTATUS has %d bytes", len(desc))
			}
			regs := map[string]uint64{"id": uint64(desc[32])}
			for i, name := range userRegs {
				regs[name] = binary.LittleEndian.Uint64(desc[112+8*i:])
			}
			threads = append(threads, regs)
		case elf.NT_PRPSINFO:
			if len(desc) != prpsinfoSize || !strings.HasPrefix(string(desc[56:]), "page \u00e9fault\x00") {
				t.Errorf("NT_PRPSINFO = %q", desc)
			}
		case ntFile:
			files = desc
		case ntSiginfo:
			signal = desc
		}
	}
	want := []map[string]uint64{
		{"id": 1, "rip": 0x1100, "rsp": 0x9000, "rbp": 0x9020, "rflags": 0x46, "rax": 7},
		{"id": 2, "rip": 0x1300, "rsp": 0x5000, "rbp": 0x5020, "rflags": 0x206},
		{"id": 3, "rip": 0x1400, "rsp": 0x6010 + 8 - 0x28, "rbp": 0x6010}, // on another stack
	}
	if len(threads) != len(want) {
		t.Fatalf("%d threads; want %d", len(threads), len(want))
	}
	for i, got := range threads {
		for name, v := range got {
			if name != "orig_rax" && v != want[i][name] {
				t.Errorf("thread %d: %s = %#x; want %#x", i+1, name, v, want[i][name])
			}
		}
	}
	if len(signal) != siginfoSize || signal[0] != sigSEGV || binary.LittleEndian.Uint64(signal[16:]) != 0x18 {
		t.Errorf("NT_SIGINFO = %v; want SIGSEGV at 0x18", signal)
	}
	own, _ := os.Executable()
	if n := binary.LittleEndian.Uint64(files); n == 0 || strings.Count(string(files), own+"\x00") != int(n) {
		t.Errorf("NT_FILE = %q; want %s", files, own)
	}
}

// TestOtherCPUs: their threads and memory stand behind those of the trace, which counts more.
func TestOtherCPUs(t *testing.T) {
	tr := parsed(t, crossing)
	tr.HasCPU, tr.CPU = true, 2
	other := parsed(t, "zf1 begin 2 trace early thread=0 cpu=0 of=1 build=ab\nzf1 reason stopped\nzf1 mem 0x7000: 7 8\nzf1 mem 0x9000: 9\n"+
		"zf1 #0 pc 0x1500 sp 0x7000 fp 0x7020 boot\nzf1 stop text 0x5 (truncated)\nzf1 reg rip=0x1500 rsp=0x7000 rbp=0x7020\n")
	silent := parsed(t, "zf1 begin 3 trace early thread=0 cpu=1 of=1 build=ab\nzf1 reason the CPU did not answer\n")
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	info, err := Write(&b, tr, []*wire.Trace{other, silent}, own, fakeSymbols{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []CPU{{2, 1, 3}, {0, 4, 4}}; !slices.Equal(info.CPUs, want) || info.Threads != 4 {
		t.Errorf("%d threads, %v; want 4, %v", info.Threads, info.CPUs, want)
	}
	f, err := elf.NewFile(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	found := map[uint64]uint64{}
	for _, p := range f.Progs[1:] {
		word := make([]byte, 8)
		p.ReadAt(word, 0)
		found[p.Vaddr] = binary.LittleEndian.Uint64(word)
	}
	if found[0x7000] != 7 || found[0x9000] != 1 {
		t.Errorf("at 0x7000 and 0x9000: %#x, %#x; want 7, 1", found[0x7000], found[0x9000])
	}
}

// TestSignals: what a debugger says that the kernel died of.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		kind, cause string
		want        uint32
	}{
		{"panic", "", sigABRT},
		{"nmi", "", sigTRAP},
		{"fault", "vector=0 name=#DE error=0x0 pc=0x1100", sigFPE},
		{"fault", "vector=6 name=#UD error=0x0 pc=0x1100", sigILL},
		{"trace", "vector=3 name=#BP error=0x0 pc=0x1100", sigTRAP},
		{"fault", "vector=13 name=#GP error=0x0 pc=0x1100", sigSEGV},
		{"fault", "vector=17 name=#AC error=0x0 pc=0x1100", sigBUS},
	} {
		tr := &wire.Trace{Kind: tt.kind}
		if tt.cause != "" {
			r := wire.ParseLine("cause " + tt.cause)
			tr.Cause = &r.Cause
		}
		if got, _ := signalOf(tr); got != tt.want {
			t.Errorf("%s %s: signal %d; want %d", tt.kind, tt.cause, got, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	var b bytes.Buffer
	own, _ := os.Executable()
	if _, err := Write(&b, &wire.Trace{Reason: "nothing"}, nil, own, fakeSymbols{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("an empty trace: %v; want %v", err, ErrEmpty)
	}
	tr := &wire.Trace{Registers: map[string]uint64{"rip": 5}}
	none := filepath.Join(t.TempDir(), "none")
	if _, err := Write(&b, tr, nil, none, fakeSymbols{}); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("no ELF file: %v; want its name", err)
	}
	if b.Len() != 0 {
		t.Errorf("%d bytes are written", b.Len())
	}
}

// FuzzWrite: whatever a log holds, a core file can be made of it, or an error.
func FuzzWrite(f *testing.F) {
	own, err := os.Executable()
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(crossing))
	f.Add([]byte("zf1 mem 0xfffffffffffffff8: 1 2\nzf1 mem 0x3: 1 2\nzf1 mem 0x7: 1 2\nzf1 #0 ra 0x1001 fp 0x1 -\n"))
	f.Add([]byte("zf1 last panic 0x1000 gone\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		filter, err := trace.NewFilter(nil, trace.Options{OnTrace: func(tr *wire.Trace) {
			var b bytes.Buffer
			info, err := Write(&b, tr, nil, own, fakeSymbols{})
			if err != nil {
				if !errors.Is(err, ErrEmpty) {
					t.Error(err)
				}
				return
			}
			core, err := elf.NewFile(bytes.NewReader(b.Bytes()))
			if err != nil {
				t.Fatal(err)
			}
			words, last := 0, uint64(0)
			for _, p := range core.Progs[1:] {
				head := make([]byte, 4)
				p.ReadAt(head, 0)
				if string(head) == elf.ELFMAG && p == core.Progs[len(core.Progs)-1] {
					continue
				}
				if p.Vaddr < last {
					t.Errorf("segment at %#x overlaps or goes back", p.Vaddr)
				}
				last = p.Vaddr + p.Filesz
				words += int(p.Filesz / 8)
			}
			if words != info.Words {
				t.Errorf("%d words; want %d", words, info.Words)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		filter.Write(log)
		filter.Close()
	})
}
