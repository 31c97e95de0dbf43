package symbol

import (
	"path/filepath"
	"testing"
)

// TestMachines: object files for machines that Linux runs on, and for small ones, answer
// as llvm-symbolizer does: their relocations are applied. They were made by
//
//	clang --target=MACHINE -g1 -O2 -ffreestanding -fno-ident -c machines.c
//
// and -gdwarf-4 for mips64el-4.
func TestMachines(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "machines", "*.o"))
	if err != nil || len(paths) < 15 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f := openTest(t, path)
			if f.dwarfData() == nil {
				t.Error(f.dwarfErr)
			}
			text := f.FirstSection(".text")
			var addrs []uint64
			for addr := text.Addr; addr < text.Addr+text.Len; addr += 2 {
				addrs = append(addrs, addr)
			}
			inlined := 0
			for i, want := range askLLVM(t, path, addrs) {
				got := f.Lookup(addrs[i], false)
				if len(got) > 1 {
					inlined++
				}
				same := len(got) == len(want) && len(got) > 0 && got[0].File == "/src/machines.c"
				for j := range want {
					same = same && got[j].Function == want[j].Function && got[j].File == want[j].File && got[j].Line == want[j].Line
				}
				if !same {
					t.Fatalf("%#x: %+v; want %+v", addrs[i], got, want)
				}
			}
			if inlined < 5 {
				t.Errorf("%d addresses with inlined calls; want more", inlined)
			}
		})
	}
}
