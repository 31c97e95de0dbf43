package symbol

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

const sections = " -ffunction-sections -T image.ld"

// droppedRows are programs with functions and assembly that the linker drops.
var droppedRows = []struct {
	name, build string
	silent      bool // the code at 0 has no lines, since nothing tells it from what was dropped
	agree       bool // together and from an index the answers are the same
}{
	{"a function", "gcc -gdwarf-5 dead.c live.c" + sections, false, true},
	{"DWARF 4", "gcc -gdwarf-4 live.c dead.c" + sections, false, false},
	{"DWARF 2", "gcc -gdwarf-2 -gstrict-dwarf live.c dead.c" + sections, false, false},
	{"DWARF 3, 32 bits", "gcc -gdwarf-3 -m32 live.c dead.c" + sections, false, false},
	{"32 bits", "gcc -gdwarf-5 -m32 dead.c live.c" + sections, false, false},
	{"no aranges", "clang -gdwarf-5 dead.c live.c" + sections, false, false},
	{"clang, DWARF 4", "clang -gdwarf-4 dead.c live.c" + sections, false, false},
	{"gold", "gcc -gdwarf-5 -fuse-ld=gold dead.c live.c" + sections, false, false},
	{"gold, DWARF 4", "clang -gdwarf-4 -fuse-ld=gold dead.c live.c" + sections, false, false},
	{"whole units", "gcc -gdwarf-5 live.c dead.c dead.s -T image.ld", false, true},
	{"whole units, gold", "gcc -gdwarf-5 -fuse-ld=gold live.c dead.c dead.s -T image.ld", false, false},
	{"vectors without debug information", "gcc -gdwarf-5 dead.c live.c vectors.o" + sections, false, false},
	{"vectors", "gcc -gdwarf-5 vectors.s dead.c dead.s live.c" + sections, false, true},
	{"dropped assembly", "gcc -gdwarf-5 dead.s live.c dead.c" + sections, false, false},
	{"dropped assembly, vectors", "gcc -gdwarf-5 dead.s live.c dead.c vectors.o" + sections, false, false},
	{"C++", "g++ -gdwarf-5 -x c++ dead.c live.c" + sections, false, false},
	{"lines only", "clang -gline-tables-only vectors.s dead.c live.c" + sections, true, true},
	{"little", "gcc -g1 vectors.s dead.c live.c" + sections, true, false},
	{"split", "gcc -gdwarf-5 -gsplit-dwarf -dumpdir DIR dead.c live.c" + sections, true, false},
	{"LTO", "gcc -gdwarf-5 -flto -flto-partition=none dead.c live.c" + sections, false, false},
	{"no symbols", "gcc -gdwarf-5 dead.c live.c -Wl,--defsym=STRIPPED=1" + sections, true, false},
}

// TestDroppedAtZero: where text is at address 0, what the linker dropped (--gc-sections) answers
// for nothing, and what is there does: all answers are those of the program linked elsewhere.
func TestDroppedAtZero(t *testing.T) {
	bare := " -O1 -ffreestanding -fno-asynchronous-unwind-tables -fno-pic -nostdlib -static" +
		" -Wl,--gc-sections,--build-id=none,-z,noexecstack"
	object := filepath.Join(t.TempDir(), "vectors.o")
	command(t, "testdata/dead", "as", "-o", object, "vectors.s")
	for _, tt := range droppedRows {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			link := func(base string) string {
				path := filepath.Join(dir, base)
				in := strings.NewReplacer("vectors.o", object, "DIR", path)
				args := strings.Fields(in.Replace(tt.build + bare))
				command(t, "testdata/dead", args[0], append(args[1:], "-Wl,--defsym=BASE="+base, "-o", path)...)
				if strings.Contains(tt.build, "STRIPPED") {
					command(t, ".", "strip", "--strip-all", "--keep-section=.debug*", path)
				}
				return path
			}
			const off = 0x100000
			path := link("0")
			f, far := openTest(t, path), openTest(t, link("0x100000"))
			addrs, known := textAddrs(f, 1), 0
			for _, pc := range addrs {
				got, want := f.Lookup(pc, false), far.Lookup(pc+off, false)
				if len(want) > 0 && want[0].Line > 0 {
					known++
				}
				quiet := len(got) == 0 || got[0].Line == 0
				if !equalFrames(got, want) && !(tt.silent && quiet) {
					t.Errorf("%#x: %+v; want %+v", pc, got, want)
				}
			}
			if known < len(addrs)/3 || len(addrs) < 0x40 {
				t.Errorf("only %d of %d addresses have lines: this tests nothing", known, len(addrs))
			}
			if tt.agree {
				agree(t, rand.New(rand.NewPCG(1, 1)), path, addrs)
			}
			for line := range 40 {
				for _, file := range []string{"live.c", "dead.c", "vectors.s", "dead.s"} {
					got, _, _ := f.Places(file, line)
					want, _, _ := far.Places(file, line)
					if len(got) != len(want) && !tt.silent || len(got) > len(want) {
						t.Errorf("%s:%d: %x; want %x, less %#x", file, line, got, want, off)
					}
				}
			}
		})
	}
}
