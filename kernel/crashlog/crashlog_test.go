package crashlog

import (
	"bytes"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// ram gives the package other memory for its records, between pages that fault.
func ram(t testing.TB) []byte {
	t.Helper()
	const page = 4096
	m, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, areaSize+2*page, syscall.PROT_NONE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE, ^uintptr(0), 0)
	if errno != 0 {
		t.Fatalf("mmap: %v", errno)
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_MPROTECT, m+page, areaSize, syscall.PROT_READ|syscall.PROT_WRITE); errno != 0 {
		t.Fatalf("mprotect: %v", errno)
	}
	old := base
	base = m + page
	t.Cleanup(func() {
		base = old
		syscall.Syscall(syscall.SYS_MUNMAP, m, areaSize+2*page, 0)
	})
	reboot()
	return unsafe.Slice((*byte)(arch.Pointer(base)), areaSize)
}

// reboot resets the state that does not survive a boot.
func reboot() { generation, found, looked = 0, 0, false }

func die(parts ...string) {
	Start()
	for i, s := range parts {
		Next(Part(i))
		for _, b := range []byte(s) {
			Byte(b)
		}
	}
	Finish()
}

func want(t *testing.T, state State, generation uint32, parts ...string) {
	t.Helper()
	if got := Find(); got != state || Generation() != generation {
		t.Errorf("Find = %v, generation %d; want %v, %d", got, Generation(), state, generation)
	}
	for i, s := range parts {
		if got := string(Bytes(Part(i))); got != s {
			t.Errorf("part %d = %q; want %q", i, got, s)
		}
	}
}

func TestRecord(t *testing.T) {
	mem := ram(t)
	want(t, None, 0, "", "", "")
	die("why", "where\r\n", "what was said")
	reboot()
	want(t, Whole, 1, "why", "where\r\n", "what was said")
	// A record is reported once, whatever comes next; its parts stay for this boot.
	SetReported()
	if got := string(Bytes(Trace)); got != "where\r\n" {
		t.Errorf("behind SetReported the trace is %q", got)
	}
	reboot()
	want(t, None, 1, "", "", "")
	Clear()
	if bytes.Contains(mem, []byte("wh")) {
		t.Error("behind Clear its bytes are still there")
	}
	reboot()
	want(t, None, 1)
	// The next crash continues the count, even if it comes before the record was looked for.
	reboot()
	die("again", "", "")
	reboot()
	want(t, Whole, 2, "again", "", "")
}

// TestRecordUntold: a crash that comes before the previous record was reported replaces that
// record.
func TestRecordUntold(t *testing.T) {
	ram(t)
	die("one", "", "")
	reboot()
	Find()
	die("two", "", "")
	reboot()
	want(t, Whole, 2, "two", "", "")
}

// TestHalfRecord: a crash while the record is written leaves no record.
func TestHalfRecord(t *testing.T) {
	ram(t)
	Start()
	Byte('x')
	reboot()
	want(t, None, 0, "")
}

// TestDamaged: any byte of one copy may be damaged; if both copies are, nothing is believed.
func TestDamaged(t *testing.T) {
	mem := ram(t)
	for range 2000 {
		reboot()
		for i := range mem {
			mem[i] = 0
		}
		die("why", "where", "what")
		end := int(headerSize) + len("whywherewhat")
		one, two := rand.IntN(end), rand.IntN(end)
		flip := func(copy, at int) { mem[copy*Size+at] ^= byte(1 + rand.IntN(255)) }
		flip(0, one)
		reboot()
		want(t, Whole, 1, "why", "where", "what")
		flip(1, two)
		reboot()
		state := Damaged
		if one < 8 && two < 8 {
			state = None // nothing says that there was one
		}
		want(t, state, 0, "", "", "")
		SetReported()
		reboot()
		if got := Find(); got != None {
			t.Fatalf("a damaged record that has been reported: %v", got)
		}
		Clear()
	}
}

// TestFull: entries that do not fit are left out, and the record is whole.
func TestFull(t *testing.T) {
	ram(t)
	Start()
	Next(Console)
	if Room() != int(room) {
		t.Errorf("room for %d bytes; want %d", Room(), room)
	}
	for range 2 * Size {
		Byte('x')
	}
	if Room() != 0 {
		t.Errorf("room for %d bytes of a full record", Room())
	}
	Finish()
	reboot()
	want(t, Whole, 1)
	if n := len(Bytes(Console)); n != int(room) {
		t.Errorf("%d bytes; want %d", n, room)
	}
}

func TestChoose(t *testing.T) {
	defer func(old uintptr) { base = old }(base)
	for _, tt := range []struct {
		name    string
		regions []boot.Region
		place   uintptr // 0: none
	}{
		{"a PC", []boot.Region{{Lo: 0, Hi: 0x9fc00, Usable: true}, {Lo: 0x9fc00, Hi: 0xa0000}, {Lo: 1 << 20, Hi: 1 << 27, Usable: true}}, Place},
		{"large EBDA", []boot.Region{{Lo: 0, Hi: 0x94000, Usable: true}, {Lo: 1 << 20, Hi: 1 << 27, Usable: true}}, Place - areaSize},
		{"a hole", []boot.Region{{Lo: 0, Hi: 0xa0000, Usable: true}, {Lo: 0x8c000, Hi: 0x91000}}, 0x80000},
		{"nothing below 1 MiB", []boot.Region{{Lo: 1 << 20, Hi: 1 << 27, Usable: true}}, 0},
		{"no map", nil, 0},
	} {
		base = 1
		ok := Choose(tt.regions)
		if ok != (tt.place != 0) || base != tt.place {
			t.Errorf("%s: Choose = %v, %#x; want %#x", tt.name, ok, base, tt.place)
		}
		if !ok { // no address is touched
			die("why", "where", "what")
			reboot()
			want(t, None, 0, "", "", "")
			SetReported()
			Clear()
		}
	}
}

// FuzzFind takes the memory from the fuzzer: Find reads nothing outside it, and the record that it
// finds is inside it.
func FuzzFind(f *testing.F) {
	mem := ram(f)
	f.Add(append([]byte(nil), mem[:100]...))
	die("why", "where", "what")
	f.Add(append([]byte(nil), mem[:100]...))
	f.Fuzz(func(t *testing.T, data []byte) {
		for c := range 2 {
			copy(mem[c*Size:(c+1)*Size], data)
		}
		reboot()
		if Find() == Whole {
			n := 0
			for p := range numParts {
				n += len(Bytes(p))
			}
			if n > int(room) {
				t.Errorf("%d bytes in a record of %d", n, room)
			}
		}
		SetReported()
		Clear()
	})
}

// TestEntries: a part that was not ended, or had no room, is missing. The part before it stays,
// also while the new one is written.
func TestEntries(t *testing.T) {
	ram(t)
	die("why", "where", "gone", "gone")
	Again(CPUs)
	write := func(s string) {
		for _, b := range []byte(s) {
			Byte(b)
		}
	}
	BeginEntry()
	write("half")
	reboot()
	want(t, Whole, 1, "why", "where", "gone", "gone")
	Again(CPUs)
	for number, s := range []string{"one", "", "three"} {
		BeginEntry()
		write(s)
		if !EndEntry(uint32(number), 8) {
			t.Fatalf("no room for %q", s)
		}
	}
	BeginEntry()
	write("four")
	if EndEntry(4, Room()+1) {
		t.Error("there is room for more than there is")
	}
	BeginEntry()
	for range 2 * Size {
		Byte('x')
	}
	if EndEntry(5, 1) {
		t.Error("an entry is larger than the record")
	}
	Next(Console)
	write("what")
	Finish()
	reboot()
	want(t, Whole, 2, "why", "where") // Find has been called in between
	if got := string(Bytes(Console)); got != "what" {
		t.Errorf("the console: %q", got)
	}
	n := uint32(0)
	for all := Bytes(CPUs); ; n++ {
		lines, rest, number, ok := Entry(all)
		if !ok {
			break
		}
		if want := []string{"one", "", "three"}[n]; string(lines) != want || number != n {
			t.Errorf("entry %d: %q; want %d: %q", number, lines, n, want)
		}
		all = rest
	}
	if n != 3 {
		t.Errorf("%d entries", n)
	}
	for _, b := range []string{"", "\x01\x00\x00\x00\x00\x00\x00", "\x01\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\x00\x00\x00\x00x"} {
		if _, _, _, ok := Entry([]byte(b)); ok {
			t.Errorf("%q is an entry", b)
		}
	}
}
