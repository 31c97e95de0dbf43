package goinfo

import (
	"syscall"
	"testing"
	"unsafe"
)

// fill fills the table with values for the time of a test.
func fill(t *testing.T, values map[int]uint64) {
	t.Helper()
	old := table
	t.Cleanup(func() { table = old })
	for i, v := range values {
		table[tableHead+i] = v
	}
}

// field returns the value of an item that describes a field.
func field(off, size uint64) uint64 { return size<<32 | off }

// runtimeMemory returns a page of words for a runtime's data. The memory after it faults, so a load
// that goes too far does, too.
func runtimeMemory(t *testing.T) (words []uint64, addr uintptr) {
	t.Helper()
	const page = 4096
	m, err := syscall.Mmap(-1, 0, 2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	if err := syscall.Mprotect(m[page:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	words = unsafe.Slice((*uint64)(unsafe.Pointer(&m[0])), page/8)
	return words, uintptr(unsafe.Pointer(&words[0]))
}

func TestLoad(t *testing.T) {
	words, addr := runtimeMemory(t)
	last := uint64(8 * (len(words) - 1))
	words[1] = 0x8877665544332211
	words[len(words)-1] = 0x1234567890abcdef
	for _, tt := range []struct {
		name string
		base uintptr
		item uint64
		want uint64
		ok   bool
	}{
		{"word", addr, field(8, 8), 0x8877665544332211, true},
		{"lower half", addr, field(8, 4), 0x44332211, true},
		{"upper half", addr, field(12, 4), 0x88776655, true},
		{"byte", addr, field(11, 1), 0x44, true},
		{"last byte before a page that faults", addr, field(last+7, 1), 0x12, true},
		{"not known", addr, unknown, 0, false},
		{"across two words", addr, field(14, 4), 0, false},
		{"no size", addr, field(8, 0), 0, false},
		{"more than a word", addr, field(8, 16), 0, false},
		{"nil", 0, field(8, 8), 0, false},
		{"misaligned struct", addr + 4, field(8, 8), 0, false},
	} {
		fill(t, map[int]uint64{gID: tt.item})
		if v, ok := load(tt.base, gID); v != tt.want || ok != tt.ok {
			t.Errorf("%s: load = %#x, %v; want %#x, %v", tt.name, v, ok, tt.want, tt.ok)
		}
	}
}

func TestLoadString(t *testing.T) {
	words, addr := runtimeMemory(t)
	end := addr + uintptr(8*len(words))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&words[len(words)-1])), 8), "x sleep!")
	for i, s := range []struct {
		p    uintptr
		size uint64
		want string
	}{
		{end - 6, 5, "sleep"},
		{end - 6, 6, "sleep!"}, // to the last byte of the page
		{0, 5, ""},
		{16, 5, ""},
		{end - 6, 0, ""},
		{end - 6, maxString + 1, ""},
		{end - 6, ^uint64(0), ""},
		{^uintptr(0) - 3, 8, ""}, // beyond the end of the address space
		{end - 6, 5, ""},         // one more than the array has
	} {
		words[2*i], words[2*i+1] = uint64(s.p), s.size
		fill(t, map[int]uint64{waitReasons: uint64(addr), numWaitReasons: 8})
		if got := loadString(waitReasons, numWaitReasons, uint64(i)); got != s.want {
			t.Errorf("string %d, %d bytes at %#x = %q; want %q", i, s.size, s.p, got, s.want)
		}
	}
	fill(t, map[int]uint64{numWaitReasons: unknown})
	if got := loadString(waitReasons, numWaitReasons, 0); got != "" {
		t.Errorf("string of an array of unknown length = %q; want none", got)
	}
}

// TestDamaged: what cannot be a goroutine or a list of goroutines is refused.
func TestDamaged(t *testing.T) {
	words, addr := runtimeMemory(t)
	fill(t, map[int]uint64{
		gStackLo: field(0, 8), gStackHi: field(8, 8), gID: field(16, 8), gStatus: field(24, 4),
		gSchedPC: field(32, 8), gSchedSP: field(40, 8), gSchedBP: field(48, 8),
		gSyscallPC: field(56, 8), gSyscallSP: field(64, 8), gSyscallBP: field(72, 8),
		allgLen: uint64(addr) + 256, allgPtr: uint64(addr) + 264,
		numStatusNames: 12, statusScan: 0x1000, statusWaiting: 4,
	})
	words[34] = uint64(addr) // allgs[0]
	words[32], words[33] = 1, uint64(addr)+8*34
	good := []uint64{0x10000, 0x20000, 7, 0x1004, 0x401000, 0x1ff00, 0x1ff80}
	copy(words, good)
	if !Known() || NumG() != 1 {
		t.Fatalf("Known, NumG = %v, %d; want true, 1", Known(), NumG())
	}
	g, ok := GAt(0)
	if !ok || g.Addr != addr || g.ID != 7 || !g.Waiting() || !g.Scanned() || g.StackLo != 0x10000 || g.StackHi != 0x20000 {
		t.Fatalf("GAt(0) = %+v, %v", g, ok)
	}
	if g.State() != unknownStatus { // no names are known here
		t.Errorf("State() = %q; want %q", g.State(), unknownStatus)
	}
	if pc, sp, bp, ok := SavedState(&g); pc != 0x401000 || sp != 0x1ff00 || bp != 0x1ff80 || !ok {
		t.Errorf("SavedState = %#x, %#x, %#x, %v", pc, sp, bp, ok)
	}
	for _, tt := range []struct {
		name  string
		word  int
		value uint64
		ok    bool // the goroutine can be read
	}{
		{"stack upside down", 0, 0x30000, false},
		{"stack misaligned", 0, 0x10001, false},
		{"status without a name", 3, 12, false},
		{"saved sp below the stack", 5, 0xff00, true},
		{"saved sp above the stack", 5, 0x20008, true},
		{"saved sp misaligned", 5, 0x1ff01, true},
		{"no saved pc", 4, 0, true},
		{"system call's sp outside of the stack", 8, 0x30000, true},
		{"goroutine misaligned", 34, uint64(addr) + 4, false},
		{"no goroutine", 34, 0, false},
		{"no list", 33, 0, false},
		{"list misaligned", 33, uint64(addr) + 4, false},
		{"list beyond belief", 32, maxGs + 1, false},
	} {
		old := words[tt.word]
		words[tt.word] = tt.value
		g, ok := GAt(0)
		if ok != tt.ok {
			t.Errorf("%s: GAt = %+v, %v; want %v", tt.name, g, ok, tt.ok)
		}
		if _, _, _, saved := SavedState(&g); saved {
			t.Errorf("%s: SavedState is ok", tt.name)
		}
		words[tt.word] = old
	}
	words[7], words[8], words[9] = 0x402000, 0x1fe00, 0x1fe80
	g, _ = GAt(0)
	if pc, sp, bp, ok := SavedState(&g); pc != 0x402000 || sp != 0x1fe00 || bp != 0x1fe80 || !ok {
		t.Errorf("SavedState in a system call = %#x, %#x, %#x, %v", pc, sp, bp, ok)
	}
}
