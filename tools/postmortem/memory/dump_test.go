package memory

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// dumpOf makes a dump as QEMU does: segments of memory, and a note with the registers of one CPU.
func dumpOf(segments ...segment) []byte {
	le := binary.LittleEndian
	state := make([]byte, 440)
	le.PutUint32(state, 1)
	le.PutUint32(state[4:], uint32(len(state)))
	for i := 8; i < len(state); i += 8 {
		le.PutUint64(state[i:], uint64(i))
	}
	var notes bytes.Buffer
	for _, n := range []struct {
		name string
		desc []byte
	}{{"CORE\x00", make([]byte, 336)}, {"QEMU\x00", state}} {
		binary.Write(&notes, le, []uint32{5, uint32(len(n.desc)), 0})
		notes.WriteString(n.name + "\x00\x00\x00")
		notes.Write(n.desc)
	}
	h := elf.Header64{Type: uint16(elf.ET_CORE), Machine: uint16(elf.EM_X86_64), Phoff: 64, Phentsize: 56, Phnum: uint16(1 + len(segments))}
	copy(h.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var b, memory bytes.Buffer
	binary.Write(&b, le, h)
	at := 64 + 56*uint64(1+len(segments))
	binary.Write(&b, le, elf.Prog64{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint64(notes.Len())})
	at += uint64(notes.Len())
	for _, s := range segments {
		binary.Write(&b, le, elf.Prog64{Type: uint32(elf.PT_LOAD), Off: at + s.off, Paddr: s.addr, Filesz: s.size})
		for memory.Len() < int(s.off+s.size) {
			memory.WriteByte(byte(memory.Len() >> 12)) // each page has its number
		}
	}
	b.Write(notes.Bytes())
	b.Write(memory.Bytes())
	return b.Bytes()
}

// contents copies a dump, and returns the first byte of each page.
func contents(d *Dump) (map[uint64]byte, error) {
	got := map[uint64]byte{}
	err := d.Copy(func(addr uint64, data []byte) error {
		for i := 0; i < len(data); i += PageSize {
			if _, twice := got[addr+uint64(i)]; twice {
				return errors.New("a page comes twice")
			}
			got[addr+uint64(i)] = data[i]
		}
		return nil
	})
	return got, err
}

func TestDump(t *testing.T) {
	b := dumpOf(segment{0, 0, 3 * PageSize}, segment{3 * PageSize, 1 << 32, PageSize})
	for name, r := range map[string]io.Reader{"pipe": io.MultiReader(bytes.NewReader(b)), "file": bytes.NewReader(b)} {
		size := int64(-1)
		if name == "file" {
			size = int64(len(b))
		}
		d, err := OpenDump(r, size)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := []Block{{0, 3 * PageSize}, {1 << 32, PageSize}}; !slices.Equal(d.Blocks(), want) {
			t.Errorf("%s: blocks %#x; want %#x", name, d.Blocks(), want)
		}
		if c := d.CPUs(); len(c) != 1 || c[0]["rax"] != 8 || c[0]["rip"] != 136 || c[0]["rflags"] != 144 ||
			c[0]["fs_base"] != 240 || c[0]["gs_base"] != 264 || c[0]["cr0"] != 392 || c[0]["cr3"] != 416 {
			t.Errorf("%s: registers %v", name, c)
		}
		got, err := contents(d)
		if err != nil || len(got) != 4 || got[2*PageSize] != 2 || got[1<<32] != 3 {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestDirect: memory comes from elsewhere where that has what the pipe has, and else by the pipe:
// all of it, once.
func TestDirect(t *testing.T) {
	const large = 3 << 20
	b := dumpOf(segment{0, 0, large}, segment{large, 1 << 32, large}, segment{2 * large, 1 << 33, PageSize})
	whole, err := OpenDump(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want, err := contents(whole)
	if err != nil || len(want) != 2*large/PageSize+1 {
		t.Fatalf("%d pages, %v", len(want), err)
	}
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		fails  func(start uint64) error          // to open
		read   func(p []byte, addr uint64) error // nil: as it is
		pieces func(direct int) bool             // how many must have come from elsewhere
		end    error
	}{
		{"all", nil, nil, func(n int) bool { return n >= 6 }, nil},
		{"nothing", func(uint64) error { return broken }, nil, func(n int) bool { return n == 0 }, nil},
		{"the first only", func(start uint64) error {
			if start > 0 {
				return broken
			}
			return nil
		}, nil, func(n int) bool { return n >= 2 && n < 4 }, nil},
		{"something else", nil, func(p []byte, addr uint64) error { clear(p); p[0] = 99; return nil }, func(n int) bool { return n == 0 }, nil},
		{"gone meanwhile", nil, func(p []byte, addr uint64) error {
			if addr > 0 {
				return broken
			}
			for i := range p {
				p[i] = byte(i >> 12)
			}
			return nil
		}, func(n int) bool { return true }, ErrCut},
	} {
		d, err := OpenDump(io.MultiReader(bytes.NewReader(b)), -1)
		if err != nil {
			t.Fatal(err)
		}
		direct := 0
		d.Direct(func(start, size uint64) (func(p []byte, addr uint64) error, error) {
			if tt.fails != nil {
				if err := tt.fails(start); err != nil {
					return nil, err
				}
			}
			return func(p []byte, addr uint64) error {
				if tt.read != nil {
					return tt.read(p, addr)
				}
				for i := range p {
					a := addr + uint64(i)
					p[i] = want[a&^(PageSize-1)]
				}
				if addr > 0 {
					direct++
				}
				return nil
			}, nil
		})
		got, err := contents(d)
		if !errors.Is(err, tt.end) || tt.end == nil && !maps.Equal(got, want) || !tt.pieces(direct) {
			t.Errorf("%s: %d pages of %d, %d pieces from elsewhere, %v; want %v", tt.name, len(got), len(want), direct, err, tt.end)
		}
	}
}

// TestSharedBytes: with paging=true, QEMU's segments are of virtual addresses and share the file's
// bytes.
func TestSharedBytes(t *testing.T) {
	b := dumpOf(segment{0, 0, 4 * PageSize}, segment{PageSize, PageSize, 2 * PageSize}, segment{3 * PageSize, 3 * PageSize, PageSize})
	d, err := OpenDump(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contents(d); err != nil || len(got) != 4 || got[3*PageSize] != 3 {
		t.Errorf("%v, %v; want each page once", got, err)
	}
}

func TestRawDump(t *testing.T) {
	b := make([]byte, 8*PageSize)
	b[7*PageSize] = 9
	d, err := OpenDump(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := contents(d); err != nil || len(got) != 8 || got[7*PageSize] != 9 || len(d.CPUs()) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestWrongDumps(t *testing.T) {
	good := dumpOf(segment{0, 0, 4 * PageSize})
	changed := func(at int, v ...byte) []byte {
		b := slices.Clone(good)
		copy(b[at:], v)
		return b
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"empty", nil, ErrCut},
		{"a cut header", good[:40], ErrCut},
		{"cut program headers", good[:100], ErrCut},
		{"cut memory", good[:len(good)-1], ErrCut},
		{"an executable", changed(16, 2), ErrDump},
		{"for 32 bits", changed(4, 1), ErrDump},
		{"for ARM", changed(18, 0xb7), ErrDump},
		{"kdump", []byte("KDUMP   " + strings.Repeat("\x00", 4088)), ErrDump},
		{"half a page", make([]byte, 100), ErrDump},
		{"no segments", changed(56, 1), ErrDump},
		{"a huge segment", changed(64+56+32+7, 0x7f), ErrDump},
		{"headers at the end", changed(32, 0xff, 0xff, 0xff, 0xff), ErrDump},
	} {
		d, err := OpenDump(bytes.NewReader(tt.b), int64(len(tt.b)))
		if err == nil {
			_, err = contents(d)
		}
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v; want %v", tt.name, err, tt.want)
		}
		// A pipe does not know its length, but ends as early.
		if d, err := OpenDump(io.MultiReader(bytes.NewReader(tt.b)), -1); err == nil {
			if _, err = contents(d); err == nil {
				t.Errorf("%s: taken from a pipe", tt.name)
			}
		}
	}
}

// FuzzDump: a hostile dump gives an error, or memory within its blocks, no more than the file has.
func FuzzDump(f *testing.F) {
	f.Add(dumpOf(segment{0, 0, 2 * PageSize}), true)
	f.Add(dumpOf(segment{0, 0, 2 * PageSize}, segment{PageSize, PageSize, PageSize}), false)
	f.Add([]byte("KDUMP"), true)
	f.Fuzz(func(t *testing.T, b []byte, pipe bool) {
		size := int64(len(b))
		var r io.Reader = bytes.NewReader(b)
		if pipe {
			size, r = -1, io.MultiReader(r)
		}
		d, err := OpenDump(r, size)
		if err != nil {
			return
		}
		total := 0
		d.Copy(func(addr uint64, data []byte) error {
			if total += len(data); total > len(b) {
				t.Fatalf("%d bytes of a file of %d", total, len(b))
			}
			for _, b := range d.Blocks() {
				if addr >= b.Start && addr+uint64(len(data)) <= b.End() {
					return nil
				}
			}
			t.Fatalf("%d bytes at %#x are in no block", len(data), addr)
			return nil
		})
	})
}
