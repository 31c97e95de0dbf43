package trace

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// previousLog is a boot that tells the death of the one before, goes on, and dies itself.
func previousLog(before, own []byte) []byte {
	report := "zeroframe 0.1.0 build " + sample().BuildID + "\r\n"
	return bytes.Join([][]byte{[]byte(report + "previous boot died: of this\r\nzf1 previous 7\r\n"), before,
		[]byte("the program says a word\r\n"), own}, nil)
}

// TestPrevious: the trace behind the line is of the boot before, and none that follows.
func TestPrevious(t *testing.T) {
	for name, form := range map[string]func(*wire.Trace) []byte{
		"text": func(t *wire.Trace) []byte { return textForm(t, false) }, "compact": compactForm,
	} {
		for _, own := range []func(*wire.Trace) []byte{func(t *wire.Trace) []byte { return textForm(t, false) }, compactForm} {
			r := filter(t, Options{Symbols: testImage()},
				previousLog(form(sample()), own(sample())))
			all := r.traces
			if len(all) != 2 || all[0].Previous != 7 || all[1].Previous != 0 || all[0].Damaged || all[1].Damaged {
				t.Fatalf("%s: traces %+v", name, all)
			}
			if all[0].Fatal() || !all[1].Fatal() {
				t.Errorf("%s: fatal %v, %v; want only the second: it ended this boot", name, all[0].Fatal(), all[1].Fatal())
			}
			if s := r.stats; s.Traces != 2 || s.Fatal != 1 || s.Damaged != 0 {
				t.Errorf("%s: %+v; want 2 traces, 1 fatal", name, s)
			}
			for _, tr := range all {
				if len(tr.Frames) == 0 || len(tr.Frames[0].Calls) == 0 {
					t.Errorf("%s: trace %d is not resolved", name, tr.Previous)
				}
			}
			if j := string(render.JSON(all[0])); !strings.Contains(j, `"previous":7`) {
				t.Errorf("%s: JSON %s", name, j)
			}
			if j := string(render.JSON(all[1])); strings.Contains(j, "previous") {
				t.Errorf("%s: JSON %s", name, j)
			}
		}
	}
}

// TestPreviousBuild: a trace of the boot before has a build ID of its own. Another build's
// is not resolved, and what this boot says without a build ID is of this boot's build.
func TestPreviousBuild(t *testing.T) {
	const other = "ffffffffffffffffffffffffffffffffffffffff"
	for name, form := range map[string]func(*wire.Trace) []byte{
		"text": func(t *wire.Trace) []byte { return textForm(t, false) }, "compact": compactForm,
	} {
		before := sample()
		before.BuildID = other
		r := filter(t, Options{Symbols: testImage()},
			previousLog(form(before), []byte("zf1 last panic 0x200010 it was this\r\n")))
		all := r.traces
		if len(all) != 2 || all[0].BuildID != other || all[1].BuildID != sample().BuildID {
			t.Fatalf("%s: %d traces: %+v", name, len(all), all)
		}
		if len(all[0].Frames[0].Calls) != 0 || len(all[1].Frames[0].Calls) == 0 {
			t.Errorf("%s: resolved %v, %v; want the second alone", name, all[0].Frames[0].Calls, all[1].Frames[0].Calls)
		}
		if r.stats.Mismatch || !r.stats.MismatchBefore {
			t.Errorf("%s: a mismatch of this boot's trace: %v, of the other's: %v; want the latter", name, r.stats.Mismatch, r.stats.MismatchBefore)
		}
		if !strings.Contains(r.log.String(), other) {
			t.Errorf("%s: the log says %q; want the build that it wants", name, r.log.String())
		}
	}
}

// TestPreviousDamaged: what stands behind the line may be anything.
func TestPreviousDamaged(t *testing.T) {
	for name, log := range map[string][]byte{
		"cut":         previousLog(compactForm(sample())[:100], textForm(sample(), false)),
		"cut in text": previousLog(textForm(sample(), false)[:200], textForm(sample(), false)),
	} {
		r := filter(t, Options{Symbols: testImage()}, log)
		all := r.traces
		if len(all) != 2 || all[0].Previous != 7 || !all[0].Damaged || all[1].Previous != 0 || all[1].Damaged {
			t.Fatalf("%s: %d traces: %+v", name, len(all), all)
		}
		if s := r.stats; s.Fatal != 1 || s.Damaged != 1 {
			t.Errorf("%s: %+v; want 1 fatal, 1 damaged", name, s)
		}
	}
	// A line that is malformed is text, and the trace behind it one of this boot.
	for _, line := range []string{"zf1 previous", "zf1 previous 0", "zf1 previous x", "zf1 previous 1 2"} {
		log := bytes.Replace(previousLog(nil, textForm(sample(), false)), []byte("zf1 previous 7"), []byte(line), 1)
		r := filter(t, Options{Symbols: testImage()}, log)
		if s := r.stats; s.Fatal != 1 || !strings.Contains(r.out.String(), line+"\r\n") {
			t.Errorf("%s: %+v", line, s)
		}
	}
}
