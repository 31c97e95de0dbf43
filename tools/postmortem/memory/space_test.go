package memory

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// ram is memory in a slice, from address 0 on.
type ram []byte

func (r ram) ReadPhysical(p []byte, addr uint64) error {
	if addr > uint64(len(r)) || uint64(len(r))-addr < uint64(len(p)) {
		return ErrNotRAM
	}
	copy(p, r[addr:])
	return nil
}

func (r ram) Blocks() []Block { return []Block{{0, uint64(len(r))}} }

// entry sets an entry of a table.
func (r ram) entry(table, i, v uint64) { binary.LittleEndian.PutUint64(r[table+8*i:], v) }

const rw = entryPresent | entryWrite

// mapped is a machine of 4 MiB with a page of each size, and what no walker may follow.
func mapped() (r ram, root uint64) {
	const pml4, pdpt, pd, pt, high, top = 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000
	r = make(ram, 4<<20)
	r.entry(pml4, 0, pdpt|rw)
	r.entry(pml4, 511, high|rw)
	r.entry(pdpt, 0, pd|rw)
	r.entry(pdpt, 1, 0|rw|entryLarge) // 1 GiB of which 4 MiB are RAM
	r.entry(pdpt, 2, 0xfffff000|rw)   // a table that is not there
	r.entry(pd, 0, pt|rw)
	r.entry(pd, 1, 2<<20|entryPresent|entryLarge|entryNoExec)
	r.entry(pt, 1, 0x8000|rw)
	r.entry(pt, 2, 0x9000|rw)               // goes on
	r.entry(pt, 3, 0x8000|rw)               // does not
	r.entry(pt, 4, 0xfee00000|rw)           // no RAM
	r.entry(pt, 5, 0xa000|rw|entryUncached) // a device
	r.entry(pt, 6, 0xb000|rw&^entryPresent) // not there
	r.entry(high, 511, top|entryPresent)    // read-only from here on
	r.entry(top, 511, 2<<20|rw|entryLarge)  // the last 2 MiB
	copy(r[0x8000+PageSize-4:], "overEdge") // on two pages
	return r, pml4
}

func TestWalk(t *testing.T) {
	r, root := mapped()
	s := &Space{r, root}
	var got []Run
	if err := s.Walk(func(r Run) error { got = append(got, r); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []Run{
		{0x1000, 0x8000, 0x2000, true, true},
		{0x3000, 0x8000, 0x1000, true, true},
		{2 << 20, 2 << 20, 2 << 20, false, false},
		{1 << 30, 0, 4 << 20, true, true},
		{0xffffffffffe00000, 2 << 20, 2 << 20, false, true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("runs:\n%+v; want\n%+v", got, want)
	}
	// Each address of a run is what the look-up of it says.
	for _, r := range got {
		for _, off := range []uint64{0, r.Size / 2, r.Size - 1} {
			if p, _, err := s.Translate(r.Virtual + off); err != nil || p != r.Physical+off {
				t.Errorf("Translate(%#x) = %#x, %v; want %#x", r.Virtual+off, p, err, r.Physical+off)
			}
		}
	}
}

func TestReadAt(t *testing.T) {
	r, root := mapped()
	s := &Space{r, root}
	b := make([]byte, 8)
	if err := s.Read(b, 0x2000-4); err != nil || string(b) != "overEdge" {
		t.Errorf("across two pages: %q, %v", b, err)
	}
	copy(r[4<<20-8:], "lastWord")
	if err := s.Read(b, 0xfffffffffffffff8); err != nil || string(b) != "lastWord" {
		t.Errorf("the last word: %q, %v", b, err)
	}
	for _, at := range []uint64{0, 0x6000, 0x8000_0000_0000, 1<<47 + 5, 2 << 30} {
		if err := s.Read(b, at); err == nil {
			t.Errorf("there is memory at %#x", at)
		}
	}
	if n, err := s.ReadAt(make([]byte, 0x2000), 0x3000); n != 0x1000 || !errors.Is(err, ErrNotRAM) {
		t.Errorf("into no RAM: %d bytes, %v", n, err)
	}
}

// TestCircle: tables that lead back to themselves have billions of pages.
func TestCircle(t *testing.T) {
	r := make(ram, 64<<10)
	for i := range uint64(512) {
		r.entry(0x1000, i, 0x1000|rw)
	}
	n := 0
	err := (&Space{r, 0x1000}).Walk(func(Run) error { n++; return nil })
	if !errors.Is(err, ErrTables) || n > 100*512 {
		t.Errorf("Walk = %v after %d runs; want %v soon", err, n, ErrTables)
	}
}

// FuzzWalk: whatever the tables are, a walk ends, its runs are RAM, in order, and look-ups agree.
func FuzzWalk(f *testing.F) {
	r, root := mapped()
	f.Add([]byte(r[:0x7000]), root)
	f.Add(bytes.Repeat([]byte{0x07, 0x10, 0, 0, 0, 0, 0, 0}, 512*4), uint64(0x1000))
	f.Fuzz(func(t *testing.T, data []byte, root uint64) {
		if len(data) > 1<<20 {
			return
		}
		r := ram(data[:len(data)&^(PageSize-1)])
		s := &Space{r, root}
		var last Run
		n := 0
		s.Walk(func(run Run) error {
			if run.Size == 0 || run.Physical+run.Size > uint64(len(r)) {
				t.Fatalf("run %+v is no RAM of %#x bytes", run, len(r))
			}
			if n++; n > 1 && run.Virtual < last.Virtual+last.Size {
				t.Fatalf("run %+v behind %+v", run, last)
			}
			if n < 100 {
				if p, _, err := s.Translate(run.Virtual + run.Size - 1); err != nil || p != run.Physical+run.Size-1 {
					t.Fatalf("the end of run %+v is %#x, %v", run, p, err)
				}
			}
			last = run
			return nil
		})
	})
}

func TestStore(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "ram"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s, err := NewStore(file, PageSize, []Block{{0, 1 << 20}, {1 << 32, 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 5*PageSize)
	data[1], data[3*PageSize] = 1, 3
	if err := s.Put(1<<32+0x800, data); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(data))
	if err := s.ReadPhysical(got, 1<<32+0x800); err != nil || !bytes.Equal(got, data) {
		t.Errorf("what was put does not come back: %v", err)
	}
	if s.Used > 3*PageSize {
		t.Errorf("%d bytes are used; want no more than three pages", s.Used)
	}
	if err := s.Put(1<<20-1, []byte{1, 2}); !errors.Is(err, ErrNotRAM) {
		t.Errorf("behind a block: %v", err)
	}
	for _, b := range [][]Block{{{0, 0x1800}}, {{0, 0}}, {{0, 0x2000}, {0x1000, 0x1000}}, {{1 << 60, 1 << 62}}} {
		if _, err := NewStore(file, PageSize, b); err == nil {
			t.Errorf("%#x is taken", b)
		}
	}
}
