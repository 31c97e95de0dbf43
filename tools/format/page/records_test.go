package page

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"
	"golang.org/x/net/html"

	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tracer/depot"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// stacks makes a profile of stacks, the outermost function first, and their counts.
func stackProfile(stacks map[string]int64) *pprof.Profile {
	p := &pprof.Profile{SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	functions := map[string]*pprof.Location{}
	for stack, n := range stacks {
		s := &pprof.Sample{Value: []int64{n, n * 1e6}}
		for _, f := range strings.Split(stack, ";") {
			if functions[f] == nil {
				fn := &pprof.Function{ID: uint64(len(functions) + 1), Name: f}
				functions[f] = &pprof.Location{ID: fn.ID, Line: []pprof.Line{{Function: fn}}}
				p.Function, p.Location = append(p.Function, fn), append(p.Location, functions[f])
			}
			s.Location = append([]*pprof.Location{functions[f]}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

// profilePage is a page of nothing but a profile.
func profilePage(t *testing.T, p *pprof.Profile) (*html.Node, []box) {
	t.Helper()
	r, err := New(Options{Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	if err := r.Profile(p); err != nil {
		t.Fatal(err)
	}
	root := check(t, finish(t, r))
	var boxes []box
	for _, n := range find(root, "svg", "f") {
		percent := func(key string) float64 {
			f, err := strconv.ParseFloat(strings.TrimSuffix(attribute(n, key), "%"), 64)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		boxes = append(boxes, box{text(find(n, "title", "")[0]), percent("x"), percent("width"), percent("y"), text(n), attribute(n, "class")})
	}
	return root, boxes
}

type box struct {
	title   string
	x, w, y float64
	text    string
	class   string
}

func TestFlame(t *testing.T) {
	root, boxes := profilePage(t, stackProfile(map[string]int64{
		"runtime.main;main.main;main.a": 50, "runtime.main;main.main;main.b;" + evil: 25, "runtime.main;main.main": 20, "[kernel] idle": 5,
	}))
	want := []string{
		"all, 100.0 % 0 100 54 n", "[kernel] idle, 5.0 % 0 5 36 n", "runtime.main, 95.0 % 5 95 36 r", "main.main, 95.0 % 5 95 18 p",
		"main.a, 50.0 % 5 50 0 p", "main.b, 25.0 % 55 25 0 p",
	}
	var got []string
	for _, b := range boxes {
		if strings.HasPrefix(b.title, "</script>") {
			continue
		}
		got = append(got, fmt.Sprintf("%s %g %g %g %s", b.title, b.x, b.w, b.y-18, strings.TrimPrefix(b.class, "f ")[:1]))
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("the boxes are\n%s\nwant\n%s", g, w)
	}
	if n := len(boxes); n != 7 || !strings.Contains(text(root), "100ms of running time in 100 samples") {
		t.Errorf("%d boxes; the page says %s", n, text(root))
	}
}

// TestFlameIsBounded: a profile of very many stacks, and one that is very deep.
func TestFlameIsBounded(t *testing.T) {
	many := map[string]int64{}
	for i := range 20_000 {
		many[fmt.Sprintf("main.a;main.f%d;main.g%d;main.h", i%2000, i)] = int64(1 + i%100)
	}
	many["main.a;"+strings.Repeat("main.deep;", 900)+"main.end"] = 1_000_000
	root, boxes := profilePage(t, stackProfile(many))
	if len(boxes) > maxBoxes || len(boxes) < 900 {
		t.Errorf("%d boxes", len(boxes))
	}
	if !strings.Contains(text(root), "Very narrow ones are left out") {
		t.Error("the page does not say that calls are left out")
	}
	root, boxes = profilePage(t, stackProfile(nil))
	if len(boxes) > 0 || !strings.Contains(text(root), "a profile without samples") {
		t.Errorf("an empty profile has %d boxes: %s", len(boxes), text(root))
	}
}

// snapshot writes a snapshot with a kind of that name, of which so many are open from no
// known stack, and one was closed twice.
func snapshot(kind string, open int) []byte {
	var b []byte
	number := func(all ...uint64) {
		for _, v := range all {
			b = binary.AppendUvarint(b, v)
		}
	}
	word := func(s string) { number(uint64(len(s))); b = append(b, s...) }
	b = append(b, "zfres1\n"...)
	word(kind)                               // the reason
	word("\xc0\xff\xee\x01")                 // the build
	number(2_000_000, 1e18)                  // now, boot
	number(1<<63, 64, 10, 10, 3, 0)          // events, room, entries, room, overflow, forgotten
	number(1, 9)                             // one kind
	word(kind)                               //
	number(uint64(open), 0, 1, 0)            // opens, closes, doubles, strays
	number(uint64(open), uint64(open), 1, 1) // open, most, bytes
	number(uint64(open))
	for i := range uint64(open) {
		number(9, i, 4096, 0, 2_000, i%3, 1) // kind, key, size, owner; time, stack, thread
	}
	number(1, 9, 5, 4096, 2, 1, 1, 2, 2, 1, 2, 0, 1) // doubles
	number(1, 4, 9, 5, 4096, 2, 1, 1)                // log
	image := make([]byte, depot.ImageHeader)
	copy(image, depot.ImageMagic)
	image[8] = 3
	word(string(image))
	return b
}

func TestHandles(t *testing.T) {
	r, err := New(Options{Title: "x"})
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	for range maxRecords + 1 {
		if err := r.Record(handle.Kind, snapshot(`<b>"evil`, 100)); err != nil {
			t.Fatal(err)
		}
	}
	root := check(t, finish(t, r))
	articles := find(root, "article", "snapshot")
	if len(articles) != maxRecords {
		t.Errorf("%d snapshots are shown", len(articles))
	}
	all := text(articles[0])
	for _, want := range []string{
		`0.002000 s after the boot (<b>"evil)`, "3 things are missing: the table was full (record.open=10)",
		"its stacks have no names: no ELF file of build c0ffee01 was given", `<b>"evil 100 100 100 0 1 1 B`,
		`<b>"evil 0x5 was closed twice`, "opened at 0.000", "closed again at", "34, 136 KiB by an unknown stack", "and 14 more",
		"events before", "The stack is not known.",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("the snapshot has no %q: %s", want, all)
		}
	}
}

// TestRecordsInLog: records between the text are shown, and are not in the text; one that
// is damaged is noted.
func TestRecordsInLog(t *testing.T) {
	var log bytes.Buffer
	w := stream.Writer{Out: func(p []byte) { log.Write(p) }}
	for _, kind := range []string{handle.Kind, "profile.cpu", "own.kind"} {
		log.WriteString("before " + kind + "\r\n")
		w.Begin(kind)
		w.Bytes(snapshot("gadget", 2))
		w.End()
	}
	cut := log.Len()
	w.Begin(handle.Kind)
	w.Bytes(snapshot("gadget", 1000))
	w.End()
	log.Truncate(cut + 1000)
	var said bytes.Buffer
	s := page(t, Options{Title: "x", Log: &said}, log.String(), 100)
	root := check(t, s)
	all := text(root)
	for _, want := range []string{"gadget 2 2 2", "Note: record 2 (profile.cpu): ", "Note: record 3 (own.kind): the page has no place", "Note: record 4 (resource) was cut", "3 lines,"} {
		if !strings.Contains(all, want) {
			t.Errorf("the page has no %q: %s", want, all)
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 3 {
		t.Errorf("the user is told %q", said.String())
	}
}

// FuzzRecord: no snapshot and no profile makes a page that is more than text, or breaks.
func FuzzRecord(f *testing.F) {
	f.Add(true, snapshot("<script>", 3))
	f.Add(true, snapshot("", 0))
	var b bytes.Buffer
	if err := stackProfile(map[string]int64{"main.main;" + evil: 3, "main.main;main.f": 1}).WriteUncompressed(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(false, b.Bytes())
	f.Fuzz(func(t *testing.T, snapshot bool, data []byte) {
		r, err := New(Options{Title: "x"})
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		if snapshot {
			err = r.Record(handle.Kind, data)
		} else {
			var p *pprof.Profile
			if p, err = pprof.ParseData(data); err == nil {
				err = r.Profile(p)
			}
		}
		if err == nil {
			check(t, finish(t, r))
		}
	})
}

// TestRecordErrors: what is no record, or one that the page does not know, is said.
func TestRecordErrors(t *testing.T) {
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ kind, data, says string }{
		{"profile.cpu", "\x07", "version 7"},
		{"resource", "x", "no snapshot"},
		{"other", "", "no place"},
	} {
		if err := r.Record(tt.kind, []byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("a record %s of %q: %v; want %q", tt.kind, tt.data, err, tt.says)
		}
	}
}
