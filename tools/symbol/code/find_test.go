package code

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// input returns what Find is given of an ELF file, stripped or not: nothing of
// its symbols, and nothing of Go's pc table. What drop names is left out too.
func input(t testing.TB, file string, drop ...string) *Input {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := &Input{Starts: []uint64{f.Entry}}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || s.Type == elf.SHT_NOBITS || slices.Contains(drop, s.Name) || strings.HasPrefix(s.Name, ".plt") {
			continue
		}
		b, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		seg := Segment{Addr: s.Addr, Bytes: b}
		switch {
		case s.Flags&elf.SHF_EXECINSTR != 0:
			in.Text = append(in.Text, seg)
		case s.Name == ".eh_frame":
			in.EHFrame = seg
		case s.Name != ".gopclntab":
			in.Data = append(in.Data, seg)
		}
	}
	return in
}

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

// strip returns a copy of the file as strip leaves it, without these sections too.
func strip(t testing.TB, file string, drop ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "stripped.elf")
	args := []string{"--strip-all"}
	for _, d := range drop {
		args = append(args, "--remove-section="+d)
	}
	if msg, err := exec.Command("objcopy", append(args, file, out)...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, msg)
	}
	return out
}

// score compares what Find found with the symbol table.
type score struct{ functions, found, wrong, sizes int }

func (s score) recall() float64    { return 100 * float64(s.found) / float64(s.functions) }
func (s score) precision() float64 { return 100 * float64(s.found) / float64(s.found+s.wrong) }
func (s score) String() string {
	return fmt.Sprintf("%d of %d functions (%.2f %%), %d false starts (precision %.2f %%), %d right sizes",
		s.found, s.functions, s.recall(), s.wrong, s.precision(), s.sizes)
}

func rate(t testing.TB, file string, got []Func) score {
	want, weak, sizes := truth(t, file)
	s := score{functions: len(want)}
	starts := map[uint64]bool{}
	show := os.Getenv("CODE_SHOW") != ""
	for _, f := range got {
		starts[f.Start] = true
		if _, ok := want[f.Start]; ok {
			s.found++
			if n := f.End - f.Start; sizes[f.Start]-n < 16 || sizes[f.Start] == n {
				s.sizes++
			} else if show && sizes[f.Start] != 0 {
				t.Logf("size of %#x %s: %d, want %d", f.Start, want[f.Start], n, sizes[f.Start])
			}
		} else if _, ok := weak[f.Start]; !ok {
			s.wrong++
			if show {
				t.Logf("false start %#x", f.Start)
			}
		}
	}
	for a, name := range want {
		if !starts[a] && show {
			t.Logf("missed %#x %s (%d bytes)", a, name, sizes[a])
		}
	}
	return s
}

// TestFind measures the search against the symbol table, on the same program
// stripped. Of Go programs .gopclntab is not looked at, which would have it all;
// the C library is there since much of it was written by hand. CODE_SHOW=1 lists
// what is wrong.
func TestFind(t *testing.T) {
	noTables := []string{".eh_frame", ".eh_frame_hdr"}
	for _, c := range []struct {
		name      string
		file      string
		drop      []string
		recall    float64
		precision float64
	}{
		{"go", buildGo(t), nil, 99, 99},
		{"gcc", buildC(t), nil, 95, 95},
		{"gcc -static", buildC(t, "-static"), nil, 95, 95},
		{"gcc, no .eh_frame", buildC(t), noTables, 95, 95},
		{"gcc -static, no .eh_frame", buildC(t, "-static"), noTables, 95, 90},
		{"gcc -Os, no .eh_frame", buildC(t, "-Os"), noTables, 95, 95},
		{"gcc -O0, no .eh_frame", buildC(t, "-O0"), noTables, 95, 95},
		{"gcc -no-pie, no .eh_frame", buildC(t, "-no-pie"), noTables, 95, 95},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Find(input(t, strip(t, c.file, c.drop...)))
			s := rate(t, c.file, got)
			t.Log(s)
			if c.name == "go" && s.sizes*100 < s.functions*99 || c.name == "gcc -static" && s.sizes*100 < s.functions*95 {
				t.Errorf("%d sizes are right; want 99 %% of Go's, 95 %% of gcc's", s.sizes)
			}
			if s.recall() < c.recall || s.precision() < c.precision {
				t.Errorf("want %.0f %% of the functions at least, with a precision of %.0f %%", c.recall, c.precision)
			}
		})
	}
}
