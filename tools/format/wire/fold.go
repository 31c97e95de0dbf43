package wire

// What a deep stack leaves out (tracer/ends.go): a run of the same frame is one frame with
// the number of those that follow it, and between the innermost and the outermost ones
// frames may be missing, of which only their number is known. Both numbers are the target's
// word, which may be wrong or hostile: they are shown, and nothing is made of so many.

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// fold reads "N fp 0xFP"; who types a trace from a screen knows no frame pointer.
func (r *Record) fold(f []string) bool {
	if len(f) == 0 {
		return false
	}
	var ok bool
	if r.Count, ok = number(f[0]); !ok || r.Count == 0 {
		return false
	}
	if len(f) >= 3 && f[1] == "fp" {
		r.Value, r.HasValue = number(f[2])
		return r.HasValue
	}
	return true
}

// leftOut reads "N frames left out".
func (r *Record) leftOut(rest string) bool {
	n, words, _ := strings.Cut(rest, " ")
	var ok bool
	r.Count, ok = number(strings.ReplaceAll(n, ",", ""))
	return ok && r.Count > 0 && words == leftOutWords
}

const leftOutWords = "frames left out"

// LeftOutText says how many frames are left out.
func LeftOutText(n uint64) string { return "... " + Thousands(n, ",") + " " + leftOutWords }

// RepeatText says how many more frames like the one before there are.
func RepeatText(n uint64) string { return "... " + Thousands(n, ",") + " more of the same frame" }

// Thousands writes a number with a separator, such as a comma, before each three digits.
func Thousands(n uint64, separator string) string {
	s := strconv.FormatUint(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + separator + s[i:]
	}
	return s
}

// Depth returns how many frames the trace is of, those too that are folded or left out.
func (t *Trace) Depth() (n uint64) {
	for i := range t.Frames {
		n += 1 + t.Frames[i].Repeat + t.Frames[i].Elided
	}
	return n
}

// addFold makes the latest frame one that stands for more.
func (t *Trace) addFold(r *Record) {
	n := len(t.Frames)
	if n == 0 || t.leftOut > 0 || t.Frames[n-1].Kind != tracer.RA || t.Frames[n-1].Repeat > 0 {
		t.MarkDamaged("it repeats a frame that cannot be")
		return
	}
	t.Frames[n-1].Repeat, t.Frames[n-1].LastFP = r.Count, r.Value
}

// foldAgain takes the two frames before for the first of a run of n+2.
func (d *decoder) foldAgain(n uint64) error {
	k := len(d.recs)
	if k < 2 || d.recs[k-1].Op != OpFrame || d.recs[k-2].Op != OpFrame || d.on[k-1] != d.on[k-2] {
		return errFold
	}
	first, second := &d.recs[k-2].Frame, &d.recs[k-1].Frame
	if first.Kind != tracer.RA || second.Kind != tracer.RA || first.Address != second.Address ||
		second.FP <= first.FP {
		return errFold
	}
	fold := Record{Op: OpFold, Count: n + 1, Value: second.FP + n*(second.FP-first.FP), HasValue: true}
	d.recs, d.on = d.recs[:k-1], d.on[:k-1]
	d.add(fold, -1)
	d.unsent += n
	return nil
}

var errFold = errors.New("it repeats a frame that cannot be")

// notSent decodes a memory dump without words, which stands for frames.
func (d *decoder) notSent(n uint64) error {
	switch {
	case n == 0:
	case n&1 != 0:
		return d.foldAgain(n / 2)
	default:
		d.add(Record{Op: OpLeftOut, Count: n / 2}, -1)
		d.unsent += n / 2
	}
	return nil
}

// foldString is Record.String for what a deep stack leaves out.
func (r *Record) foldString() string {
	if r.Op == OpLeftOut {
		return LeftOutText(r.Count)
	}
	s := fmt.Sprintf("repeat %d", r.Count)
	if r.HasValue {
		s += fmt.Sprintf(" fp %#x", r.Value)
	}
	return s
}
