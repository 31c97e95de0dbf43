package terminal

import (
	"strings"
	"testing"
)

// TestErasing: the one escape sequence that passes does so within a line that has filled a
// row, in whatever pieces it comes, and nowhere else.
func TestErasing(t *testing.T) {
	const width, back = 80, "\x1b[A\x1b[80G\x1b[K"
	row := strings.Repeat("a", width)
	for _, tt := range []struct {
		in     string
		passes int
	}{
		{row + " \b" + back, 1},
		{row + row + "bc\b \b\b \b \b" + back + strings.Repeat("\b \b", width-1) + " \b" + back, 2},
		{strings.Repeat("é", width-1) + "€ \b" + back, 1},
		{row + back + "a" + back, 2}, // to the same row again
		{back, 0},
		{row + "b" + back, 0},
		{row + "\n" + back, 0},
		{row + "\r" + back, 0},
		{row + back + strings.Repeat("\b", width-1) + back, 1},
		{row + strings.ReplaceAll(back, "80", "40"), 0},
		{strings.Repeat("\t", 10*width) + back, 0},
		{strings.Repeat("\u0301", width) + back, 0},
		{strings.Repeat("\x1b", width) + back, 1}, // each is shown as four characters
		{row + "\x1b[A\x1b[80H", 0},
		{row + back[:5], 0},
	} {
		for _, piece := range []int{1, 3, 1000} {
			s := Sanitizer{Columns: func() int { return width }}
			var out []byte
			for in := tt.in; in != ""; {
				n := min(piece, len(in))
				out = s.Append(out, []byte(in[:n]))
				in = in[n:]
			}
			out = s.Flush(out)
			if got := strings.Count(string(out), back); got != tt.passes || strings.Count(string(out), "\x1b") != 3*got {
				t.Errorf("%q in pieces of %d: %d sequences pass; want %d\n%q", tt.in, piece, got, tt.passes, out)
			}
		}
	}
	var unknown Sanitizer
	if out := unknown.Append(nil, []byte(row+back)); strings.Contains(string(out), "\x1b") {
		t.Errorf("without a width, %q passes", out)
	}
}
