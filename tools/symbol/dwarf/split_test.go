package dwarf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
)

// FuzzSplit: what another file has of a unit gives answers or none, in bounded memory.
func FuzzSplit(f *testing.F) {
	dir := f.TempDir()
	source, err := filepath.Abs("../testdata/csample.c")
	if err != nil {
		f.Fatal(err)
	}
	build := func(version string) (prog []byte) {
		for _, line := range []string{
			"gcc -O2 -ffreestanding -nostdlib -static -gsplit-dwarf " + version + " -o prog -dumpdir ./ \"$1\"",
			"dwp -e prog -o prog.dwp",
		} {
			cmd := exec.Command("sh", "-c", line, "sh", source)
			cmd.Dir = dir
			if msg, err := cmd.CombinedOutput(); err != nil && !strings.HasPrefix(line, "dwp") {
				f.Fatalf("%s: %v\n%s", line, err, msg)
			}
		}
		prog, err := os.ReadFile(filepath.Join(dir, "prog"))
		if err != nil {
			f.Fatal(err)
		}
		paths, _ := filepath.Glob(filepath.Join(dir, "*.dw[op]"))
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, version == "-gdwarf-5")
			os.Remove(path)
		}
		if len(paths) == 0 {
			f.Fatal("gcc has written no .dwo")
		}
		return prog
	}
	progs := map[bool][]byte{false: build("-gdwarf-4"), true: build("-gdwarf-5")}
	f.Fuzz(func(t *testing.T, b []byte, five bool) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		prog, err := elf.NewFile(bytes.NewReader(progs[five]), int64(len(progs[five])), "prog.elf")
		if err != nil {
			t.Fatal(err)
		}
		d, err := Open(prog)
		if err != nil {
			t.Fatal(err)
		}
		file, err := elf.NewFile(bytes.NewReader(b), int64(len(b)), "fuzz.dwo")
		if err != nil {
			return
		}
		s := d.splitData(file)
		if s == nil {
			return
		}
		if s.parts, err = readUnitIndex(file); err != nil {
			return
		}
		if len(s.parts) == 0 { // a .dwo file: its unit is the first
			r := d.main
			for _, base := range d.allUnits() {
				if u := r.unit(base); u != nil {
					r.Allow()
					r.root(u)
					s.parts = map[uint64]dwoPart{u.dwoID: {}}
				}
			}
		}
		d.dwpOnce.Do(func() { d.dwp = s })
		text := prog.FirstSection(".text")
		for pc := text.Addr; pc < text.Addr+text.Len; pc += 5 {
			d.Lookup(pc, "")
		}
		runtime.ReadMemStats(&after)
		if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(64<<20+1024*len(b)); got > limit {
			t.Errorf("%d bytes allocated for a file of %d", got, len(b))
		}
	})
}
