package why

import (
	"fmt"
	"strings"
	"testing"
)

// TestStoryLines: a story has at most twelve lines, its causes' ends among them, whatever it is
// made of.
func TestStoryLines(t *testing.T) {
	for _, causes := range []int{1, 2} {
		for hops := range 40 {
			s := Story{Death: "a fault", Count: 1000, At: Hop{Function: "main.f", Line: 1, Own: true}}
			for range causes {
				c := Cause{What: "RAX holds 0x0", End: "the constant 0"}
				for i := range hops {
					c.Hops = append(c.Hops, Hop{Count: uint64(900 - i), Function: "main.g", File: "/x/main.go", Line: i + 1, Own: true, How: "copied", Store: i == 3})
				}
				s.Causes = append(s.Causes, c)
			}
			s.blame()
			lines := s.Lines()
			if n := strings.Count(strings.Join(lines, "\n")+"\n", "= the constant 0\n"); len(lines) > mostLines || n != causes {
				t.Errorf("%d causes of %d hops: %d lines, %d ends:\n%s", causes, hops, len(lines), n, strings.Join(lines, "\n"))
			}
			if want := fmt.Sprintf("main.g (main.go:%d)", min(hops, 4)); hops > 0 && !strings.Contains(lines[1], want) {
				t.Errorf("%s; want %s", lines[1], want)
			}
		}
	}
}

// TestBlameCompared: of the values that a failed assertion compared a literal of the test is what
// was wanted; of two others nobody is blamed alone, nor where the way of one is lost.
func TestBlameCompared(t *testing.T) {
	at := func(file string, line int, how, end string) Cause {
		return Cause{End: end, Hops: []Hop{{Count: 9, Function: "p.f", File: file, Line: line, Own: true,
			How: how, Store: true}}}
	}
	wanted := at("/p/p_test.go", 1, "constant", "the constant 0x2")
	got, other := at("/p/p.go", 2, "computed", ""), at("/p/p.go", 3, "computed", "")
	lost := Cause{Untold: true}
	for _, tt := range []struct {
		causes      []Cause
		line, oneOf int
	}{
		{[]Cause{got}, 2, 0},
		{[]Cause{got, wanted}, 2, 0},
		{[]Cause{wanted, got}, 2, 0},
		{[]Cause{wanted}, 1, 0}, // the test itself has made what was wrong
		{[]Cause{got, other}, 0, 2},
		{[]Cause{got, lost}, 0, 1},
		{[]Cause{wanted, lost}, 0, 0},
	} {
		s := Story{Causes: tt.causes, At: Hop{Function: "p.TestF"}}
		s.blameCompared()
		line := 0
		if s.Culprit != nil {
			line = s.Culprit.Line
		}
		if line != tt.line || len(s.OneOf) != tt.oneOf {
			t.Errorf("%+v: line %d, one of %d; want %d, %d", tt.causes, line, len(s.OneOf), tt.line, tt.oneOf)
		}
	}
}

// TestBlame: a value that was made is to blame, not a constant that has been handed over.
func TestBlame(t *testing.T) {
	argument := Cause{Hops: []Hop{{Count: 99, Function: "main.caller", Line: 5, Own: true, How: "constant"}}}
	stored := Cause{Hops: []Hop{
		{Count: 98, Function: "main.f", Line: 1, Own: true, How: "copied"},
		{Count: 50, Function: "os.Read", Line: 7, How: "copied", Store: true},
		{Count: 40, Function: "main.writer", Line: 9, Own: true, How: "constant", Store: true},
	}}
	older := Cause{Hops: []Hop{{Count: 30, Function: "main.older", Line: 3, Own: true, How: "computed"}}}
	untold := Cause{Hops: []Hop{{Count: 97, Function: "main.g", Line: 2, Own: true, How: "unknown"}}}
	lost := Cause{Hops: argument.Hops, Untold: true}
	made := func(hops ...Hop) []Cause {
		for i := range hops {
			hops[i].Count, hops[i].Function, hops[i].Own = uint64(90-i), "main.h", true
		}
		return []Cause{{Hops: hops}}
	}
	copy := Hop{Line: 20, How: "copied", Store: true, sp: 0x1000}
	for _, c := range []struct {
		causes []Cause
		want   int
	}{
		// A copy of a constant that the callee has returned, that the caller has handed over, and of
		// another place's.
		{made(copy, Hop{Line: 21, How: "constant", sp: 0xff8}), 21},
		{made(copy, Hop{Line: 21, How: "constant", sp: 0x1080}), 20},
		{made(copy, Hop{Line: 22, How: "copied", sp: 0xf00}, Hop{Line: 21, How: "constant", Store: true, sp: 0x1080}), 21},
		{made(copy, copy, Hop{Line: 21, How: "computed", sp: 0x1080}), 21},
		// One goroutine has received what another one had in its frame, and had got from memory.
		{made(Hop{Line: 20, How: "copied", Store: true, By: "runtime.memmove", Goroutine: 1, sp: 0x1000},
			Hop{Line: 22, How: "copied", Goroutine: 7, sp: 0x9000},
			Hop{Line: 21, How: "constant", Goroutine: 7, sp: 0x9000}), 22},
		{made(Hop{Line: 20, How: "copied", Store: true, Goroutine: 1}, Hop{Line: 22, How: "copied", Goroutine: 7},
			Hop{Line: 25, How: "constant", Goroutine: 1, Store: true}), 25},
		// What a system call has read is made there, whoever has written it.
		{made(Hop{Line: 23, How: "copied", Store: true, outside: true}, Hop{Line: 21, How: "constant", Store: true}), 23},
		{made(copy, Hop{Line: 21, How: "input"}), 21},
		// A device has written it, and what comes behind is the way of its buffer's address.
		{made(Hop{Line: 24, How: "device"}, Hop{Line: 21, How: "computed"}), 24},
		{made(copy, Hop{Line: 24, How: "device"}, Hop{Line: 21, How: "computed"}), 24},
		// One call computes it and writes it by itself; the standard library writes it for that; another
		// call does.
		{made(copy, Hop{Line: 21, How: "computed", sp: 0x1000}), 20},
		{made(Hop{Line: 20, How: "copied", Store: true, By: "runtime.memmove", sp: 0x1000}, Hop{Line: 21, How: "computed", sp: 0x1000}), 21},
		{made(copy, Hop{Line: 21, How: "computed", sp: 0xff0}), 21},
		{[]Cause{argument, stored}, 9}, {[]Cause{stored, argument}, 9}, {[]Cause{older, stored}, 9}, {[]Cause{argument}, 5}, {[]Cause{lost}, 0}, {[]Cause{lost, argument}, 0}, {[]Cause{lost, stored}, 0}, {[]Cause{untold}, 0}, {nil, 0},
	} {
		s := Story{At: Hop{Function: "main.f", Line: 1}, Causes: c.causes}
		s.blame()
		if got := s.Culprit; got == nil && c.want != 0 || got != nil && got.Line != c.want {
			t.Errorf("%+v: %+v; want line %d", c.causes, got, c.want)
		}
	}
}

// TestBadType: an interface that has the wrong type was made by the conversion, and not by who has
// stored what it was given.
func TestBadType(t *testing.T) {
	hops := []Hop{
		{Count: 90, Function: "main.with", Line: 20, Own: true, How: "copied", Store: true, sp: 0x1000},
		{Count: 80, Function: "main.override", Line: 30, Own: true, How: "constant", Value: 0x3a3620, sp: 0x1080},
	}
	for death, want := range map[string]int{badType: 30, "a fault": 20} {
		s := Story{Death: death, Causes: []Cause{{Hops: hops}}}
		if s.blame(); s.Culprit == nil || s.Culprit.Line != want {
			t.Errorf("%s: %+v; want line %d", death, s.Culprit, want)
		}
	}
}

// TestOneOf: where a way forks, and its branches name several, nobody is blamed alone; and the
// steps of who may be to blame are shown, however many there are.
func TestOneOf(t *testing.T) {
	sum := Hop{Count: 95, Function: "main.g", Line: 3, Own: true, How: "computed", passing: true}
	way := func(line int, count uint64) Cause {
		c := Cause{End: "the constant 0"}
		for i := range 9 {
			c.Hops = append(c.Hops, Hop{Count: count - uint64(i), Function: "main.h", Line: line + i, Own: true, How: "copied", Store: i == 6})
		}
		return c
	}
	forked := Cause{Hops: []Hop{sum}, Forked: true}
	s := Story{At: Hop{Function: "main.f", Line: 1}, Causes: []Cause{forked, way(10, 90), way(30, 80)}}
	s.blame()
	text := strings.Join(s.Lines(), "\n")
	if s.Culprit != nil || len(s.OneOf) != 2 || s.OneOf[0].Line != 16 || s.OneOf[1].Line != 36 || strings.Contains(text, "made so by") || strings.Count(text, "one of: main.h") != 2 {
		t.Errorf("two ways: %+v, %+v\n%s", s.Culprit, s.OneOf, text)
	}
	s.Causes = s.Causes[:2]
	s.blame()
	if text = strings.Join(s.Lines(), "\n"); s.Culprit == nil || s.Culprit.Line != 16 || len(s.OneOf) != 0 || !strings.Contains(text, "instructions before: main.h") {
		t.Errorf("one way: %+v\n%s", s.Culprit, text)
	}
	s.Causes = append(s.Causes, Cause{Untold: true, End: cannotTell + "x"})
	if s.blame(); s.Culprit != nil || len(s.OneOf) != 1 {
		t.Errorf("one way is lost: %+v", s.Culprit)
	}
	// Behind a sum that is as ever comes who is to blame: a writer, or a constant that was handed
	// over.
	for _, last := range []Hop{{How: "copied", Store: true}, {How: "constant"}} {
		last.Count, last.Function, last.Line, last.Own = 40, "main.bad", 7, true
		s = Story{At: s.At, Causes: []Cause{{Hops: []Hop{sum, last}}}}
		if s.blame(); s.Culprit == nil || s.Culprit.Line != 7 {
			t.Errorf("%+v: %+v", last, s.Culprit)
		}
	}
}

// TestReports: functions that only report what others have found.
func TestReports(t *testing.T) {
	for name, want := range map[string]bool{
		"runtime.gopanic": false, "runtime.goPanicIndex": true, "runtime.panicBounds64": true, "runtime.panicmakeslicelen": true, "runtime.makeslice": false,
		"internal/sync.fatal": true, "runtime.internal_sync_fatal": true, "runtime.throw": true, "internal/runtime/maps.fatal": true,
		"internal/sync.(*Mutex).unlockSlow": false, "sync.(*WaitGroup).Add": false, "main.panicked": false,
	} {
		if reports(name) != want {
			t.Errorf("%s: %v; want %v", name, !want, want)
		}
	}
}

// TestSettled: who is to blame is settled when it was computed outside the place of the death, and
// not by a copy.
func TestSettled(t *testing.T) {
	s := Story{At: Hop{Function: "main.f", Line: 1}}
	hop := func(function, how string, store bool) Hop {
		return Hop{Count: 50, PC: 0x1000, Function: function, Line: 1, Own: true, How: how, Store: store}
	}
	for _, c := range []struct {
		hops []Hop
		want bool
	}{
		{nil, false},
		{[]Hop{hop("main.f", "computed", false)}, false},
		{[]Hop{hop("main.g", "copied", true)}, false},
		{[]Hop{hop("main.g", "computed", false)}, true},
		{[]Hop{hop("main.f", "computed", false), hop("main.g", "copied", true), hop("main.h", "computed", false)}, true},
		{[]Hop{hop("a device", "device", false)}, true},
	} {
		if got := s.settled(c.hops); got != c.want {
			t.Errorf("%+v: %v", c.hops, got)
		}
	}
}

// TestSteps: the hops of a source line are one step, with the value that the line has made.
func TestSteps(t *testing.T) {
	hop := func(line int, how string, value uint64) Hop {
		return Hop{Function: "main.f", Line: line, How: how, Value: value}
	}
	c := Cause{Hops: []Hop{hop(9, "copied", 1), hop(9, "computed", 1), hop(9, "copied", 2), hop(8, "copied", 2), hop(8, "constant", 2)}}
	var got []string
	for _, h := range c.Steps() {
		got = append(got, fmt.Sprintf("%d %s %d", h.Line, h.How, h.Value))
	}
	if want := "9 computed 1, 8 constant 2"; strings.Join(got, ", ") != want {
		t.Errorf("%s; want %s", strings.Join(got, ", "), want)
	}
}
