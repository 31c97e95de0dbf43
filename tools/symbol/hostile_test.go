package symbol

import (
	"bytes"
	"compress/zlib"
	stdelf "debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol/elf"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// withSection returns the ELF file with other contents for a section: they are put
// behind the file, and the section's header leads there.
func withSection(t testing.TB, b []byte, name string, contents []byte) []byte {
	t.Helper()
	f := newTest(t, b)
	i := slices.IndexFunc(f.Sections, func(s elf.Section) bool { return s.Name == name })
	if i < 0 || f.Class != stdelf.ELFCLASS64 {
		t.Fatalf("no section %s in a 64-bit file", name)
	}
	le := binary.LittleEndian
	out := append(bytes.Clone(b), contents...)
	header := out[le.Uint64(out[40:])+uint64(i)*64:]
	le.PutUint64(header[24:], uint64(len(b)))
	le.PutUint64(header[32:], uint64(len(contents)))
	return out
}

// contentsOf returns what a section of an ELF file has.
func contentsOf(t testing.TB, b []byte, name string) []byte {
	t.Helper()
	f := newTest(t, b)
	s := f.FirstSection(name)
	if s == nil {
		t.Fatalf("no section %s", name)
	}
	data, err := f.Data(s)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// askAll asks a file from anywhere all there is to ask about some addresses, and
// returns how many bytes that took.
func askAll(b []byte, addrs ...uint64) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	file, err := NewFile(bytes.NewReader(b), int64(len(b)), "fuzz")
	if err == nil {
		file.CanResolve()
		file.BuildID()
		for _, a := range addrs {
			file.Lookup(a, false)
			file.Details(a, false)
			file.Locals(a)
			file.FullNamesAll([]uint64{a}, [][]lookup.Call{file.Lookup(a, true)})
			file.Nearest(a)
			file.Preceding(a)
			file.SPDelta(a)
			file.FollowsCall(a)
		}
		file.LookupAll(addrs, true)
		file.Declared(addrs[0])
		file.Places("csample.c", 3)
		file.Symbol("main.main")
		file.Named("loop")
		file.MapSymbols()
		for range file.Functions() {
		}
		if m := file.Code(); m != nil && len(addrs) > 0 {
			m.CallBefore(addrs[0])
		}
		file.Close()
	}
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// askLimit is how many bytes askAll may take for a file of n: 1 KB may not take 100 MB.
func askLimit(n int) uint64 { return 64<<20 + 2048*uint64(n) }

// askBound is far more time than a small file may take.
const askBound = 20 * time.Second

// hostile asks the file and checks what that cost.
func hostile(t *testing.T, b []byte, addrs ...uint64) {
	t.Helper()
	start := time.Now()
	if used := askAll(b, addrs...); used > askLimit(len(b)) {
		t.Errorf("%d bytes allocated for a file of %d", used, len(b))
	}
	if took := time.Since(start); took > askBound {
		t.Errorf("%v for a file of %d bytes", took, len(b))
	}
}

// fuzzSection fuzzes one section of otherwise good programs, built with each of flags.
func fuzzSection(f *testing.F, flags []string, sections ...string) {
	var programs [][]byte
	for i, flag := range flags {
		b, err := os.ReadFile(buildC(f, flag, "-fno-ident"))
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, b)
		for n, name := range sections {
			if newTest(f, b).FirstSection(name) != nil {
				f.Add(uint8(i), uint8(n), contentsOf(f, b, name))
			}
		}
	}
	f.Fuzz(func(t *testing.T, program, section uint8, contents []byte) {
		b := programs[int(program)%len(programs)]
		name := sections[int(section)%len(sections)]
		if newTest(t, b).FirstSection(name) == nil {
			return
		}
		hostile(t, withSection(t, b, name, contents), 0x401000, 0x401010, 0x401050, 0x4010a0, 0x4010e0)
	})
}

// FuzzInfo: entries from anywhere.
func FuzzInfo(f *testing.F) { fuzzSection(f, []string{"-gdwarf-5", "-gdwarf-2"}, ".debug_info") }

// FuzzAbbrev: shapes of entries from anywhere.
func FuzzAbbrev(f *testing.F) { fuzzSection(f, []string{"-gdwarf-5", "-gdwarf-4"}, ".debug_abbrev") }

// FuzzLine: line programs and their headers from anywhere.
func FuzzLine(f *testing.F) { fuzzSection(f, []string{"-gdwarf-5", "-gdwarf-3"}, ".debug_line") }

// FuzzRanges: lists of pieces of text, and which unit has which, from anywhere.
func FuzzRanges(f *testing.F) {
	fuzzSection(f, []string{"-gdwarf-5", "-gdwarf-4"}, ".debug_rnglists", ".debug_ranges", ".debug_aranges")
}

// FuzzGoTable: a pc table from anywhere, and module data that leads into it.
func FuzzGoTable(f *testing.F) {
	whole := smallGo()
	for _, name := range []string{".gopclntab", ".go.module"} {
		f.Add(name == ".go.module", contentsOf(f, whole, name))
	}
	f.Fuzz(func(t *testing.T, module bool, contents []byte) {
		name := ".gopclntab"
		if module {
			name = ".go.module"
		}
		hostile(t, withSection(t, whole, name, contents), 0x200000, 0x200010, 0x200041, 0x2000ff, 0x200100)
	})
}

// TestHostileMemory: small files, whole ones and damaged ones at random, take memory
// and time in proportion.
func TestHostileMemory(t *testing.T) {
	var seeds [][]byte
	add := func(path string) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, b)
	}
	for _, flags := range [][]string{{"-gdwarf-5"}, {"-gdwarf-4"}, {"-gdwarf-2"}, {"-g", "-gz"}, {"-g", "-c"}, {"-s"}} {
		add(buildC(t, flags...))
	}
	for _, arch := range []string{"riscv64", "arm64"} {
		add(filepath.Join("testdata", "objects", arch+".o"))
	}
	seeds = append(seeds, smallGo(), makeELF(nil))
	random := rand.New(rand.NewPCG(5, 5))
	most, tried := 0.0, 0
	for _, seed := range seeds {
		for n := range 150 {
			b := bytes.Clone(seed)
			if n > 0 {
				damage(random, b)
			}
			if n%10 == 9 {
				b = b[:random.IntN(len(b))]
			}
			hostile(t, b, 0x401010, 0x401050, 0x200041, 0, 0x10, 1<<32, ^uint64(0))
			tried++
			most = max(most, float64(askAll(b, 0x401010))/float64(len(b)))
		}
	}
	t.Logf("%d files; at most %.0f bytes allocated for each of a file", tried, most)
}

// damage changes some bytes, mostly to values that numbers go wrong with.
func damage(random *rand.Rand, b []byte) {
	values := []byte{0, 1, 0x7f, 0x80, 0xff}
	for range 1 + random.IntN(20) {
		i := random.IntN(len(b))
		switch random.IntN(3) {
		case 0:
			b[i] ^= 1 << random.IntN(8)
		case 1:
			b[i] = values[random.IntN(len(values))]
		case 2:
			for ; i < len(b) && random.IntN(8) > 0; i++ {
				b[i] = values[random.IntN(len(values))]
			}
		}
	}
}

// TestBombs: a kilobyte that claims to be more takes little.
func TestBombs(t *testing.T) {
	unfolds := func(size int) []byte {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		w.Write(make([]byte, size))
		w.Close()
		chdr := make([]byte, 24)
		chdr[0] = byte(stdelf.COMPRESS_ZLIB)
		binary.LittleEndian.PutUint64(chdr[8:], uint64(size))
		return append(chdr, z.Bytes()...)
	}
	text := testSection{name: ".text", typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_ALLOC | stdelf.SHF_EXECINSTR, addr: 0x401000, size: 1 << 40}
	text.data = make([]byte, 16)
	for _, names := range [][]string{
		{".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_ranges", ".debug_aranges"},
		{".symtab", ".strtab", ".gopclntab"},
	} {
		for _, size := range []int{1 << 16, 1 << 20, 1 << 24} {
			sections := []testSection{text}
			for _, name := range names {
				s := testSection{name: name, typ: stdelf.SHT_PROGBITS, flags: stdelf.SHF_COMPRESSED, data: unfolds(size)}
				if name == ".symtab" {
					s.typ, s.link = stdelf.SHT_SYMTAB, 3
				}
				sections = append(sections, s)
				if len(makeELF(sections)) > 4<<10 {
					break
				}
			}
			hostile(t, makeELF(sections), 0x401000, 0x401008, 0)
		}
	}
}
