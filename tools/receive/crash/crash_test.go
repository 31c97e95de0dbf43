package crash

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

var now = time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC)

// stackOf makes a trace of functions: one frame a string, inlined calls parted by blanks.
func stackOf(build string, base uint64, frames ...[]string) *wire.Trace {
	t := &wire.Trace{Kind: "panic", BuildID: build}
	for i, calls := range frames {
		f := wire.Frame{Kind: tracer.RA, Address: base + uint64(i)*32}
		for j, name := range calls {
			f.Calls = append(f.Calls, lookup.Call{Function: name, Offset: base & 0xff, File: "/x/" + name, Line: int(base & 0xfff), Inlined: j < len(calls)-1})
		}
		t.Frames = append(t.Frames, f)
	}
	return t
}

func fingerprint(t *wire.Trace) string { return Fingerprint(t.Kind, Functions(t)) }

func TestFingerprintIsOfFunctions(t *testing.T) {
	one := stackOf("aa", 0x201000, []string{"runtime.gopanic"}, []string{"main.leaf", "main.work"}, []string{"main.main"})
	want := fingerprint(one)
	if len(want) != 16 {
		t.Fatalf("fingerprint %q", want)
	}
	for name, same := range map[string]*wire.Trace{
		"another build":         stackOf("bb", 0x205123, []string{"runtime.gopanic"}, []string{"main.leaf", "main.work"}, []string{"main.main"}),
		"nothing inlined":       stackOf("bb", 0x205123, []string{"runtime.gopanic"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"more of the runtime":   stackOf("bb", 1<<20, []string{"runtime.fatalpanic"}, []string{"runtime.gopanic"}, []string{"runtime.goPanicIndex"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"recursion":             stackOf("bb", 1<<20, []string{"main.leaf"}, []string{"main.leaf"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"recursion through two": stackOf("bb", 1<<20, []string{"main.leaf"}, []string{"main.work"}, []string{"main.leaf"}, []string{"main.work"}, []string{"main.main"}),
		"a part of a function":  stackOf("bb", 1<<20, []string{"main.leaf.cold"}, []string{"main.work.part.0"}, []string{"main.main"}),
		"another instance":      stackOf("bb", 1<<20, []string{"main.leaf[go.shape.int]"}, []string{"main.work[...]"}, []string{"main.main"}),
	} {
		if got := fingerprint(same); got != want {
			t.Errorf("%s: %s of %q, want %s", name, got, Functions(same), want)
		}
	}
	for name, other := range map[string]*wire.Trace{
		"another function": stackOf("aa", 0x201000, []string{"main.leaf"}, []string{"main.play"}, []string{"main.main"}),
		"another order":    stackOf("aa", 0x201000, []string{"main.work"}, []string{"main.leaf"}, []string{"main.main"}),
		"no names":         stackOf("aa", 0x201000, nil, nil, nil),
	} {
		if got := fingerprint(other); got == want {
			t.Errorf("%s has the same fingerprint", name)
		}
	}
	fault := *one
	fault.Kind = "fault"
	if fingerprint(&fault) == want {
		t.Error("another kind has the same fingerprint")
	}
	if fingerprint(stackOf("aa", 0x201000, nil)) == fingerprint(stackOf("bb", 0x201000, nil)) {
		t.Error("addresses of two builds have the same fingerprint")
	}
	// What scanning has found counts for nothing.
	scanned := stackOf("aa", 0x201000, []string{"main.leaf"}, []string{"main.old"}, []string{"main.work"}, []string{"main.main"})
	scanned.Frames[1].Kind = tracer.Scan
	if got := fingerprint(scanned); got != want {
		t.Errorf("with a scanned frame: %q", Functions(scanned))
	}
}

// The fingerprint is kept for years: these may change with the version of the rules only.
func TestFingerprintIsStable(t *testing.T) {
	if got := Fingerprint("panic", []string{"main.leaf", "main.work", "main.main"}); got != "1cf4157eca1ef36d" {
		t.Errorf("%s: have the rules changed? Then their version must too", got)
	}
}

func TestReduceIsBounded(t *testing.T) {
	var names []string
	for i := range 3000 {
		names = append(names, fmt.Sprint("f", i))
	}
	if got := Reduce(names); len(got) != maxFunctions || got[0] != "f0" {
		t.Errorf("%q", got)
	}
	if got := Reduce([]string{"runtime.throw", "runtime.gopanic"}); !reflect.DeepEqual(got, []string{"runtime.throw", "runtime.gopanic"}) {
		t.Errorf("of the panicking code alone: %q", got)
	}
	if got := Reduce(nil); len(got) != 0 {
		t.Errorf("of nothing: %q", got)
	}
}

func crashes(from, to int) (list []*Crash) {
	for i := from; i < to; i++ {
		list = append(list, &Crash{
			ID: fmt.Sprintf("id%08d", i), Fingerprint: fmt.Sprintf("%016x", i%3), Kind: "panic", Type: "panic",
			Host: fmt.Sprintf("rack%d", i), BuildID: fmt.Sprintf("%02x", i%20), Time: now.Add(time.Duration(i) * time.Second),
			Functions: []string{"main.f"}, Reason: fmt.Sprint("reason ", i), Fatal: true,
		})
	}
	return list
}

func openStore(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStoreOverRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "crashes.db")
	if _, err := Groups(path); !errors.Is(err, ErrNoStore) {
		t.Errorf("before there is one: %v", err)
	}
	s := openStore(t, path)
	added, err := s.Add(crashes(0, 30), false)
	if err != nil || added[29].Count != 10 || added[29].Known || !added[29].First.Equal(now.Add(2*time.Second)) {
		t.Fatalf("%+v, %v", added[29], err)
	}
	s = openStore(t, path)
	added, err = s.Add(crashes(20, 40), false)
	if err != nil {
		t.Fatal(err)
	}
	if !added[0].Known || added[0].Count != 10 || added[19].Known || added[19].Count != 14 {
		t.Errorf("a known one: %+v, a new one: %+v", added[0], added[19])
	}
	groups, err := Groups(path)
	if err != nil || len(groups) != 3 {
		t.Fatalf("%d groups, %v", len(groups), err)
	}
	g := groups[0] // the latest
	if g.Fingerprint != "0000000000000000" || g.Count != 14 || !g.First.Equal(now) || !g.Last.Equal(now.Add(39*time.Second)) || g.Reason != "reason 39" {
		t.Errorf("%+v", g)
	}
	if len(g.Hosts) != maxListed || g.Hosts[maxListed-1] != "rack39" || len(g.Builds) != maxListed {
		t.Errorf("hosts %q, builds %q: want the latest %d", g.Hosts, g.Builds, maxListed)
	}
}

func TestSpool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crashes.db")
	s := openStore(t, path)
	list := crashes(0, 10)
	list[3].Fatal = false
	if _, err := s.Add(list, true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Add(list, true); err != nil { // again
		t.Fatal(err)
	}
	s = openStore(t, path)
	if n, err := s.Waiting(); n != 9 || err != nil {
		t.Fatalf("%d wait, %v; want the 9 that ended a kernel, once", n, err)
	}
	first, err := s.Oldest(4)
	if err != nil || len(first) != 4 || first[0].Crash.ID != "id00000000" || first[3].Crash.ID != "id00000004" {
		t.Fatalf("%v, %v", first, err)
	}
	if err := s.Remove(first); err != nil {
		t.Fatal(err)
	}
	if rest, _ := s.Oldest(100); len(rest) != 5 || rest[0].Crash.ID != "id00000005" {
		t.Errorf("after the removal: %v", rest)
	}
	if n, _ := s.Waiting(); n != 5 {
		t.Errorf("%d wait, want 5", n)
	}
}

// Several receivers and a reader share a store.
func TestSharedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crashes.db")
	var wg sync.WaitGroup
	for i := range 4 {
		s := openStore(t, path)
		wg.Go(func() {
			for j := range 10 {
				if _, err := s.Add(crashes(100*i+3*j, 100*i+3*j+3), true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 10 {
		if _, err := Groups(path); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	groups, err := Groups(path)
	if err != nil || len(groups) != 3 {
		t.Fatal(len(groups), err)
	}
	total := 0
	for _, g := range groups {
		total += int(g.Count)
	}
	if total != 120 {
		t.Errorf("%d crashes are counted, want 120", total)
	}
}

func TestOldGivesWay(t *testing.T) {
	s := openStore(t, filepath.Join(t.TempDir(), "crashes.db"))
	s.maxGroups, s.maxSeen = 64, 100
	for from := 0; from < 400; from += 10 {
		list := crashes(from, from+10)
		for i, c := range list {
			c.Fingerprint = fmt.Sprintf("%016x", from+i)
		}
		if _, err := s.Add(list, false); err != nil {
			t.Fatal(err)
		}
		groups, err := Groups(s.path)
		if err != nil || len(groups) > 64 || from > 64 && len(groups) < 56 {
			t.Fatalf("%d groups, %v", len(groups), err)
		}
		if want := fmt.Sprintf("%016x", from+9); groups[0].Fingerprint != want {
			t.Errorf("the latest group is %s, want %s", groups[0].Fingerprint, want)
		}
	}
	// Of the IDs, the latest are known.
	added, err := s.Add(append(crashes(390, 391), crashes(10, 11)...), false)
	if err != nil || !added[0].Known || added[1].Known {
		t.Errorf("%+v, %v; want the late one known and the early one forgotten", added, err)
	}
}

func TestTemporaryStore(t *testing.T) {
	s, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if added, err := s.Add(crashes(0, 1), false); err != nil || added[0].Count != 1 {
		t.Error(added, err)
	}
	s.Close()
	if _, err := os.Stat(s.path); err == nil {
		t.Error("it is left over")
	}
}

// A file that is no store, or a damaged one, is an error at worst, and never the end of
// the process.
func TestDamagedStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crashes.db")
	if _, err := openStore(t, path).Add(crashes(0, 300), true); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// All but the two meta pages: which of the others are in use is left to chance.
	zeroed := bytes.Clone(good)
	clear(zeroed[2*os.Getpagesize():])
	for name, data := range map[string][]byte{
		"text":   []byte("this is no database at all"),
		"zeros":  make([]byte, len(good)),
		"cut":    good[:len(good)/2+100],
		"a hole": zeroed,
	} {
		// A new name each time: the one before may be locked for good.
		path := filepath.Join(t.TempDir(), "crashes.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(path)
		if err == nil {
			_, err = s.Add(crashes(0, 310), true)
		}
		if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "move it away to begin anew") {
			t.Errorf("%s: %v; want an error that names the file and what to do", name, err)
		}
	}
}

func FuzzStore(f *testing.F) {
	f.Add("id", "0123456789abcdef", "panic", "reason", "main.f\nmain.main", true)
	f.Add("", "", "", "\xff\x00", "", false)
	f.Add("a", strings.Repeat("f", 400), "\x1b[2J", "\u2028", "a\n\n", true)
	s := openStore(f, "")
	total := map[string]uint64{}
	f.Fuzz(func(t *testing.T, id, fingerprint, kind, reason, functions string, fatal bool) {
		if id == "" || fingerprint == "" || len(id)+len(fingerprint) > 1000 {
			return // both are hashes
		}
		c := &Crash{ID: id, Fingerprint: fingerprint, Kind: kind, Reason: reason, Functions: strings.Split(functions, "\n"), Time: now, Fatal: fatal}
		first, err := s.Add([]*Crash{c}, true)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Add([]*Crash{c, c}, true)
		if err != nil || !again[0].Known || !again[1].Known || again[0].Count != first[0].Count {
			t.Fatalf("again: %+v after %+v, %v", again, first, err)
		}
		if !first[0].Known {
			total[fingerprint]++
		}
		if first[0].Count != total[fingerprint] {
			t.Fatalf("count %d, want %d", first[0].Count, total[fingerprint])
		}
		list, err := s.Oldest(1 << 20)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Remove(list); err != nil {
			t.Fatal(err)
		}
	})
}
