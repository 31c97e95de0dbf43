package code

import (
	"debug/elf"
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
