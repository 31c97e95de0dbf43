package main

import (
	"bytes"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// TestAsked: of an answer to an NMI, what runs is shown with its frames, and a goroutine that a CPU is
// about to leave is told once.
func TestAsked(t *testing.T) {
	frames := func(functions ...string) (all []wire.Frame) {
		for _, f := range functions {
			file := "/src/x.go"
			if strings.HasPrefix(f, "runtime.") {
				file = "/usr/local/go/src/runtime/x.go"
			}
			all = append(all, wire.Frame{Calls: []lookup.Call{{Function: f, File: file, Line: 7}}})
		}
		return all
	}
	const ours = "github.com/zeroframe/zeroframe/kernel/"
	stack := []wire.Stack{{Name: "g", Lo: 0x1000, Hi: 0x2000}}
	between := &wire.Trace{Kind: "nmi", Reason: "NMI", Context: "kernel", HasCPU: true, Frames: frames(ours+"thread.Resume", "runtime.usleep")}
	leaves := &wire.Trace{Kind: "nmi", Reason: "NMI", Context: "kernel", HasCPU: true, Frames: frames(ours+"thread.run", "runtime.park_m", "main.f"), Stacks: stack}
	waits := &wire.Trace{Kind: "trace", Reason: "goroutine 1 [GC assist wait]", Goroutine: 1, Frames: frames("main.f"), Stacks: stack}
	runs := &wire.Trace{Kind: "trace", Reason: "goroutine 9 [running]", Goroutine: 9, HasCPU: true, Frames: frames("main.k")}
	other := &wire.Trace{Kind: "trace", Reason: "goroutine 7 [select]", Goroutine: 7, Frames: frames("main.g")}
	for _, tt := range []struct {
		traces     []*wire.Trace
		want, none string
		asked      int
	}{
		{[]*wire.Trace{between, waits, runs}, "goroutine 9 on CPU 0:\n  main.k", "[running]", 1},
		{[]*wire.Trace{leaves, leaves}, "main.f", "", 2},
		{[]*wire.Trace{leaves, waits, other}, "goroutine 7 [select]: main.g", "assist", 1},
		{[]*wire.Trace{between, waits}, "goroutine 1 [GC assist wait]: main.f", "", 1},
	} {
		var out, log bytes.Buffer
		m := machine{streams: streams{who: "zf run", stderr: &log}}

		s := m.newShort(&out, &out, false, nil)
		for _, tr := range tt.traces {
			s.trace(tr)
		}
		s.settle()
		got := log.String()
		if !strings.Contains(got, tt.want) || tt.none != "" && strings.Contains(got, tt.none) || strings.Count(got, "which asks") != tt.asked {
			t.Errorf("want %q and not %q, asked %d times:\n%s", tt.want, tt.none, tt.asked, got)
		}
	}
}

// TestLateHeap: a death for want of memory waits for what the heap has, where the machine is kept for
// that, but not for ever.
func TestLateHeap(t *testing.T) {
	for _, held := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var out, log bytes.Buffer
			m := machine{streams: streams{who: "zf run", stderr: &log}, keeps: true}
			s := m.newShort(&out, &out, false, nil)
			s.working = func() bool { return false }
			s.trace(&wire.Trace{Kind: "oom", Reason: "out of memory", Context: "goroutine"})
			time.Sleep(5 * settled / 2)
			synctest.Wait()
			if log.Len() > 0 {
				t.Errorf("shown without its heap:\n%s", &log)
			}
			if held {
				s.hold()
				time.Sleep(2 * mostWaits * settled)
				m.heap = "the heap has rows"
				s.settle()
			} else {
				time.Sleep(mostWaits * settled)
			}
			synctest.Wait()
			if got := log.String(); !strings.Contains(got, "out of memory\n") || strings.Contains(got, "the heap has rows\n") != held {
				t.Errorf("it is shown as\n%s", got)
			}
		})
	}
}

// TestLateStory: a death waits for the story of its deadlock, however long zf looks for it.
func TestLateStory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out, log bytes.Buffer
		m := machine{streams: streams{who: "zf run", stderr: &log}}
		s := m.newShort(&out, &out, false, nil)
		opt := trace.Options{OnList: func(*trace.List) ([]string, []byte) {
			time.Sleep(5 * settled / 2)
			return []string{"deadlock: the story"}, nil
		}}
		s.options(&opt)
		var ends atomic.Bool
		s.working = func() bool { return !ends.Load() }
		s.trace(&wire.Trace{Kind: "panic", Reason: "all goroutines are asleep", Context: "goroutine"})
		opt.OnList(nil)
		ends.Store(true)
		if log.Len() > 0 {
			t.Errorf("shown without its story:\n%s", &log)
		}
		time.Sleep(settled)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "deadlock: the story\n") != 1 {
			t.Errorf("it is shown as\n%s", got)
		}
	})
}
