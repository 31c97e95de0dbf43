package tracer

import (
	"encoding/binary"
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// The walk is tested on synthetic stacks: mapped memory in which each stack has an inaccessible
// page on both sides, so that a read outside a stack ends the test at once.

const (
	testTextLo = 0x200000
	testTextHi = 0x300000
	testPC     = 0x210000
)

// world is a few stacks and a walker over them. The direct walker reads memory with the assembly
// loop, the other through a Load function that accepts only words in the stacks.
type world struct {
	t       testing.TB
	stacks  []Stack
	memory  []byte
	noRead  map[uintptr]bool // addresses that Load refuses
	frames  [2][]Frame
	walkers [2]*Walker
}

func newWorld(t testing.TB, sizes ...int) *world {
	const page = 4096
	w := &world{t: t, noRead: map[uintptr]bool{}}
	slot := 0
	for _, n := range sizes {
		slot = max(slot, (n+page-1)/page*page)
	}
	m, err := syscall.Mmap(-1, 0, len(sizes)*(slot+page)+page, syscall.PROT_NONE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	w.memory = m
	for i, n := range sizes {
		off := page + i*(slot+page)
		if err := syscall.Mprotect(m[off:off+slot], syscall.PROT_READ|syscall.PROT_WRITE); err != nil {
			t.Fatal(err)
		}
		// The stack ends at the end of its pages: a read of the next word faults.
		hi := uintptr(unsafe.Pointer(&m[0])) + uintptr(off+slot)
		w.stacks = append(w.stacks, Stack{Name: fmt.Sprintf("s%d", i), Lo: hi - uintptr(n), Hi: hi})
	}
	for i := range w.walkers {
		w.frames[i] = make([]Frame, 64)
		w.walkers[i] = &Walker{Stacks: w.stacks, TextLo: testTextLo, TextHi: testTextHi, Frames: w.frames[i]}
	}
	w.walkers[1].Load = func(a uintptr) (uintptr, bool) {
		for i := range w.stacks {
			if s := &w.stacks[i]; a >= s.Lo && s.Hi-a >= 8 && a < s.Hi {
				return *(*uintptr)(pointer(a)), !w.noRead[a]
			}
		}
		t.Errorf("the walk read %#x, which is in no stack", a)
		return 0, false
	}
	return w
}

// at returns the address of word i of stack s.
func (w *world) at(s, i int) uintptr { return w.stacks[s].Lo + uintptr(i)*8 }

func (w *world) put(s, i int, words ...uintptr) {
	for j, v := range words {
		*(*uintptr)(pointer(w.at(s, i+j))) = v
	}
}

// trap puts a trap record at word i of stack s.
func (w *world) trap(s, i int, vector, code, pc, sp, fp uintptr) {
	w.put(s, i, fp, TrapMark, vector, code, pc, 8, 2, sp, 16)
}

// ends returns the kinds and addresses of the frames, and the end.
func ends(w *Walker) string {
	s := ""
	for _, f := range w.Frames[:w.N] {
		s += fmt.Sprintf("%v:%x ", f.Kind, f.Addr)
	}
	return s + w.End.String()
}

func TestWalk(t *testing.T) {
	const a, b, c = testTextLo + 0x10, testTextLo + 0x20, testTextHi - 1
	tests := []struct {
		name  string
		build func(w *world) (pc, sp, fp uintptr)
		want  string
		value func(w *world) uintptr // 0 if nil
	}{
		{"complete, entry with a record", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), a)
			w.put(0, 20, w.at(0, 60), b)
			w.put(0, 60, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 ra:200020 zero", nil},
		{"complete, entry pushed a zero and called", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 58), a)
			w.put(0, 58, 0, b)
			w.put(0, 60, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 ra:200020 zero", nil},
		{"complete, in the entry itself", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 60, 0)
			return testPC, w.at(0, 60), 0
		}, "pc:210000 zero", nil},
		{"zero frame pointer with a return address", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0, a)
			w.put(0, 12, b)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", nil},
		{"zero frame pointer at once", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, a)
			return testPC, w.at(0, 10), 0
		}, "pc:210000 outside", nil},
		{"two zeros far below the top", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), a)
			w.put(0, 20, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 text", nil},
		{"zero frame pointer below a zero, far below the top", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0, a)
			w.put(0, 12, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", nil},
		{"zero frame pointer at once, with a zero on top of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0)
			return testPC, w.at(0, 10), 0
		}, "pc:210000 outside", nil},
		{"two zeros one word too low", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 55, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 55)
		}, "pc:210000 text", nil},
		{"zero return address alone", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), 0)
			w.put(0, 20, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 text", nil},
		{"misaligned", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20)+4, a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 misaligned", func(w *world) uintptr { return w.at(0, 20) + 4 }},
		{"outside", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0xdead0000, a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", func(w *world) uintptr { return 0xdead0000 }},
		{"non-canonical", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 1<<63, a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", func(w *world) uintptr { return 1 << 63 }},
		{"last word of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 63), a)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", func(w *world) uintptr { return w.at(0, 63) }},
		{"last record of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 62, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 62)
		}, "pc:210000 zero", nil},
		{"first record of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 0, w.at(0, 60), a)
			w.put(0, 60, 0, 0)
			return testPC, w.at(0, 0), w.at(0, 0)
		}, "pc:210000 ra:200010 zero", nil},
		{"another stack without a trap", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(1, 20), a)
			w.put(1, 20, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 outside", func(w *world) uintptr { return w.at(1, 20) }},
		{"backward", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, w.at(0, 10), a)
			w.put(0, 10, w.at(0, 20), a)
			return testPC, w.at(0, 8), w.at(0, 20)
		}, "pc:210000 ra:200010 backward", func(w *world) uintptr { return w.at(0, 10) }},
		{"cycle of one", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, w.at(0, 20), a)
			return testPC, w.at(0, 8), w.at(0, 20)
		}, "pc:210000 ra:200010 backward", func(w *world) uintptr { return w.at(0, 20) }},
		{"overlapping record", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 20, w.at(0, 21), a)
			return testPC, w.at(0, 8), w.at(0, 20)
		}, "pc:210000 ra:200010 backward", func(w *world) uintptr { return w.at(0, 21) }},
		{"frame pointer below the stack pointer", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, 0, a)
			return testPC, w.at(0, 20), w.at(0, 10)
		}, "pc:210000 backward", func(w *world) uintptr { return w.at(0, 10) }},
		{"return address not in the text", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), testTextHi)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 text", func(w *world) uintptr { return testTextHi }},
		{"last byte of the text", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 60), c)
			w.put(0, 60, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:2fffff zero", nil},
		{"call of nil: the caller is on top of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 8, a)
			w.put(0, 58, 0, b)
			w.put(0, 60, 0)
			return 0, w.at(0, 8), w.at(0, 58)
		}, "pc:0 ra:200010 ra:200020 zero", nil},
		{"stack pointer below its stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 58, 0, a)
			w.put(0, 60, 0)
			return testPC, w.stacks[0].Lo - 16, w.at(0, 58)
		}, "pc:210000 ra:200010 zero", nil},
		{"nothing in any stack", func(w *world) (uintptr, uintptr, uintptr) {
			return testPC, 0x1000, 0x2000
		}, "pc:210000 outside", func(w *world) uintptr { return 0x2000 }},
		{"trap from another stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(1, 40), a)
			w.trap(1, 40, 14, 2, testPC+1, w.at(0, 8), w.at(0, 58))
			w.put(0, 58, 0, b)
			w.put(0, 60, 0)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, "pc:210000 ra:200010 trap:210001 pc:210001 ra:200020 zero", nil},
		{"trap on the stack that it interrupted", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), a)
			w.trap(0, 20, 32, 0, testPC+1, w.at(0, 29), w.at(0, 60))
			w.put(0, 60, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 trap:210001 pc:210001 zero", nil},
		{"trap that claims a place inside its own frame", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 10, w.at(0, 20), a)
			w.trap(0, 20, 32, 0, testPC+1, w.at(0, 12), w.at(0, 14))
			w.put(0, 14, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 ra:200010 trap:210001 pc:210001 backward", func(w *world) uintptr { return w.at(0, 14) }},
		{"switch by a call", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(1, 10, w.at(1, 40), a)
			w.trap(1, 40, VectorCall, 0, b, w.at(0, 8), w.at(0, 60))
			w.put(0, 60, 0, 0)
			return testPC, w.at(1, 8), w.at(1, 10)
		}, "pc:210000 ra:200010 trap:200020 ra:200020 zero", nil},
		{"three stacks", func(w *world) (uintptr, uintptr, uintptr) {
			w.trap(2, 40, 2, 0, testPC+1, w.at(1, 8), w.at(1, 40))
			w.trap(1, 40, 14, 0, testPC+2, w.at(0, 8), w.at(0, 60))
			w.put(0, 60, 0, 0)
			return testPC, w.at(2, 8), w.at(2, 40)
		}, "pc:210000 trap:210001 pc:210001 trap:210002 pc:210002 zero", nil},
		{"revisit", func(w *world) (uintptr, uintptr, uintptr) {
			w.trap(0, 10, 14, 0, testPC+1, w.at(1, 8), w.at(1, 40))
			w.trap(1, 40, 14, 0, testPC+2, w.at(0, 30), w.at(0, 40))
			w.put(0, 40, 0, 0)
			return testPC, w.at(0, 8), w.at(0, 10)
		}, "pc:210000 trap:210001 pc:210001 trap:210002 pc:210002 revisit", func(w *world) uintptr { return w.at(0, 30) }},
		{"trap record cut by the end of the stack", func(w *world) (uintptr, uintptr, uintptr) {
			w.put(0, 60, w.at(0, 62), TrapMark)
			return testPC, w.at(0, 8), w.at(0, 60)
		}, "pc:210000 outside", func(w *world) uintptr { return w.at(0, 60) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 512, 512, 512)
			pc, sp, fp := tt.build(w)
			for i, wk := range w.walkers {
				wk.Walk(pc, sp, fp)
				if got := ends(wk); got != tt.want {
					t.Errorf("walker %d: Walk = %s; want %s", i, got, tt.want)
				}
				want := uintptr(0)
				if tt.value != nil {
					want = tt.value(w)
				}
				if wk.EndValue != want {
					t.Errorf("walker %d: EndValue = %#x; want %#x", i, wk.EndValue, want)
				}
			}
		})
	}
}

// TestWalkUnreadable needs the Load function: on the host nothing recovers from a fault of the
// direct walk. (The crash lab's early.rbp-unmapped tests that.)
func TestWalkUnreadable(t *testing.T) {
	w := newWorld(t, 512)
	w.put(0, 10, w.at(0, 20), testTextLo)
	w.put(0, 20, 0, 0)
	for _, bad := range []int{20, 21} {
		w.noRead = map[uintptr]bool{w.at(0, bad): true}
		wk := w.walkers[1]
		wk.Walk(testPC, w.at(0, 8), w.at(0, 10))
		if got, want := ends(wk), "pc:210000 ra:200000 unreadable"; got != want || wk.EndValue != w.at(0, 20) {
			t.Errorf("word %d unreadable: Walk = %s at %#x; want %s at %#x", bad, got, wk.EndValue, want, w.at(0, 20))
		}
	}
	w.trap(0, 30, 14, 0, testPC, w.at(0, 40), 0)
	w.put(0, 10, w.at(0, 30), testTextLo)
	w.noRead = map[uintptr]bool{w.at(0, 37): true}
	wk := w.walkers[1]
	wk.Walk(testPC, w.at(0, 8), w.at(0, 10))
	if got, want := ends(wk), "pc:210000 ra:200000 unreadable"; got != want {
		t.Errorf("trap record unreadable: Walk = %s; want %s", got, want)
	}
}

func TestWalkLimit(t *testing.T) {
	w := newWorld(t, 512)
	for i := 0; i < 20; i += 2 {
		w.put(0, 40+i, w.at(0, 42+i), testTextLo+uintptr(i))
	}
	for n := 0; n <= 12; n++ {
		for i, wk := range w.walkers {
			wk.Frames = w.frames[i][:n]
			wk.Walk(testPC, w.at(0, 8), w.at(0, 40))
			want := EndLimit
			if n >= 11 {
				want = EndZero // the pc and ten records fit, and the record above them is the entry's
			}
			if wk.N != min(n, 11) || wk.End != want {
				t.Errorf("walker %d with room for %d: N, End = %d, %v; want %d, %v", i, n, wk.N, wk.End, min(n, 11), want)
			}
		}
	}
}

// TestSPDelta: if the pc tables give another return address than the frame pointer, the walk
// inserts the caller.
func TestSPDelta(t *testing.T) {
	w := newWorld(t, 512)
	w.put(0, 8, testTextLo+1)     // the leaf's return address, on top
	w.put(0, 58, 0, testTextLo+2) // its caller's record
	w.put(0, 60, 0)               // the entry's
	for i, wk := range w.walkers {
		for _, tt := range []struct {
			name  string
			delta uintptr
			ok    bool
			plain bool
			want  string
		}{
			{"leaf", 0, true, false, "pc:210000 ra:200001 ra:200002 zero"},
			{"frame set up", 51 * 8, true, false, "pc:210000 ra:200002 zero"},
			{"unknown", 0, false, false, "pc:210000 ra:200002 zero"},
			{"plain", 0, true, true, "pc:210000 ra:200002 zero"},
			{"beyond the stack", 1 << 20, true, false, "pc:210000 ra:200002 zero"},
			{"not aligned", 1, true, false, "pc:210000 ra:200002 zero"},
		} {
			wk.SPDelta = func(pc uintptr) (uintptr, bool) { return tt.delta, tt.ok }
			wk.Plain = tt.plain
			wk.Walk(testPC, w.at(0, 8), w.at(0, 58))
			if got := ends(wk); got != tt.want {
				t.Errorf("walker %d, %s: Walk = %s; want %s", i, tt.name, got, tt.want)
			}
		}
	}
}

func TestWalkAllocatesNothing(t *testing.T) {
	w := newWorld(t, 512)
	w.put(0, 10, w.at(0, 20), testTextLo)
	w.put(0, 20, 0, 0)
	if n := testing.AllocsPerRun(100, func() { w.walkers[0].Walk(testPC, w.at(0, 8), w.at(0, 10)) }); n != 0 {
		t.Errorf("Walk allocates %v times; want 0", n)
	}
}

func TestFixupIsForTheLoadsOnly(t *testing.T) {
	c, cf, r, rf := fixups()
	for _, tt := range []struct{ pc, want uintptr }{
		{c, cf}, {c + fixupSize - 1, cf}, {c - 1, 0},
		{r, rf}, {r + fixupSize - 1, rf}, {r - 1, 0},
		{cf, 0}, {rf, 0}, {0, 0},
	} {
		if got := Fixup(tt.pc); got != tt.want {
			t.Errorf("Fixup(%#x) = %#x; want %#x", tt.pc, got, tt.want)
		}
	}
}

// FuzzWalk fills three stacks with arbitrary words, many of which point into the stacks, the text
// and the marked functions, and walks. Reads outside the stacks fault (or are refused by Load); the
// two walkers must agree; the walk must end within its bounds, and be complete only where it may
// be.
func FuzzWalk(f *testing.F) {
	f.Add([]byte("\x01\x10\x02\x20\x03\x30"), uint16(3), uint16(5), uint16(7))
	f.Add([]byte{1, 12, 2, 1, 14, 2, 1, 16, 2, 0, 0, 0}, uint16(1<<8|8), uint16(1<<8|12), uint16(1))
	f.Add([]byte{1, 20, 4, 0, 5, 0, 1, 9, 2, 3}, uint16(2<<8|8), uint16(2<<8|12), uint16(0))
	// Runs of records whose return addresses are marked: each rule alone, and all together.
	for rule := byte(0); rule < 7; rule++ {
		f.Add([]byte{1, 12, 8, rule << 4, 2, 14, 8, rule<<4 | 4, 3, 16, 4, 1, 0, 0, 8, rule << 4}, uint16(1<<8|2), uint16(1<<8|4), uint16(4<<8))
	}
	f.Add([]byte{1, 8, 8, 0x12, 1, 16, 8, 0x34, 2, 10, 8, 0x44, 2, 20, 4, 9, 0, 0, 8, 1}, uint16(1<<8), uint16(1<<8), uint16(8<<8|0x10))
	f.Fuzz(func(t *testing.T, data []byte, sp, fp, pc uint16) {
		w := newWorld(t, 256, 256, 256)
		// value makes a word of a kind and a number.
		value := func(kind byte, n byte) uintptr {
			switch kind % 9 {
			case 0:
				return 0
			case 1, 2, 3:
				return w.at(int(kind%9)-1, int(n%40)) // also a little beyond
			case 4:
				return testTextLo + uintptr(n)
			case 5:
				return TrapMark
			case 6:
				return w.at(int(n)%3, int(n/3)%32) + uintptr(n%8)
			case 8:
				return inExit + uintptr(n&0x7f)
			}
			return uintptr(binary.LittleEndian.Uint64([]byte{n, n, n, n, n, n, n, n}))
		}
		for i := 0; i < 3*32 && len(data) > 0; i++ {
			k, n := data[(2*i)%len(data)], data[(2*i+1)%len(data)]
			w.put(i/32, i%32, value(k, n))
		}
		for _, wk := range w.walkers {
			wk.SPDelta = func(pc uintptr) (uintptr, bool) { return pc % 64 * 8, pc%3 != 0 }
			wk.Marks = testMarks
			wk.Saved = func(ra, slot uintptr) (uintptr, uintptr, uintptr, bool) {
				n := byte(ra) ^ byte(slot>>3)
				return value(4+4*(n&1), n), value(1+n%3, n>>2), value(1+n%4, n>>3), n%16 != 0
			}
			wk.Walk(value(byte(pc>>8), byte(pc)), value(byte(sp>>8), byte(sp)), value(byte(fp>>8), byte(fp)))
			if wk.N < 1 || wk.N > len(wk.Frames) || wk.End == 0 {
				t.Fatalf("N, End = %d, %v", wk.N, wk.End)
			}
			// The last frame of a complete walk is not a trap; and only goexit is an end of its
			// own.
			last := wk.Frames[wk.N-1]
			if wk.End.Complete() && last.Kind == Trap {
				t.Errorf("%v behind a trap", wk.End)
			}
			if exit := wk.rule(last.Kind, last.Addr) == RuleExit; wk.End == EndGoexit && (!exit || last.FP != 0) {
				t.Errorf("goexit at %+v", last)
			}
			// Each stack has its frames in one run, and the interrupted frame follows its trap.
			var been uint
			for i := 1; i < wk.N; i++ {
				f, before := wk.Frames[i], wk.Frames[i-1]
				if f.Stack != before.Stack && f.Stack != NoStack {
					if been&(1<<f.Stack) != 0 && !(i == wk.N-1 && wk.End == EndRevisit) {
						t.Errorf("%s: frame %d is on a stack that the walk had left", ends(wk), i)
					}
				}
				if before.Stack != NoStack && before.Stack != f.Stack {
					been |= 1 << before.Stack
				}
			}
		}
		a, b := w.walkers[0], w.walkers[1]
		if ends(a) != ends(b) || a.EndValue != b.EndValue {
			t.Errorf("direct walk: %s at %#x\nwalk by Load: %s at %#x", ends(a), a.EndValue, ends(b), b.EndValue)
		}
		for i := 0; i < a.N; i++ {
			if x, y := a.Frames[i], b.Frames[i]; x.FP != y.FP || x.Stack != y.Stack {
				t.Errorf("frame %d: %+v; by Load %+v", i, x, y)
			}
		}
	})
}
