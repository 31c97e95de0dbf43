package handle

import (
	"bytes"
	"errors"
	"flag"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

// The snapshot is that of a run of qemu/testdata/resources, with names:
//
//	zf run -handles twice.snapshot -append record=fds,maps,futexes,user ./qemu/testdata/resources -- twice

var update = flag.Bool("update", false, "write the golden files anew")

func snapshot(t testing.TB) (data []byte, s *Snapshot) {
	t.Helper()
	data, err := os.ReadFile("testdata/twice.snapshot")
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Read(data); err != nil {
		t.Fatal(err)
	}
	return data, s
}

// golden compares text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
	}
	for l := range strings.Lines(got) {
		if len(l) > Columns+1 {
			t.Errorf("%s: a line of %d columns: %q", name, len(l)-1, l)
		}
	}
}

var options = Options{Stacks: 10, Frames: 16, Dir: "/home/gopher/zeroframe"}

func TestHandles(t *testing.T) {
	_, s := snapshot(t)
	var b strings.Builder
	if err := s.Handles(&b, options); err != nil {
		t.Fatal(err)
	}
	golden(t, "handles.txt", b.String())
	b.Reset()
	o := options
	o.Kinds = []string{"map"}
	o.Stacks, o.Frames = 2, 3
	if err := s.Handles(&b, o); err != nil {
		t.Fatal(err)
	}
	golden(t, "maps.txt", b.String())
}

func TestAbout(t *testing.T) {
	_, s := snapshot(t)
	var b strings.Builder
	for _, key := range []string{"fd:5", "fds:0x5", "fd:77"} {
		k, err := s.ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.About(&b, k, 3, options); err != nil {
			t.Fatal(err)
		}
		b.WriteString("\n")
	}
	golden(t, "about.txt", b.String())
	// A mapping is found by an address within.
	m := s.Open[len(s.Open)-1]
	for _, h := range s.Open {
		if h.Kind == kindMaps {
			m = h
		}
	}
	if e := s.EventsOf(Key{kindMaps, m.Key + m.Size - 1}); len(e) == 0 {
		t.Errorf("no events of the last byte of %#x", m.Key)
	}
	for _, tt := range []struct{ key, want string }{{"fish:1", "want KIND:KEY"}, {"fd", "want a number"}, {"fd:x", "want a number"}, {"", "want KIND:KEY"}} {
		if _, err := s.ParseKey(tt.key); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("ParseKey(%q): %v; want %q", tt.key, err, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	_, s := snapshot(t)
	var b strings.Builder
	if err := s.JSON(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"kind":"fd","key":"5"`, `"function":"main.closeAgain"`, `"first":{"time_ns":`, `"event":"second close"`, `"syscall":3`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the JSON lacks %s", want)
		}
	}
}

// TestNames: the record alone has no names, and gets the same ones again.
func TestNames(t *testing.T) {
	data, s := snapshot(t)
	bare, _, ok := bytes.Cut(data, []byte(namesMagic))
	if !ok || !s.Named() {
		t.Fatal("the file has no names")
	}
	plain, err := Read(bare)
	if err != nil || plain.Named() {
		t.Fatalf("the record alone: %v, named: %v", err, plain.Named())
	}
	again, err := s.WithNames(bare)
	if err != nil {
		t.Fatal(err)
	}
	other, err := Read(again)
	if err != nil {
		t.Fatal(err)
	}
	var a, b strings.Builder
	s.Handles(&a, options)
	other.Handles(&b, options)
	if a.String() != b.String() {
		t.Errorf("with names written again:\n%s\nwant\n%s", b.String(), a.String())
	}
}

// TestCut: a snapshot that is cut anywhere is an error, not a shorter one.
func TestCut(t *testing.T) {
	data, _ := snapshot(t)
	for n := range data {
		if _, err := Read(data[:n]); err == nil && !bytes.HasPrefix(data[n:], []byte(namesMagic)) {
			t.Fatalf("%d of %d bytes are read without an error", n, len(data))
		}
	}
	if _, err := Read([]byte("zf1 begin")); !errors.Is(err, ErrNoSnapshot) {
		t.Errorf("no snapshot: %v", err)
	}
}

func TestGrown(t *testing.T) {
	stack := func(f string) []Frame { return []Frame{{Addr: 1, Calls: []Call{{Function: f, Line: 3}}}} }
	before := []Use{{Kind: "fd", Frames: stack("a"), Count: 2}, {Kind: "map", Frames: stack("b"), Count: 1, Bytes: 100}, {Kind: "map", Frames: stack("c"), Count: 9, Bytes: 900}}
	after := []Use{{Kind: "fd", Frames: stack("a"), Count: 7}, {Kind: "map", Frames: stack("b"), Count: 2, Bytes: 5000}, {Kind: "map", Frames: stack("d"), Count: 1, Bytes: 70}, {Kind: "fd", Frames: stack("b"), Count: 9}}
	var got []string
	for _, u := range Grown(before, after) {
		got = append(got, u.Kind+u.Frames[0].Calls[0].Function)
	}
	if g, want := strings.Join(got, " "), "mapb mapd fdb fda mapc"; g != want {
		t.Errorf("the order is %s; want %s", g, want)
	}
	all := Grown(before, after)
	ByCount(all)
	if u := all[0]; u.Kind != "fd" || u.Count != 9 || u.Before != 0 || u.After != 9 {
		t.Errorf("by number the first is %+v", u)
	}
	var b strings.Builder
	if err := Leaks(&b, Grown(before, after), true, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "leaks.txt", b.String())
	if d := Grown(after, after); len(d) != 0 {
		t.Errorf("the difference of the same: %+v", d)
	}
}

func TestWords(t *testing.T) {
	for _, tt := range []struct {
		kind, key uint64
		want      string
	}{{kindFDs, 7, "7"}, {kindTimers, 0, "real"}, {kindTimers, 2, "profiling"}, {kindTimers, 1<<24 + 5, "sleep of thread 5"}, {kindTimers, 1<<16 + 9, "timer 9"}, {kindPages, 0x1000, "0x1000"}, {99, 10, "0xa"}} {
		if got := KeyName(tt.kind, tt.key); got != tt.want {
			t.Errorf("KeyName(%d, %#x) = %q; want %q", tt.kind, tt.key, got, tt.want)
		}
	}
	for _, tt := range []struct {
		n    int64
		want string
	}{{math.MinInt64, "-8388608 TiB"}, {0, "0 B"}, {10239, "10239 B"}, {10240, "10 KiB"}, {-20480, "-20 KiB"}, {10 << 20, "10 MiB"}} {
		if got := Size(tt.n); got != tt.want {
			t.Errorf("Size(%d) = %q; want %q", tt.n, got, tt.want)
		}
	}
	if got := columns("main.f", strings.Repeat("folder/", 12)+"file.go:123"); len(got) > Columns-4 || !strings.HasSuffix(got, "/file.go:123") {
		t.Errorf("columns: %q", got)
	}
}

// TestHostile: what a program logs of its own may have any size and any name, a close that
// the log cannot place is told, and a second close when the ring has lost its events.
func TestHostile(t *testing.T) {
	const own = kindFutexes + 1
	_, other := snapshot(t)
	s := &Snapshot{Stacks: other.Stacks, Events: 9, RingRoom: 1, Kinds: []Stats{{ID: own, Name: "a name as long as one is", Opens: 3, Open: 2, Bytes: 1 << 63, Strays: 2}, {ID: kindFDs, Name: "fd", Strays: 1}}}
	for key := range uint64(2) {
		s.Open = append(s.Open, Handle{Kind: own, Key: key, Size: 1 << 63})
	}
	s.Doubles = []Double{{Kind: own, Key: 7, Opened: Place{Time: 1}, First: Place{Time: 2}, Second: Place{Time: 3}}}
	s.Log = []Event{{What: ClosedUnknown, Kind: own, Key: 9, Place: Place{Time: 4, Thread: 2}}}
	var b strings.Builder
	if err := s.Handles(&b, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := s.About(&b, Key{own, 7}, 0, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Leaks(&b, Grown(nil, s.Uses()), false, Options{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "hostile.txt", b.String())
}

// TestHeap: a heap profile as the kernel sends it becomes one of pprof's, scaled as
// runtime/pprof does.
func TestHeap(t *testing.T) {
	h, err := ReadHeap(heapRecord())
	if err != nil {
		t.Fatal(err)
	}
	if h.Rate != 4096 || !h.Collected() || len(h.Sites) != 2 || h.Now != 2*time.Second {
		t.Fatalf("%+v", h)
	}
	var b bytes.Buffer
	p := h.Profile(namer{}, "x.elf")
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	// What has come since the last garbage collection is told apart, and counts.
	want := "as of 2.000000 s after the boot, at the end of all that was allocated; 5 objects of 327680 bytes in all have come since the last garbage collection"
	if len(p.Comments) != 1 || !strings.HasPrefix(p.Comments[0], want) {
		t.Errorf("comments %q; want %q", p.Comments, want)
	}
	for _, s := range p.Sample {
		if since := s.Label["allocated"] != nil; since != (s.Value[0] == 5) {
			t.Errorf("%v has the labels %q", s.Value, s.Label)
		}
	}
	uses, err := HeapUses(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	// 8 objects of 512 bytes were sampled, of 1/(1-exp(-512/4096)) = 8.51 times as many.
	if u := uses[1]; len(uses) != 2 || u.Count != 5 || u.Bytes != 5*65536 {
		t.Errorf("%+v", uses)
	}
	if u := uses[0]; u.Count != 68 || u.Bytes != 34858 || len(u.Frames) != 2 || u.Frames[0].Calls[0].Function != "f300" {
		t.Errorf("%+v", uses)
	}
	if !IsHeap(b.Bytes()) || IsHeap(heapRecord()) {
		t.Error("IsHeap is wrong")
	}
	for n := range heapRecord() {
		if _, err := ReadHeap(heapRecord()[:n]); err == nil {
			t.Errorf("%d bytes are read without an error", n)
		}
	}
}

func FuzzRead(f *testing.F) {
	data, _ := snapshot(f)
	bare, _, _ := bytes.Cut(data, []byte(namesMagic))
	f.Add(bare)
	f.Add(append(bytes.Clone(bare), namesMagic+`[{"addr":2097152,"calls":[{"function":"f"}]}]`...))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(data)
		if err != nil || len(data) > 8<<10 {
			return
		}
		var b strings.Builder
		s.Handles(&b, options)
		s.JSON(&b)
		s.About(&b, Key{kindFDs, 5}, 5, options)
		if d := Grown(s.Uses(), s.Uses()); len(d) != 0 {
			t.Errorf("a snapshot differs from itself: %+v", d)
		}
		for _, c := range b.String() {
			if c < ' ' && c != '\n' || c == 0x7f {
				t.Fatalf("a control character %q is in the report", c)
			}
		}
	})
}

func FuzzHeap(f *testing.F) {
	f.Add(heapRecord())
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeap(data)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := h.Profile(namer{}, "x").Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := HeapUses(b.Bytes()); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzHeapUses(f *testing.F) {
	h, err := ReadHeap(heapRecord())
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	h.Profile(namer{}, "x").WriteUncompressed(&b)
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) { heapUses(data) })
}
