package locks

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/flow"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// TestHeld asks what each function of testdata/holds holds where it calls here.
func TestHeld(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "holds")
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/holds").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := symbol.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	word := func(addr uint64) (uint64, bool) {
		b, ok := file.BytesAt(addr, 8)
		if !ok {
			return 0, false
		}
		return binary.LittleEndian.Uint64(b), true
	}
	for name, want := range map[string]string{
		"plain":           "main.a",
		"after":           "",
		"deferred":        "main.a",
		"deferredClosure": "main.a",
		"inBranch":        "main.a?",
		"inBoth":          "main.a",
		"early":           "main.a",
		"loop":            "main.b",
		"try":             "main.a?",
		"reads":           "main.rw/r",
		"writes":          "main.rw",
		"wrapped":         "main.b",
		"byPointer":       "main.c",
		"ofCaller":        "-main.a",
		"cases":           "main.a",
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			f := p.variant(file.Named("main." + name)[0].Start, nil)
			for i := range f.Insts {
				to, _ := f.Insts[i].Target()
				if f.Insts[i].Op != x86asm.CALL || p.Name(to) != "main.here" {
					continue
				}
				q, err := p.At(f.Insts[i].Next, true, View{Word: word})
				if err != nil {
					t.Fatal(err)
				}
				add := func(sign string, list []Held) {
					for _, h := range list {
						addr, ok := q.Address(h)
						v, off, _ := file.Variable(addr)
						if !ok || off != 0 {
							t.Fatalf("%+v is at %#x, %v", h, addr, ok)
						}
						if h.Mode == Read {
							v += "/r"
						}
						if !h.Must {
							v += "?"
						}
						got = append(got, sign+v)
					}
				}
				add("", q.Held)
				add("-", q.Freed)
			}
			slices.Sort(got)
			if got := strings.Join(slices.Compact(got), " "); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// bytesImage is a function of any bytes.
type bytesImage []byte

const testStart = 0x1000

func (b bytesImage) GoFunc(pc uint64) (lookup.GoFunc, bool) {
	return lookup.GoFunc{Name: "main.f", Entry: testStart, End: testStart + uint64(len(b)),
		SPDelta: func(uint64) (uint64, bool) { return 8, true }}, pc-testStart < uint64(len(b))
}

func (b bytesImage) Lookup(pc uint64, ret bool) []lookup.Call {
	return []lookup.Call{{Function: "internal/sync.(*Mutex).Lock"}}
}

func (b bytesImage) BytesAt(addr, n uint64) ([]byte, bool) {
	if addr-testStart >= uint64(len(b)) {
		return nil, false
	}
	return b[addr-testStart : min(uint64(len(b)), addr-testStart+n)], true
}

// FuzzCode goes through code of any bytes, and carries it out: it must end, in memory of the
// order of the code.
func FuzzCode(f *testing.F) {
	f.Add([]byte{0xf0, 0x0f, 0xb1, 0x11, 0x75, 0x02, 0xeb, 0xfe, 0xc3})                   // LOCK CMPXCHG, JNE, JMP self, RET
	f.Add([]byte{0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8d, 0x0c, 0xc8, 0xeb, 0xf4})       // loads, LEA, a loop
	f.Add([]byte{0xe8, 0, 0, 0, 0, 0x58, 0xff, 0xd0, 0x84, 0xc0, 0x74, 0xf5, 0xff, 0x20}) // calls, POP, JMP [AX]
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 || len(b) > 4096 {
			return
		}
		p := newProgram(bytesImage(b))
		word := func(addr uint64) (uint64, bool) { return addr, addr%3 != 0 }
		if fn := p.variant(testStart, nil); fn != nil {
			for pc := uint64(testStart); pc < testStart+uint64(len(b)); pc++ {
				if q, err := p.At(pc, pc%2 == 0, View{SP: 0x100, Word: word}); err == nil {
					for _, h := range append(q.Held, q.Freed...) {
						q.Address(h)
					}
					for _, o := range q.Later {
						q.Of(o)
					}
				}
			}
		}
		frame := Frame{PC: testStart, StackLow: 0x100, StackHigh: 0x1000}
		frame.Regs[flow.SP], frame.Known[flow.SP] = 0x800, true
		p.Spins(frame, func(addr uint64, b []byte) bool { clear(b); return addr < 1<<20 })
	})
}

// TestSpins carries out loops.
func TestSpins(t *testing.T) {
	for name, c := range map[string]struct {
		code  []byte
		spins bool
		reads string
	}{
		"load":   {[]byte{0x8b, 0x04, 0x25, 0x00, 0x20, 0, 0, 0x85, 0xc0, 0x74, 0xf5, 0xc3}, true, "[2000]"},             // MOVL [0x2000], AX; TEST; JE
		"left":   {[]byte{0x8b, 0x04, 0x25, 0x00, 0x20, 0, 0, 0x85, 0xc0, 0x75, 0xf5, 0xc3}, false, "[]"},                // JNE: it is left
		"counts": {[]byte{0x48, 0xff, 0xc3, 0x48, 0x85, 0xdb, 0x75, 0xf8, 0xc3}, false, "[]"},                            // INC BX; TEST; JNE
		"empty":  {[]byte{0xeb, 0xfe}, true, "[]"},                                                                       // JMP self
		"writes": {[]byte{0xc7, 0x04, 0x25, 0x00, 0x20, 0, 0, 1, 0, 0, 0, 0xeb, 0xf3}, false, "[]"},                      // MOVL $1, [0x2000]; JMP
		"swaps":  {[]byte{0xb8, 1, 0, 0, 0, 0xf0, 0x0f, 0xb1, 0x0c, 0x25, 0x00, 0x20, 0, 0, 0x75, 0xf0}, true, "[2000]"}, // CAS of 1 where there is 0
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(bytesImage(c.code))
			f := Frame{PC: testStart}
			for i := range f.Known {
				f.Known[i] = i == 1 || i == 3
			}
			f.Regs[3] = 5
			reads, spins := p.Spins(f, func(addr uint64, b []byte) bool { clear(b); return true })
			if got := fmt.Sprintf("%x", reads); spins != c.spins || got != c.reads {
				t.Errorf("%v, reads %s, want %v, %s", spins, got, c.spins, c.reads)
			}
		})
	}
}

// TestConstant: a word is in the read-only data with all of its bytes, or not at all.
func TestConstant(t *testing.T) {
	p := newProgram(bytesImage{})
	p.readOnly = []code.Segment{{Addr: 0x1000, Bytes: make([]byte, 100)}}
	for addr, want := range map[uint64]bool{0xfff: false, 0x1000: true, 0x105c: true, 0x105d: false, 1<<64 - 8: false, 1<<64 - 1: false} {
		if _, ok := p.Constant(addr); ok != want {
			t.Errorf("at %#x: %v; want %v", addr, ok, want)
		}
	}
}
