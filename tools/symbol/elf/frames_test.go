package elf_test

import (
	stdelf "debug/elf"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/code"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// inC returns a program in C.
func inC(t testing.TB) *stdelf.File {
	t.Helper()
	out := filepath.Join(t.TempDir(), "sample.elf")
	if msg, err := exec.Command("gcc", "-O2", "-o", out, "../code/testdata/sample.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s(the tests need what tools/setup.sh installs)", err, msg)
	}
	f, err := stdelf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// contents returns the address and the bytes of a section.
func contents(t testing.TB, f *stdelf.File, name string) (uint64, []byte) {
	t.Helper()
	s := f.Section(name)
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	return s.Addr, b
}

// TestFrames: the functions of .eh_frame are those of the symbol table, with their sizes.
func TestFrames(t *testing.T) {
	f := inC(t)
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	want, sizes := map[uint64]string{}, map[uint64]uint64{}
	for _, s := range symbols {
		if k := stdelf.ST_TYPE(s.Info); (k == stdelf.STT_FUNC || k == stdelf.STT_GNU_IFUNC) && int(s.Section) < len(f.Sections) {
			want[s.Value], sizes[s.Value] = s.Name, max(sizes[s.Value], s.Size)
		}
	}
	addr, b := contents(t, f, ".eh_frame")
	found := 0
	for _, fn := range elf.NewFrames(b, addr, true).FDEs {
		if name, ok := want[fn.Low]; ok {
			found++
			if sizes[fn.Low] != 0 && fn.High-fn.Low != sizes[fn.Low] {
				t.Errorf("%s has %d bytes; want %d", name, fn.High-fn.Low, sizes[fn.Low])
			}
		}
	}
	if found < 10 || found*100 < len(want)*60 {
		t.Errorf("%d of %d functions are found", found, len(want))
	}
}

// FuzzFrames: whatever the bytes are, the functions of an image are sorted, apart and in the
// code, and all that walks over them comes to an end.
func FuzzFrames(f *testing.F) {
	file := inC(f)
	_, text := contents(f, file, ".text")
	_, frames := contents(f, file, ".eh_frame")
	f.Add(text, frames, uint64(0x401000), uint64(0x2000))
	f.Add([]byte("\x49\x3b\x66\x10\x76\x05\xe9\xf4\xff\xff\xff\x90"), []byte("\x14\x00\x00\x00\x00\x00\x00\x00\x01zR\x00\x01\x78\x10\x01\x1b"), ^uint64(0)-8, uint64(0))
	f.Add(make([]byte, 64), []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), uint64(1), uint64(0x20000))
	f.Fuzz(func(t *testing.T, text, frames []byte, addr, off uint64) {
		segs := []code.Segment{{Addr: addr, Bytes: text}, {Addr: addr + uint64(len(text)) + 16, Bytes: frames}}
		var described []code.Func
		for _, fn := range elf.NewFrames(frames, addr+off, true).FDEs {
			described = append(described, code.Func{Start: fn.Low, End: fn.High})
		}
		m := code.NewImage(segs, described)
		last := uint64(0)
		for i, fn := range m.Funcs() {
			if fn.End <= fn.Start || i > 0 && fn.Start < last || !m.IsText(fn.Start) || !m.IsText(fn.End-1) {
				t.Fatalf("function %d is %+v, behind %#x", i, fn, last)
			}
			last = fn.End
		}
		g := m.Graph()
		for i := range g.Nodes {
			n := &g.Nodes[i]
			for _, s := range n.Calls {
				var b []byte
				for _, seg := range segs {
					if at := s.At - seg.Addr; at < uint64(len(seg.Bytes)) {
						b = seg.Bytes[at:min(at+n.End-s.At, uint64(len(seg.Bytes)))]
					}
				}
				c, ok := m.CallBefore(s.At + uint64(code.Decode(b).Len))
				if n.Unknown == 0 && (!ok || c.Target != s.Target || !c.Certain) {
					t.Fatalf("CallBefore behind %#x = %+v, %v; want the call of %#x", s.At, c, ok, s.Target)
				}
			}
			if i < 64 {
				m.TailPath(n.Start, g.Nodes[len(g.Nodes)-1].Start)
				m.HasFrame(&n.Func, n.Start+uint64(i))
			}
		}
	})
}
