package symbol

// Versions of llvm-symbolizer other than that of package symbolizer, as far as they are in
// PATH, answer alike too, but for what is named here.

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// fileWithoutLine: seen in versions 14 and 19. A frame that has no line, in strict DWARF 2
// the one around an inlined call, is said to be in the file that the symbol table names.
func fileWithoutLine(got, want []lookup.Call) bool {
	want = slices.Clone(want)
	for i := range want {
		if want[i].Line == 0 && want[i].File == filepath.Base(want[i].File) {
			want[i].File = ""
		}
	}
	return equalFrames(got, want)
}

// TestGateVersions compares with every version in PATH that has its number in its name.
func TestGateVersions(t *testing.T) {
	programs := map[string]string{"shared": buildShared(t, 1)}
	for _, flags := range []string{"-gdwarf-2 -gstrict-dwarf", "-gdwarf-2", "-gdwarf-4", "-gdwarf-5"} {
		args := append(strings.Fields(flags), "-O2", "csample.c")
		programs[flags] = compile(t, "c", "gcc", append(args, bare...)...)
	}
	tools := make(map[string]string)
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		found, _ := filepath.Glob(filepath.Join(dir, "llvm-symbolizer-[0-9]*"))
		for _, tool := range found {
			tools[tool[strings.LastIndexByte(tool, '-')+1:]] = tool
		}
	}
	if len(tools) == 0 {
		t.Fatal("no llvm-symbolizer-VERSION in PATH: run tools/setup.sh test, which installs one")
	}
	for version, tool := range tools {
		same := fileWithoutLine
		if version == symbolizer.Version {
			same = nil
		}
		t.Run(version, func(t *testing.T) {
			for name, path := range programs {
				f := openTest(t, path)
				addrs := sectionAddrs(f, ".text", 1)
				compare(addrs, f.LookupAll(addrs, false), askTool(t, tool, path, addrs), same).gate(t, name, 100)
			}
		})
	}
}
