package monitor

import (
	"strings"
	"testing"
)

// A row is a line as a terminal shows it: characters, and the cursor's place.
type row struct {
	cells  []string
	cursor int
}

func (r *row) write(c byte) {
	switch {
	case c == '\b':
		r.cursor = max(r.cursor-1, 0)
	case c < ' ':
	case continuation(c) && r.cursor > 0:
		r.cells[r.cursor-1] += string([]byte{c})
	default:
		for len(r.cells) <= r.cursor {
			r.cells = append(r.cells, "")
		}
		r.cells[r.cursor] = string([]byte{c})
		r.cursor++
	}
}

// text returns the row's text, without the blanks after the line's end.
func (r *row) text() string { return strings.TrimRight(strings.Join(r.cells, ""), " ") }

// press types a key and returns what happened; the terminal shows its echo.
func press(l *Line, key byte, screen *row) Event {
	e := l.Input(key)
	for _, c := range l.Echo[:l.Echoed] {
		screen.write(c)
	}
	return e
}

// typeIn presses keys until something has happened.
func typeIn(l *Line, keys string) (e Event, shown string) {
	var screen row
	for i := 0; i < len(keys) && e == Typing; i++ {
		e = press(l, keys[i], &screen)
	}
	return e, screen.text()
}

func TestLine(t *testing.T) {
	long := strings.Repeat("a", MaxLine)
	for _, tt := range []struct {
		keys  string
		event Event
		text  string
	}{
		{"bt\r", Entered, "bt"},
		{"bt\n", Entered, "bt"},
		{"\r", Entered, ""},
		{"bx\x7ft\r", Entered, "bt"},
		{"bx\bt\r", Entered, "bt"},
		{"\x7f\x7fbt\r", Entered, "bt"},
		{"rubbish\x15bt\r", Entered, "bt"},
		{"x 0x10  \x17rsp\r", Entered, "x rsp"},
		{"x\x17\x17bt\r", Entered, "bt"},
		{"bt\x03", Dropped, ""},
		{"\x04", End, ""},
		{"b\x04t\r", Entered, "bt"},
		{"\x1d", Again, ""},
		{"b\x1dt\r", Entered, "bt"},
		{"b\x00\x02\tt\r", Entered, "bt"},
		{"b\x1b[Ct\r", Entered, "bt"},
		{"b\x1b[1;5Dt\r", Entered, "tb"},
		{"bt\x1b[D\x1b[D\x1b[Dx\x1bOC \r", Entered, "xb t"},
		{"oroutine 7\x1b[Hg\x1b[F7\r", Entered, "goroutine 77"},
		{"oroutine 7\x1b[1~g\x1b[4~7\r", Entered, "goroutine 77"},
		{"oroutine 7\x01g\x057\r", Entered, "goroutine 77"},
		{"bxxt\x1b[D\x1b[D\x7f\x1b[3~\x1b[3~\x1b[3~z\r", Entered, "bz"},
		{"print a b\x1b[D\x1b[D\x17c\r", Entered, "print c b"},
		{"one two\x1b[D\x15bt\r", Entered, "bt"},
		{"print grße\x1b[D\x1b[D\x7f\x1b[Drö\x1b[C\x7f\r", Entered, "print röße"},
		{"b\xc3t\xa9\xff\xe2\x82\r", Entered, "bt"},
		{"ab\x1b[D\x03", Dropped, ""},
		{"b\x1bOBt\r", Entered, "bt"},
		{long + "b\r", Entered, long},
	} {
		var l Line
		e, shown := typeIn(&l, tt.keys)
		if e != tt.event || string(l.Text()) != tt.text {
			t.Errorf("after %q: event %d, text %q; want %d, %q", tt.keys, e, l.Text(), tt.event, tt.text)
		}
		if e == Entered && shown != tt.text {
			t.Errorf("after %q the terminal shows %q; the line is %q", tt.keys, shown, tt.text)
		}
	}
}

// TestLast: either key brings the previous line back, and it can be changed.
func TestLast(t *testing.T) {
	var l Line
	for _, tt := range []struct{ keys, text string }{
		{"\x10\r", ""},
		{"goroutine 7\r", "goroutine 7"},
		{"\r", ""},
		{"\x10\r", "goroutine 7"},
		{"junk\x1b[A\x7f8\r", "goroutine 8"},
		{"\x1bOA\r", "goroutine 8"},
	} {
		if e, shown := typeIn(&l, tt.keys); e != Entered || string(l.Text()) != tt.text || shown != tt.text {
			t.Errorf("after %q: event %d, text %q, shown %q; want %q", tt.keys, e, l.Text(), shown, tt.text)
		}
		l.Next()
	}
	// A dropped line does not count; CR LF is one key.
	typeIn(&l, "dropped\x03")
	l.Next()
	if e := l.Input('\n'); e != Entered {
		t.Errorf("a line feed after ^C: event %d", e)
	}
	l.Next()
	typeIn(&l, "bt\r")
	l.Next()
	if e := l.Input('\n'); e != Typing {
		t.Errorf("the line feed behind a carriage return: event %d; want none", e)
	}
}

// FuzzLine: whatever is typed, the line and the echo stay within their bounds, and the terminal
// shows the line.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"bt\r", "\x1b[A\x10\x10", "abc\x17\x15\x7f\x03\x04\x1d", "\x1b\x1b[[[1;2A\r\n", strings.Repeat("x ", 80) + "\x17", "aé€\x1b[D\x1b[D\x1b[3~\x1b[Hb\x1b[F\x01\x05"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		var l Line
		var screen row
		for i := range len(keys) {
			e := press(&l, keys[i], &screen)
			if len(l.Text()) > MaxLine {
				t.Fatalf("%d characters in a line", len(l.Text()))
			}
			for _, c := range l.Text() {
				if c < ' ' || c == 0x7f {
					t.Fatalf("the line %q has a control character", l.Text())
				}
			}
			if e != Dropped && (screen.text() != strings.TrimRight(string(l.Text()), " ") || screen.cursor != l.columns(0, l.cursor)) {
				t.Fatalf("the terminal shows %q, cursor in column %d; the line is %q, cursor at byte %d", screen.text(), screen.cursor, l.Text(), l.cursor)
			}
			if e != Typing {
				l.Next()
				screen = row{}
			}
		}
	})
}
