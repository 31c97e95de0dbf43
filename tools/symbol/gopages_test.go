package symbol

import (
	"bytes"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// A countingReader counts what is read.
type countingReader struct {
	io.ReaderAt
	n atomic.Int64
}

func (r *countingReader) ReadAt(b []byte, off int64) (int, error) {
	r.n.Add(int64(len(b)))
	return r.ReaderAt.ReadAt(b, off)
}

// TestGoReadsLittle: one answer takes a few pages of the pc table. With all of it read
// the answers are the same, and so they are when several goroutines read it.
func TestGoReadsLittle(t *testing.T) {
	path := buildGo(t, "testdata/gosample", "")
	fd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer fd.Close()
	st, err := fd.Stat()
	if err != nil {
		t.Fatal(err)
	}
	open := func() (*File, *countingReader) {
		r := &countingReader{ReaderAt: fd}
		f, err := NewFile(r, st.Size(), path)
		if err != nil {
			t.Fatal(err)
		}
		return f, r
	}
	whole, _ := open()
	start, end := whole.goTable().TextRange()
	whole.goTable().needAll()
	table := int64(len(whole.goTable().tab))
	most := int64(0)
	for pc := uint64(start); pc < uint64(end); pc += 997 {
		if pc%31 != 0 {
			continue
		}
		f, r := open()
		f.FirstSection(".gopclntab") // the headers are read
		before := r.n.Load()
		if got, want := f.Lookup(pc, false), whole.Lookup(pc, false); !equalFrames(got, want) {
			t.Fatalf("Lookup(%#x) = %+v; want %+v", pc, got, want)
		}
		most = max(most, r.n.Load()-before)
	}
	if most > table/2 {
		t.Errorf("one answer took %d bytes of the file; the pc table has %d", most, table)
	}
	f, _ := open()
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			for pc := uint64(start) + uint64(n)*97; pc < uint64(end); pc += 1009 {
				if got, want := f.Lookup(pc, true), whole.Lookup(pc, true); !equalFrames(got, want) {
					t.Errorf("Lookup(%#x) = %+v; want %+v", pc, got, want)
					return
				}
			}
			if n == 3 {
				f.goTable().needAll()
			}
		})
	}
	wait.Wait()
}

// shortened is a file of which the first n bytes are left.
type shortened struct {
	b []byte
	n int
}

func (s *shortened) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(s.b[:s.n]).ReadAt(b, off)
}

// TestGoCutTable: what cannot be read is as if it were damaged.
func TestGoCutTable(t *testing.T) {
	b := smallGo()
	f := newTest(t, b)
	if got := f.Lookup(0x200044, false); len(got) == 0 {
		t.Fatal("the small program has no function there")
	}
	for n := len(b); n > 0; n -= 16 {
		r := &shortened{b, len(b)}
		f, err := NewFile(r, int64(len(b)), "cut.elf")
		if err != nil {
			t.Fatal(err)
		}
		r.n = n // the file became shorter
		f.Lookup(0x200044, false)
		f.LookupAll([]uint64{0x200044, 0x200000}, true)
	}
}
