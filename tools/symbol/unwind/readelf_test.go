package unwind

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// tool runs a program of the machine that the tests are set up with.
func tool(t testing.TB, name string, args ...string) string {
	t.Helper()
	var errors strings.Builder
	cmd := exec.Command(name, args...)
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s(the tests need gcc, binutils and gdb: tools/setup.sh test)", name, err, errors.String())
	}
	return string(out)
}

// buildC builds a C program that keeps no frame pointers.
func buildC(t testing.TB, source string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "c.elf")
	args := append([]string{"-O2", "-fomit-frame-pointer", "-no-pie", "-o", out, source}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s(the tests need gcc and a static C library: tools/setup.sh test)", err, msg)
	}
	return out
}

func buildGo(t testing.TB, dir string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "go.elf")
	cmd := exec.Command("go", "build", "-o", out, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS=linux")
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, msg)
	}
	return out
}

func open(t testing.TB, path string) (*Tables, *symbol.File) {
	t.Helper()
	f, err := symbol.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	tables := New(f)
	tables.load()
	return tables, f
}

// interpreted is an FDE as readelf shows it.
type interpreted struct {
	lo, hi uint64
	locs   []uint64
	rows   []map[string]string // by column: "CFA", "rbx", ...
}

// inRegister is how readelf writes a rule of DW_CFA_register.
var inRegister = regexp.MustCompile(`r[0-9]+ \(([a-z0-9]+)\)`)

// readelf returns the FDEs of both sections, in their order.
func readelf(t testing.TB, path string) map[string][]interpreted {
	t.Helper()
	all := make(map[string][]interpreted)
	var list []interpreted
	var columns []string
	cies := make(map[string]map[string]string) // the row of each CIE
	name, id, inFDE := "", "", false
	flush := func() {
		if name != "" {
			all[name] = list
		}
	}
	in := bufio.NewScanner(strings.NewReader(tool(t, "readelf", "-W", "--debug-dump=frames-interp", path)))
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		f := strings.Fields(inRegister.ReplaceAllString(in.Text(), "$1"))
		switch {
		case len(f) == 0:
		case f[0] == "Contents" && len(f) > 3:
			flush()
			name, list = f[3], nil
			clear(cies)
		case slices.Contains(f, "CIE"):
			id, inFDE = f[0], false
		case slices.Contains(f, "FDE"):
			inFDE = true
			fde := interpreted{}
			for _, w := range f {
				if v, ok := strings.CutPrefix(w, "cie="); ok {
					id = v
				}
				if v, ok := strings.CutPrefix(w, "pc="); ok {
					if _, err := fmt.Sscanf(v, "%x..%x", &fde.lo, &fde.hi); err != nil {
						t.Fatalf("%q: %v", v, err)
					}
				}
			}
			// Without rows of its own it has that of its CIE.
			fde.locs = []uint64{fde.lo}
			fde.rows = []map[string]string{cies[id]}
			list = append(list, fde)
		case f[0] == "LOC":
			columns = f[1:]
		default:
			loc, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil || len(f) != len(columns)+1 {
				continue
			}
			row := make(map[string]string)
			for i, c := range columns {
				row[c] = f[1+i]
			}
			if !inFDE {
				cies[id] = row
				continue
			}
			fde := &list[len(list)-1]
			if n := len(fde.locs) - 1; fde.locs[n] == loc {
				fde.rows[n] = row // a later row for the same address
			} else if loc < fde.hi {
				fde.locs, fde.rows = append(fde.locs, loc), append(fde.rows, row)
			}
		}
	}
	flush()
	return all
}

// shown is a rule in readelf's words.
func shown(r *Rule) string {
	switch r.Kind {
	case AtCFA:
		return fmt.Sprintf("c%+d", r.Off)
	case CFAPlus:
		return fmt.Sprintf("v%+d", r.Off)
	case InReg:
		return r.Reg.String()
	case AtExpr:
		return "exp"
	case IsExpr:
		return "vexp"
	case Same:
		return "s"
	}
	return "u"
}

func shownCFA(r *Rule) string {
	if r.Kind == IsExpr {
		return "exp"
	}
	return fmt.Sprintf("%s%+d", r.Reg, r.Off)
}

// compare checks every row of every FDE against readelf's.
func compare(t *testing.T, s *elf.Frames, want []interpreted) (rows int) {
	t.Helper()
	if len(s.FDEs) != len(want) {
		t.Errorf("%d FDEs; want %d, as readelf has", len(s.FDEs), len(want))
	}
	bad := 0
	for i := range want {
		w := &want[i]
		f, ok := s.Find(w.lo)
		if !ok || f.Low != w.lo || f.High != w.hi {
			t.Errorf("no FDE for %#x..%#x", w.lo, w.hi)
			continue
		}
		for k, loc := range w.locs {
			end := w.hi
			if k+1 < len(w.locs) {
				end = w.locs[k+1]
			}
			rows++
			for _, pc := range []uint64{loc, end - 1} {
				row, ok := rowAt(s, pc)
				if !ok {
					t.Fatalf("%#x: no row", pc)
				}
				if got := shownCFA(&row.CFA); got != w.rows[k]["CFA"] {
					t.Errorf("%#x: CFA = %s; want %s", pc, got, w.rows[k]["CFA"])
					bad++
				}
				for r := range Reg(NumRegs) {
					want, listed := w.rows[k][r.String()]
					if !listed {
						want = "u"
					}
					if got := shown(&row.Regs[r]); got != want {
						t.Errorf("%#x: %s = %s; want %s", pc, r, got, want)
						bad++
					}
				}
			}
			if bad > 20 {
				t.Fatal("and so on")
			}
		}
	}
	return rows
}

// TestRowsAsReadelf: the rows of every FDE are those that binutils shows.
func TestRowsAsReadelf(t *testing.T) {
	for _, p := range []struct {
		name    string
		build   func() string
		section string
		atLeast int // rows
	}{
		{"C, dynamic", func() string { return buildC(t, "testdata/nofp.c") }, ".eh_frame", 30},
		{"C, static", func() string { return buildC(t, "testdata/nofp.c", "-static") }, ".eh_frame", 5000},
		{"C, debug_frame", func() string {
			return buildC(t, "testdata/nofp.c", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
		}, ".debug_frame", 30},
		{"C, 64-bit DWARF", func() string {
			return buildC(t, "testdata/nofp.c", "-gdwarf64", "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")
		}, ".debug_frame", 30},
		{"assembly", func() string { return buildC(t, "testdata/allcfa.s", "-nostdlib", "-static") }, ".eh_frame", 20},
		{"assembly, debug_frame", func() string {
			return buildC(t, "testdata/allcfa.s", "-nostdlib", "-static", "-Wa,--gdwarf-cie-version=4", "-Wa,--defsym,DEBUG=1")
		}, ".debug_frame", 20},
		{"Go", func() string { return buildGo(t, "../testdata/gosample") }, ".debug_frame", 5000},
	} {
		t.Run(p.name, func(t *testing.T) {
			path := p.build()
			tables, _ := open(t, path)
			s := tables.eh
			if p.section == ".debug_frame" {
				s = tables.df
			}
			want := readelf(t, path)[p.section]
			rows := compare(t, s, want)
			if rows < p.atLeast {
				t.Errorf("%d rows; want %d or more", rows, p.atLeast)
			}
			t.Logf("%d FDEs, %d rows equal", len(want), rows)
		})
	}
}
