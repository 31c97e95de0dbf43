package monitor

import (
	"strings"
	"testing"
)

// press types a key and returns what happened, and what a terminal then shows of the line
// that it has shown before.
func press(l *Line, key byte, screen []byte) (Event, []byte) {
	e := l.Input(key)
	for _, c := range l.Echo[:l.Echoed] {
		switch {
		case c == '\b' && len(screen) > 0:
			screen = screen[:len(screen)-1]
		case c >= ' ':
			screen = append(screen, c)
		}
	}
	return e, screen
}

// typeIn presses keys until something has happened.
func typeIn(l *Line, keys string) (e Event, shown string) {
	var screen []byte
	for i := 0; i < len(keys) && e == Typing; i++ {
		e, screen = press(l, keys[i], screen)
	}
	return e, string(screen)
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
		{"b\x00\x01\tt\r", Entered, "bt"},
		{"b\x1b[Ct\r", Entered, "bt"},
		{"b\x1b[1;5Dt\r", Entered, "bt"},
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

// TestLast: the line before comes back, by either key, and can be changed.
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
	// A line that was dropped does not count; CR LF is one key.
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

// FuzzLine: whatever is typed, the line and the echo stay in their bounds, and the
// terminal shows the line.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"bt\r", "\x1b[A\x10\x10", "abc\x17\x15\x7f\x03\x04\x1d", "\x1b\x1b[[[1;2A\r\n", strings.Repeat("x ", 80) + "\x17"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		var l Line
		var screen []byte
		for i := range len(keys) {
			var e Event
			e, screen = press(&l, keys[i], screen)
			if len(l.Text()) > MaxLine {
				t.Fatalf("%d characters in a line", len(l.Text()))
			}
			for _, c := range l.Text() {
				if c < ' ' || c == 0x7f {
					t.Fatalf("the line %q has a control character", l.Text())
				}
			}
			if e != Dropped && string(screen) != string(l.Text()) {
				t.Fatalf("the terminal shows %q; the line is %q", screen, l.Text())
			}
			if e != Typing {
				l.Next()
				screen = nil
			}
		}
	})
}
