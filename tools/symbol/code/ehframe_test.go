package code

import (
	"debug/elf"
	"fmt"
	"strings"
	"testing"
)

// truth returns the functions of the symbol table: of several at one address the
// first. weak are labels without a type, which may be functions as well.
func truth(t testing.TB, file string) (funcs map[uint64]string, weak map[uint64]string, sizes map[uint64]uint64) {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	funcs, weak, sizes = map[uint64]string{}, map[uint64]string{}, map[uint64]uint64{}
	for _, s := range syms {
		if int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Flags&elf.SHF_EXECINSTR == 0 ||
			strings.HasPrefix(f.Sections[s.Section].Name, ".plt") ||
			s.Name == "runtime.text" || s.Name == "runtime.etext" || strings.HasPrefix(s.Name, "go:textfipsstart") ||
			strings.HasPrefix(s.Name, "go:textfipsend") {
			continue
		}
		switch elf.ST_TYPE(s.Info) {
		case elf.STT_FUNC, elf.STT_GNU_IFUNC:
			if _, ok := funcs[s.Value]; !ok {
				funcs[s.Value] = s.Name
			}
			sizes[s.Value] = max(sizes[s.Value], s.Size)
		case elf.STT_NOTYPE:
			weak[s.Value] = s.Name
		}
	}
	return funcs, weak, sizes
}

// TestFrameFuncs: the functions of .eh_frame are those of the symbol table, with their sizes.
func TestFrameFuncs(t *testing.T) {
	file := buildC(t)
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := f.Section(".eh_frame")
	b, err := s.Data()
	if err != nil {
		t.Fatal(err)
	}
	want, _, sizes := truth(t, file)
	found := 0
	for _, fn := range FrameFuncs(Segment{Addr: s.Addr, Bytes: b}) {
		if fn.Name != fmt.Sprintf("func_%x", fn.Start) {
			t.Errorf("%+v has another's name", fn)
		}
		if name, ok := want[fn.Start]; ok {
			found++
			if sizes[fn.Start] != 0 && fn.End-fn.Start != sizes[fn.Start] {
				t.Errorf("%s has %d bytes; want %d", name, fn.End-fn.Start, sizes[fn.Start])
			}
		}
	}
	if found < 10 || found*100 < len(want)*60 {
		t.Errorf("%d of %d functions are found", found, len(want))
	}
}
