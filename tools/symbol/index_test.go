package symbol

import (
	"bytes"
	"errors"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"
)

// buildCpp builds a C++ program of templates, lambdas and exceptions.
func buildCpp(t testing.TB, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "cpp.elf")
	args := append([]string{"-g", "-o", out, "testdata/indexed.cc"}, flags...)
	if msg, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s(the tests need g++)", err, msg)
	}
	return out
}

// buildObject builds an object file with several sections of code.
func buildObject(t testing.TB) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "c.o")
	args := []string{"-g", "-O2", "-ffreestanding", "-ffunction-sections", "-c", "-o", out, "testdata/csample.c"}
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, msg)
	}
	return out
}

// changed returns what objcopy makes of a file.
func changed(t testing.TB, path string, args ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "changed.elf")
	if msg, err := exec.Command("objcopy", append(args, path, out)...).CombinedOutput(); err != nil {
		t.Fatalf("objcopy: %v\n%s", err, msg)
	}
	return out
}

// buildIndex builds the index of a file and returns the index's path.
func buildIndex(t testing.TB, path, folder string) string {
	t.Helper()
	index, err := openTest(t, path).BuildIndex(folder, DefaultIndexLimit, nil)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// indexed opens a file with its index.
func indexed(t testing.TB, path, folder string) *File {
	t.Helper()
	f := openTest(t, path)
	if !f.UseIndex(folder) || !f.HasIndex() {
		t.Fatalf("%s: UseIndex() = false", path)
	}
	return f
}

// askedOf returns addresses of a file: every one of its code, or up to about max of
// them, and those around each section's ends.
func askedOf(f *File, max int) []uint64 {
	addrs := []uint64{0, 1, ^uint64(0), ^uint64(0) - 1}
	total := uint64(0)
	for _, s := range f.TextSpans() {
		total += s.High - s.Low
	}
	random := rand.New(rand.NewSource(1))
	for _, s := range f.TextSpans() {
		for pc := s.Low - 2; pc != s.High+2; pc++ {
			if total <= uint64(max) || pc-s.Low < 4 || s.High-pc < 4 || random.Int63n(int64(total)) < int64(max) {
				addrs = append(addrs, pc)
			}
		}
	}
	return addrs
}

// sameAnswers compares what a file says with its index and without.
func sameAnswers(t *testing.T, path, folder string, max int) {
	t.Helper()
	addrs := askedOf(openTest(t, path), max)
	for _, ret := range []bool{false, true} {
		x := indexed(t, path, folder)
		got, want := x.LookupAll(addrs, ret), openTest(t, path).LookupAll(addrs, ret)
		for i := range addrs {
			if !reflect.DeepEqual(got[i], want[i]) && len(got[i])+len(want[i]) > 0 {
				t.Fatalf("%s: LookupAll(%#x, %t) = %+v; without an index %+v", filepath.Base(path), addrs[i], ret, got[i], want[i])
			}
			if i%7 != 0 {
				continue
			}
			if one := x.Lookup(addrs[i], ret); !reflect.DeepEqual(one, want[i]) && len(one)+len(want[i]) > 0 {
				t.Fatalf("%s: Lookup(%#x, %t) = %+v; without an index %+v", filepath.Base(path), addrs[i], ret, one, want[i])
			}
		}
		if !x.HasIndex() {
			t.Fatalf("%s: the index turned out to be damaged", path)
		}
	}
}

// TestIndexAnswers: with an index each address has the answer that it has without
// one, whatever the file.
func TestIndexAnswers(t *testing.T) {
	c, cpp := buildC(t, "-g"), buildCpp(t, "-O2", "-ffunction-sections")
	separate := changed(t, cpp, "--only-keep-debug")
	for name, path := range map[string]string{
		"C": c, "C without optimization": buildC(t, "-g", "-O0"), "DWARF 3": buildC(t, "-gdwarf-3"),
		"symbols alone": buildC(t, "-g0"), "many units": buildMany(t), "C++": cpp, "LTO": buildC(t, "-g", "-flto"),
		"object":                 buildObject(t),
		"compressed":             changed(t, cpp, "--compress-debug-sections=zlib"),
		"without .debug_aranges": changed(t, c, "-R", ".debug_aranges"),
		"without .debug_line":    changed(t, c, "-R", ".debug_line"),
		"without symbols":        changed(t, c, "--strip-all", "--keep-section=.debug_*"),
		"separate debug file":    changed(t, cpp, "--strip-all", "--add-gnu-debuglink="+separate),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "separate debug file" {
				dir := filepath.Dir(path)
				if err := os.Rename(separate, filepath.Join(dir, filepath.Base(separate)+".debug")); err != nil {
					t.Fatal(err)
				}
				link := filepath.Join(dir, filepath.Base(separate)+".debug")
				path = changed(t, path, "-R", ".gnu_debuglink", "--add-gnu-debuglink="+link)
				if err := os.Rename(link, filepath.Join(filepath.Dir(path), filepath.Base(link))); err != nil {
					t.Fatal(err)
				}
			}
			folder := t.TempDir()
			buildIndex(t, path, folder)
			sameAnswers(t, path, folder, 20000)
		})
	}
}

// TestIndexSame: an index is the same each time, however many processors make it.
func TestIndexSame(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	path := buildMany(t)
	var first []byte
	for i, n := range []int{1, 1, 2, 7} {
		runtime.GOMAXPROCS(n)
		b, err := os.ReadFile(buildIndex(t, path, t.TempDir()))
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Errorf("GOMAXPROCS %d: another index", n)
		}
	}
	// And so it is after look-ups, which read DWARF in another order.
	f := openTest(t, path)
	f.LookupAll(askedOf(f, 100), false)
	index, err := f.BuildIndex(t.TempDir(), DefaultIndexLimit, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(index); err != nil || !bytes.Equal(b, first) {
		t.Errorf("after look-ups: another index (%v)", err)
	}
}

// TestIndexNotBelieved: an index with any damage is not used, or given up when the
// damage is met; the answers are right all the same, and a new one is wanted.
func TestIndexNotBelieved(t *testing.T) {
	path, folder := buildC(t, "-g"), t.TempDir()
	index := buildIndex(t, path, folder)
	good, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	ref := openTest(t, path)
	addrs := askedOf(ref, 200)
	want := ref.LookupAll(addrs, false)
	check := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(index, b, 0o600); err != nil {
			t.Fatal(err)
		}
		f := openTest(t, path)
		f.UseIndex(folder)
		got := f.LookupAll(addrs, false)
		for i := range addrs {
			if !reflect.DeepEqual(got[i], want[i]) && len(got[i])+len(want[i]) > 0 {
				t.Fatalf("%s: LookupAll(%#x) = %+v; want %+v", what, addrs[i], got[i], want[i])
			}
		}
		if f.HasIndex() {
			return // what was damaged was not needed
		}
		if !f.WantsIndex() {
			t.Errorf("%s: no new index wanted", what)
		}
	}
	for at := 0; at < len(good); at += 3 {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		check("a bit turned", b)
	}
	for n := 0; n < len(good); n += 101 {
		check("cut", good[:n])
	}
	check("longer", append(bytes.Clone(good), 0))
	if check("whole", good); !indexed(t, path, folder).HasIndex() {
		t.Error("the whole index is not used")
	}
	// The damaged one is replaced.
	if err := os.WriteFile(index, good[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	buildIndex(t, path, folder)
	if b, err := os.ReadFile(index); err != nil || !bytes.Equal(b, good) {
		t.Errorf("after building it anew it is not as before (%v)", err)
	}
}

// TestIndexOfOther: an index is of one file and of no other.
func TestIndexOfOther(t *testing.T) {
	folder := t.TempDir()
	one, other := buildC(t, "-g", "-Wl,--build-id"), buildC(t, "-g", "-O0", "-Wl,--build-id")
	index := buildIndex(t, one, folder)
	if openTest(t, other).UseIndex(folder) {
		t.Fatal("the index of another file is used")
	}
	// Not even under its name.
	_, name, _ := openTest(t, other).indexID()
	if err := os.Rename(index, filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
	if openTest(t, other).UseIndex(folder) {
		t.Error("the index of another file is used under this one's name")
	}
	// The same build, changed since.
	buildIndex(t, one, folder)
	if openTest(t, changed(t, one, "-R", ".debug_line")).UseIndex(folder) {
		t.Error("the index is used though the file has lost its lines")
	}
	// Without a build ID the place and the time of the last change count.
	plain := buildC(t, "-g", "-Wl,--build-id=none")
	buildIndex(t, plain, folder)
	indexed(t, plain, folder)
	if err := os.Chtimes(plain, time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	if openTest(t, plain).UseIndex(folder) {
		t.Error("the index is used though the file has changed")
	}
}

// TestIndexRefused: files that need no index have none.
func TestIndexRefused(t *testing.T) {
	folder := t.TempDir()
	for _, path := range []string{buildGo(t, "testdata/gosample", ""), buildC(t, "-s")} {
		if _, err := openTest(t, path).BuildIndex(folder, DefaultIndexLimit, nil); !errors.Is(err, ErrNoIndexNeeded) {
			t.Errorf("BuildIndex() = %v; want %v", err, ErrNoIndexNeeded)
		}
		if openTest(t, path).UseIndex(folder) {
			t.Error("UseIndex() = true")
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%d files are left behind (%v)", len(entries), err)
	}
}

// TestIndexLimit: the folder does not outgrow its limit; what was used last stays.
func TestIndexLimit(t *testing.T) {
	folder := t.TempDir()
	paths := []string{buildC(t, "-g"), buildC(t, "-g", "-O0"), buildC(t, "-g", "-O1"), buildC(t, "-g", "-O3")}
	size := func(path string) int64 {
		t.Helper()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	limit := size(buildIndex(t, paths[3], t.TempDir()))
	for i, path := range paths[:3] {
		index := buildIndex(t, path, folder)
		if i != 1 { // for this one there is no room
			limit += size(index)
		}
		then := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(index, then, then); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(folder, "x.1"+tempSuffix)
	if err := os.WriteFile(stale, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(stale, time.Time{}, time.Now().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	indexed(t, paths[0], folder) // the oldest is used
	if _, err := openTest(t, paths[3]).BuildIndex(folder, limit, nil); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, true, true} {
		if got := openTest(t, paths[i]).UseIndex(folder); got != want {
			t.Errorf("index %d: there %t; want %t", i, got, want)
		}
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("what a dead writer left is still there")
	}
}

// TestIndexAtOnce: several writers and readers do not disturb each other.
func TestIndexAtOnce(t *testing.T) {
	path, folder := buildMany(t), t.TempDir()
	addrs := askedOf(openTest(t, path), 500)
	want := openTest(t, path).LookupAll(addrs, false)
	done := make(chan error)
	const n = 8
	for i := range n {
		go func() {
			done <- func() error {
				f, err := Open(path)
				if err != nil {
					return err
				}
				defer f.Close()
				if i%2 == 0 {
					_, err := f.BuildIndex(folder, DefaultIndexLimit, nil)
					return err
				}
				f.UseIndex(folder)
				if got := f.LookupAll(addrs, false); !reflect.DeepEqual(got, want) {
					return errors.New("other answers")
				}
				return nil
			}()
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	sameAnswers(t, path, folder, 500)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || strings.HasSuffix(entries[0].Name(), tempSuffix) {
		t.Errorf("files in the folder: %v (%v)", entries, err)
	}
}
