package symbol

import (
	"os"
	"strings"
	"testing"
)

// TestDWARFFrames checks the form of what Lookup says of C; what it says is held
// against addr2line by the tests of `zf addr`.
func TestDWARFFrames(t *testing.T) {
	f := openTest(t, buildC(t, "-g"))
	text := f.FirstSection(".text")
	deepest := 0
	for pc := text.Addr; pc < text.Addr+text.Len; pc++ {
		frames := f.Lookup(pc, false)
		for i, fr := range frames {
			if want := i < len(frames)-1; fr.Inlined != want {
				t.Fatalf("Lookup(%#x)[%d].Inlined = %t; want %t", pc, i, fr.Inlined, want)
			}
			if fr.Offset != frames[0].Offset || !strings.HasSuffix(fr.File, "testdata/csample.c") && fr.File != "" {
				t.Fatalf("Lookup(%#x)[%d] = %+v", pc, i, fr)
			}
		}
		if n := len(frames); n > deepest {
			deepest = n
		}
	}
	if deepest < 3 {
		t.Errorf("calls %d deep; want square in either in loop", deepest)
	}
	addr, _, ok := f.Symbol("loop")
	if !ok {
		t.Fatal("Symbol(loop) = false")
	}
	if got := f.Lookup(addr, false); len(got) == 0 || got[len(got)-1].Function != "loop" || got[0].Offset != 0 {
		t.Errorf("Lookup(loop) = %+v", got)
	}
}

// TestDamagedDWARF: the symbol table must still answer.
func TestDamagedDWARF(t *testing.T) {
	b, err := os.ReadFile(buildC(t, "-g"))
	if err != nil {
		t.Fatal(err)
	}
	whole := newTest(t, b)
	addr, _, _ := whole.Symbol("loop")
	for _, name := range []string{".debug_info", ".debug_abbrev", ".debug_line", ".debug_rnglists"} {
		s := whole.FirstSection(name)
		if s == nil {
			t.Fatalf("no %s", name)
		}
		for _, fill := range []byte{0x00, 0x01, 0x7f, 0x80, 0xff} {
			broken := append([]byte(nil), b...)
			for i := s.Off; i < s.Off+s.Len; i++ {
				broken[i] = fill
			}
			f := newTest(t, broken)
			got := f.Lookup(addr+1, false)
			if len(got) == 0 || got[len(got)-1].Function != "loop" {
				t.Errorf("%s of %#x: Lookup(loop+1) = %+v", name, fill, got)
			}
		}
	}
}
