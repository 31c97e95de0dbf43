package dump_test

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer/dump"
)

const area = 0x4000000

// description returns a description of an area, and its bytes.
func description() (k *dump.Kept, b []byte) {
	k = &dump.Kept{
		Tries: 1, Hidden: 2, Size: 1 << 20, Dump: 0x1122334455667788, Marks: area + dump.KeptDescription,
		Highest: 0x8000000, Root: 0x1000, Pages: 0x10 + 0x3000, CPUs: 2, Dead: 1, ID: 3, BuildID: [32]byte{1, 2, 3},
		NumRAM: 2, NumSaved: 1,
	}
	k.RAM[0], k.RAM[1] = dump.Span{Lo: 0x1000, Hi: 0x11000}, dump.Span{Lo: 0x100000, Hi: 0x3100000}
	k.Saved[0] = dump.Saved{Span: dump.Span{Lo: 0x200000, Hi: 0x208000}, At: area + 0x80000}
	k.CPU[1].TLS = 7
	return k, unsafe.Slice((*byte)(unsafe.Pointer(k)), unsafe.Sizeof(*k))
}

func TestKept(t *testing.T) {
	k, b := description()
	if k.Is() {
		t.Fatal("a description that is not finished looks like one")
	}
	k.Finish()
	if wrong := k.Check(area); wrong != "" || !k.Is() || !bytes.HasPrefix(b, []byte("zfkept01")) {
		t.Fatalf("Check: %q; it begins with %q", wrong, b[:8])
	}
	if got, want := dump.Uint32(b[8:]), crc32.Checksum(b[12:], crc32.MakeTable(crc32.Castagnoli)); got != want {
		t.Errorf("the CRC is %#x; hash/crc32 says %#x", got, want)
	}
	for _, tt := range []struct {
		addr, at uintptr
		copied   bool
	}{{0x1ff000, 0x1ff000, false}, {0x200000, area + 0x80000, true}, {0x207000, area + 0x87000, true}, {0x208000, 0x208000, false}} {
		if at, copied := k.Where(tt.addr); at != tt.at || copied != tt.copied {
			t.Errorf("Where(%#x): %#x, %v; want %#x, %v", tt.addr, at, copied, tt.at, tt.copied)
		}
	}
	for i := range b {
		if i > 400 && i < len(b)-400 && i%37 != 0 {
			continue
		}
		b[i] ^= 0x10
		if k.Check(area) == "" {
			t.Errorf("byte %d changed: taken", i)
		}
		b[i] ^= 0x10
	}
	k.Clear()
	if k.Is() {
		t.Error("what is cleared looks like a description")
	}
}

// TestKeptNonsense: nonsense in a description with a right CRC is not believed either.
func TestKeptNonsense(t *testing.T) {
	for name, change := range map[string]func(k *dump.Kept){
		"no page":            func(k *dump.Kept) { k.RAM[0].Lo = 0 },
		"pages":              func(k *dump.Kept) { k.Pages++ },
		"ranges":             func(k *dump.Kept) { k.NumRAM = 1 << 31 },
		"copies":             func(k *dump.Kept) { k.NumSaved = dump.MaxSaved + 1 },
		"CPUs":               func(k *dump.Kept) { k.CPUs = dump.MaxCPUs + 1 },
		"build ID":           func(k *dump.Kept) { k.ID = 33 },
		"a range backwards":  func(k *dump.Kept) { k.RAM[1].Lo, k.RAM[1].Hi = k.RAM[1].Hi, k.RAM[1].Lo },
		"half a page":        func(k *dump.Kept) { k.RAM[0].Lo++ },
		"above the highest":  func(k *dump.Kept) { k.Highest = 0x3000000 },
		"marks before":       func(k *dump.Kept) { k.Marks = area },
		"marks behind":       func(k *dump.Kept) { k.Marks = area + 1<<20 - 8 },
		"marks that wrap":    func(k *dump.Kept) { k.Marks = ^uint64(7) },
		"a copy before":      func(k *dump.Kept) { k.Saved[0].At = area - 0x1000 },
		"a copy behind":      func(k *dump.Kept) { k.Saved[0].At = area + 1<<20 - 0x1000 },
		"a copy that wraps":  func(k *dump.Kept) { k.Saved[0].Lo, k.Saved[0].Hi = 0x1000, ^uint64(0xfff) },
		"a copy of nothing":  func(k *dump.Kept) { k.Saved[0].Hi = k.Saved[0].Lo },
		"a size that wraps":  func(k *dump.Kept) { k.Size, k.Saved[0].Hi = ^uint64(0), 1<<60 },
		"an empty area":      func(k *dump.Kept) { k.Size = 0 },
		"addresses too high": func(k *dump.Kept) { k.RAM[1].Lo += 1 << 60; k.RAM[1].Hi += 1 << 60; k.Highest = 1 << 62 },
	} {
		k, _ := description()
		change(k)
		k.Finish()
		if wrong := k.Check(area); wrong != "its description makes no sense" {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// TestMarks: the mark of a page changes if any bit changes, or if words are exchanged.
func TestMarks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var page [dump.PageSize / 8]uint64
	for i := range page {
		page[i] = r.Uint64()
	}
	for c := range dump.NumClasses {
		m := dump.MarkOf(c, &page)
		if got, ok := m.Class(); !ok || got != c || m.Lost() || !m.Same(&page) {
			t.Fatalf("class %v: %#x", c, m)
		}
		if l := m.Lose(); !l.Lost() || !l.Same(&page) {
			t.Errorf("lost: %#x", l)
		}
	}
	if _, ok := dump.Mark(0).Class(); ok {
		t.Error("no mark has a class")
	}
	if _, ok := dump.Mark(uint64(15) << 60).Class(); ok {
		t.Error("a mark has a class that there is not")
	}
	m := dump.MarkOf(dump.Heap, &page)
	for i := range page {
		for bit := range 64 {
			page[i] ^= 1 << bit
			if m.Same(&page) {
				t.Fatalf("bit %d of word %d changed: the same", bit, i)
			}
			page[i] ^= 1 << bit
		}
		j := (i + 1 + r.IntN(len(page)-1)) % len(page)
		page[i], page[j] = page[j], page[i]
		if m.Same(&page) {
			t.Fatalf("words %d and %d exchanged: the same", i, j)
		}
		page[i], page[j] = page[j], page[i]
	}
	seen := map[dump.Mark]bool{}
	for n := range uint64(200_000) { // pages that differ slightly
		var small [dump.PageSize / 8]uint64
		small[n%512] = 1 + n/512
		if m := dump.MarkOf(dump.Heap, &small); seen[m] {
			t.Fatalf("two pages have the mark %#x", m)
		} else {
			seen[m] = true
		}
	}
}

// FuzzKept: accepted data stays within its bounds: the marks, and each copy, lie in the area.
func FuzzKept(f *testing.F) {
	_, b := description()
	f.Add(bytes.Clone(b[:1600]), true)
	f.Add(bytes.Clone(b[:1600]), false)
	f.Fuzz(func(t *testing.T, data []byte, right bool) {
		k, b := description()
		copy(b, data)
		if right {
			k.Finish()
		}
		was := bytes.Clone(b)
		wrong := k.Check(area)
		if !bytes.Equal(was, b) {
			t.Fatal("it is changed")
		}
		if wrong != "" {
			return
		}
		inside := func(at, n uint64) bool { return at >= area+dump.KeptDescription && at+n >= at && at+n <= area+k.Size }
		if !inside(k.Marks, 8*uint64(k.Pages)) {
			t.Errorf("the marks: %+v", k)
		}
		pages := uint64(0)
		for _, r := range k.RAM[:k.NumRAM] {
			pages += (r.Hi - r.Lo) / dump.PageSize
		}
		if pages != uint64(k.Pages) {
			t.Errorf("%d pages: %+v", pages, k)
		}
		for _, s := range k.Saved[:k.NumSaved] {
			if !inside(s.At, s.Hi-s.Lo) {
				t.Errorf("a copy: %+v", k)
			}
			if at, copied := k.Where(uintptr(s.Hi - dump.PageSize)); !copied || !inside(uint64(at), dump.PageSize) {
				t.Errorf("Where: %#x, %v", at, copied)
			}
		}
	})
}
