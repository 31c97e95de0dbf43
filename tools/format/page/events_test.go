package page

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

// eventful is a death with what its CPU did last.
func eventful(all []tracer.Event) string {
	var b bytes.Buffer
	w := tracer.Writer{Put: func(c byte) { b.WriteByte(c) }}
	for i := range all {
		w.Event(&all[i], "read")
	}
	died := death(1, tracer.KindFault, 1, "nil pointer dereference", 0x200110, 0x200210, 0x200301)
	end := strings.LastIndex(died, tracer.Tag)
	return died[:end] + b.String() + died[end:]
}

// TestEvents: the picture has a mark for each event, later ones further right, on the line of its
// thread; what takes time is as wide as that; the table says the same in words.
func TestEvents(t *testing.T) {
	dir, im := lab(t)
	log := eventful([]tracer.Event{
		{Ago: 1e6, Kind: tracer.EventCall, Thread: 2, Number: 0, A: 3, B: tracer.Unanswered},
		{Ago: 1e5, Kind: tracer.EventSwitch, Thread: 1, Number: 1, A: 0x200110},
		{Ago: 1e4, Kind: tracer.EventReturn, Thread: 2, Number: 0, A: 5},
		{Ago: 2e3, Kind: tracer.EventLock, Thread: 1, Number: 0, A: 0x200210, B: 1e6},
		{Ago: 0, Kind: tracer.EventFault, Thread: 1, Number: 14, A: 0x200110, B: 8},
	})
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, log, 1<<20))
	pictures := find(root, "svg", "time")
	if len(pictures) != 1 {
		t.Fatalf("%d pictures", len(pictures))
	}
	percent := func(s string) float64 {
		f, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
		if err != nil {
			t.Errorf("%q is no percent", s)
		}
		return f
	}
	var marks []string
	var at []float64
	for _, r := range find(pictures[0], "rect", "") {
		marks = append(marks, attribute(r, "class")+" "+attribute(r, "y")+" "+text(r))
		at = append(at, percent(attribute(r, "x")))
		if strings.HasSuffix(attribute(r, "width"), "%") {
			at = append(at, at[len(at)-1]+percent(attribute(r, "width")))
		}
	}
	want := []string{
		"e call long 27 1000.000 us before: read(0x3)", "e call 27 10.000 us before: read returns = 5",
		"e switch 53 100.000 us before: goes on with thread 1", "e lock long 53 2.000 us before: has waited 1000.000 us for the kernel lock, read", "e fault 53 0.000 us before: #PF at 0x8, error code 0x0",
	}
	if strings.Join(marks, "\n") != strings.Join(want, "\n") {
		t.Errorf("the marks are\n%s\nwant\n%s", strings.Join(marks, "\n"), strings.Join(want, "\n"))
	}
	// Four decades from 1 ms to 100 ns: 14 to 97 percent.
	decade := (timeRight - timeLeft) / 4
	for i, want := range []float64{timeLeft, timeLeft + 2*decade, timeLeft + 2*decade, timeLeft + decade, timeLeft, timeRight - 1.301*decade, timeRight} {
		if i >= len(at) || at[i] < want-.01 || at[i] > want+.01 {
			t.Errorf("the places are %v; want %.3f as number %d", at, want, i)
			break
		}
	}
	if got := text(pictures[0]); !strings.Contains(got, "100 ns") || !strings.Contains(got, "1 ms") || !strings.Contains(got, "thread 2") {
		t.Errorf("the picture says %s", got)
	}
	table := text(find(root, "details", "events")[0])
	for _, want := range []string{"5 events", "1000.000 read(0x3) 2", "0.000 #PF at 0x8, error code 0x0 main.work at main.go:5 1"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q: %s", want, table)
		}
	}
}

// TestBranches: the page has a table of the branches, with the places at both ends.
func TestBranches(t *testing.T) {
	dir, im := lab(t)
	died := death(1, tracer.KindFault, 1, "nil pointer dereference", 0x200110, 0x200210, 0x200301)
	end := strings.LastIndex(died, tracer.Tag)
	var b strings.Builder
	w := tracer.Writer{Put: func(c byte) { b.WriteByte(c) }}
	w.Branch(&tracer.Branch{From: 0x200210, To: 0x200110, Cycles: 31, Missed: true})
	w.Branch(&tracer.Branch{From: 0x10, To: 0x200110})
	log := died[:end] + b.String() + died[end:]
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, log, 1<<20))
	tables := find(root, "details", "branches")
	if len(tables) != 1 {
		t.Fatalf("%d tables of branches", len(tables))
	}
	table := text(tables[0])
	for _, want := range []string{"2 branches that it took last", "main.work at main.go:5 31 no", "0x10 main.work at main.go:5"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q: %s", want, table)
		}
	}
}

// TestEventsBounded: of many events the latest are shown, and of many threads some share a line.
func TestEventsBounded(t *testing.T) {
	dir, im := lab(t)
	var all []tracer.Event
	for i := range 200 {
		all = append(all, tracer.Event{Ago: uint64(1000 * (200 - i)), Kind: tracer.EventWake, Thread: uint32(i), Number: 1})
	}
	root := check(t, page(t, Options{Images: &lookup.Images{Given: []lookup.Resolver{im}}, Dir: dir, Context: -1}, eventful(all), 1<<20))
	picture := find(root, "svg", "time")[0]
	if n := len(find(picture, "rect", "")); n != maxTimeEvents {
		t.Errorf("%d marks", n)
	}
	if n := len(find(picture, "line", "row")); n != maxTimeRows+1 || !strings.Contains(text(picture), "other threads") {
		t.Errorf("%d lines", n)
	}
	if s := text(find(root, "details", "events")[0]); !strings.Contains(s, fmt.Sprintf("%d events before", 200-maxTimeEvents)) {
		t.Errorf("the table does not say what is missing: %.80s", s)
	}
}
