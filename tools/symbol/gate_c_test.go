package symbol

import (
	stdelf "debug/elf"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// compile runs a compiler on testdata files and returns the program's path.
func compile(t *testing.T, name, compiler string, args ...string) string {
	t.Helper()
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), name)
	command(t, dir, compiler, append(args, "-o", out)...)
	return out
}

// bare are the flags of programs without a C library.
var bare = []string{"-nostdlib", "-static", "-ffreestanding", "-Wl,--build-id"}

// TestGateDWARF holds each byte of programs of all versions of DWARF, in all ways of
// keeping it, against llvm-symbolizer.
func TestGateDWARF(t *testing.T) {
	type program struct {
		name string
		args []string
	}
	var programs []program
	for _, version := range []string{"2", "3", "4", "5"} {
		for _, level := range []string{"-O0", "-O2"} {
			programs = append(programs, program{"dwarf" + version + level, []string{"-gdwarf-" + version, level}})
		}
	}
	programs = append(programs,
		program{"strict2", []string{"-gdwarf-2", "-gstrict-dwarf", "-O2"}},
		program{"dwarf64", []string{"-g", "-gdwarf64", "-O2"}},
		program{"zlib", []string{"-g", "-O2", "-gz=zlib"}},
		program{"types", []string{"-g", "-O2", "-fdebug-types-section"}},
		program{"types4", []string{"-gdwarf-4", "-O2", "-fdebug-types-section"}},
		program{"lines only", []string{"-g1", "-O2"}},
		program{"sections", []string{"-g", "-O2", "-ffunction-sections", "-Wl,--gc-sections"}},
		program{"m32", []string{"-g", "-O2", "-m32"}},
		program{"lto", []string{"-g", "-O2", "-flto"}},
	)
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			path := compile(t, "c", "gcc", append(append(p.args, bare...), "csample.c")...)
			againstLLVM(t, path, 1, 100)
		})
	}
}

// TestGateCold: calls inlined into a function's cold part are found where DWARF names that
// part and where, in DWARF 2, it cannot; alone, together and from an index.
func TestGateCold(t *testing.T) {
	for _, flags := range [][]string{{"-gdwarf-2", "-gstrict-dwarf"}, {"-gdwarf-2"}, {"-gdwarf-5"}} {
		path := compile(t, "cold", "gcc", append(append(flags, "-O2", "-freorder-blocks-and-partition", "cold.c"), bare...)...)
		f := openTest(t, path)
		addrs := textAddrs(f, 1)
		want := askLLVM(t, path, addrs)
		compare(addrs, f.LookupAll(addrs, false), want, nil).gate(t, strings.Join(flags, " "), 100)
		agree(t, rand.New(rand.NewPCG(1, 1)), path, addrs)
		inlined := 0
		for _, pc := range addrs {
			if fr := f.Lookup(pc, false); len(fr) > 1 && strings.HasSuffix(fr[len(fr)-1].Function, ".cold") {
				inlined++
			}
		}
		if inlined == 0 {
			t.Errorf("%v: no calls inlined into cold parts; the test wants some", flags)
		}
	}
}

// TestGateCPP: C++ with namespaces, templates, lambdas and inlined calls in all of
// them; its names as in the source; and the same after dwz has moved what its units
// share into units of their own, in the same file.
func TestGateCPP(t *testing.T) {
	path := compile(t, "cpp", "g++", "-g", "-O2", "indexed.cc", "other.cc")
	f := openTest(t, path)
	// Only .text: to llvm-symbolizer the .plt is a part of _init.
	addrs := sectionAddrs(f, ".text", 1)
	want := askLLVM(t, path, addrs)
	compare(addrs, f.LookupAll(addrs, false), want, nil).gate(t, "C++", 100)
	readable := 0
	for _, pc := range addrs {
		for _, fr := range f.Lookup(pc, false) {
			if name := demangle.Filter(fr.Function); name != fr.Function && strings.Contains(name, "::") {
				readable++
			}
		}
	}
	if readable == 0 {
		t.Error("no name can be demangled")
	}
	size := f.FirstSection(".debug_info").Len
	command(t, ".", "dwz", path)
	f = openTest(t, path)
	if f.FirstSection(".debug_info").Len >= size {
		t.Fatal("dwz has done nothing")
	}
	compare(addrs, f.LookupAll(addrs, false), want, nil).gate(t, "C++ after dwz", 100)
}

// TestGateObjectTypes: in an object file each type may have a .debug_info of its own,
// which is not that of the functions.
func TestGateObjectTypes(t *testing.T) {
	with := openTest(t, compile(t, "with.o", "g++", "-gdwarf-5", "-O2", "-fdebug-types-section", "-c", "other.cc"))
	without := openTest(t, compile(t, "without.o", "g++", "-gdwarf-5", "-O2", "-c", "other.cc"))
	if s := with.FirstSection(".debug_info"); s.Flags&stdelf.SHF_GROUP == 0 {
		t.Fatal("the first .debug_info is not that of a type")
	}
	if n := sameFrames(t, with, without); n < 20 {
		t.Errorf("%d addresses with inlined calls; want more", n)
	}
}

// TestGateRust: a program in Rust, of which the source is testdata/rsample.rs; and its
// names as in the source.
func TestGateRust(t *testing.T) {
	path := filepath.Join("testdata", "objects", "rust.linked")
	againstLLVM(t, path, 1, 100)
	f := openTest(t, path)
	names := map[string]bool{}
	for _, pc := range textAddrs(f, 1) {
		for _, fr := range f.Lookup(pc, false) {
			names[demangle.Filter(fr.Function)] = true
		}
	}
	for _, want := range []string{"<rsample::Square as rsample::Shape>::area", "rsample::nested::bits::<4>", "_start"} {
		if !names[want] {
			t.Errorf("no %s in %v", want, names)
		}
	}
}

// TestGateSymbolsOnly: without DWARF the names are there, and where only the dynamic
// symbols are left, those.
func TestGateSymbolsOnly(t *testing.T) {
	path := compile(t, "c", "gcc", append([]string{"-g0", "-O2"}, append(bare, "csample.c")...)...)
	f := openTest(t, path)
	addrs := textAddrs(f, 1)
	// llvm-symbolizer takes the file of a symbol table for known; it has no folder.
	sameName := func(got, want []lookup.Call) bool {
		return len(got) == len(want) && len(got) == 1 && got[0].Function == want[0].Function && want[0].Line == 0
	}
	compare(addrs, f.LookupAll(addrs, false), askLLVM(t, path, addrs), sameName).gate(t, "symbol table", 100)

	shared := compile(t, "c.so", "gcc", "-g0", "-O2", "-shared", "-fPIC", "-nostdlib", "-ffreestanding", "csample.c")
	stripped := shared + ".stripped"
	command(t, ".", "strip", "-s", "-o", stripped, shared)
	f = openTest(t, stripped)
	addr, size, ok := f.Symbol("_start")
	if !ok || size == 0 {
		t.Fatal("no dynamic symbol _start")
	}
	for pc := addr; pc < addr+size; pc++ {
		if got := f.Lookup(pc, false); len(got) != 1 || got[0].Function != "_start" || got[0].Offset != pc-addr {
			t.Fatalf("Lookup(%#x) = %+v; want _start+%#x", pc, got, pc-addr)
		}
	}
}

// TestGateAssembly: labels that have neither type nor size name the code up to the
// next one, and with -g its lines are known.
func TestGateAssembly(t *testing.T) {
	f := openTest(t, buildLabels(t))
	for name, n := range map[string]uint64{"inner": 1, "last": 2, "other": 2} {
		addr, _, ok := f.Symbol(name)
		if !ok {
			t.Fatalf("no symbol %s", name)
		}
		for off := range n {
			if got := f.Lookup(addr+off, false); len(got) != 1 || got[0].Function != name || got[0].Offset != off {
				t.Errorf("Lookup(%s+%d) = %+v", name, off, got)
			}
		}
	}
	linked := filepath.Join(t.TempDir(), "a.elf")
	command(t, ".", "gcc", "-g", "-nostdlib", "-static", "-o", linked, "testdata/labels.s")
	f = openTest(t, linked)
	// To llvm-symbolizer the last label ends with what is known of it, nowhere.
	addrs := textAddrs(f, 1)
	compare(addrs, f.LookupAll(addrs, false), askLLVM(t, linked, addrs), nil).gate(t, "assembly", 100)
}
