package monitor

// MaxLine is the largest number of bytes in a line; with the prompt it fits a terminal of 80
// columns, so it is never wrapped and a backspace always works.
const MaxLine = 70

// Event is the effect of a key.
type Event uint8

const (
	// Typing: the line is not finished.
	Typing Event = iota
	// Entered: the line is complete: [Line.Text].
	Entered
	// Dropped: ^C has discarded the line.
	Dropped
	// End: ^D in an empty line.
	End
	// Again: the monitor's own key, ^], in an empty line.
	Again
)

// Key opens the monitor: ^], as in telnet and others.
const Key = 0x1d

// Line is a line that is being typed, and the previous one. The zero value is empty. Editing
// happens at the cursor: with the arrow keys, Home and End (also ^A and ^E), backspace and Delete,
// ^W and ^U; the up arrow (also ^P) recalls the previous line.
type Line struct {
	// Echo[:Echoed] must be sent to the terminal for the latest key.
	Echo   [8 * (MaxLine + 1)]byte
	Echoed int

	// Room is the number of columns for the line; 0 is MaxLine.
	Room int

	text   [MaxLine]byte
	n      int
	cursor int           // offset in text
	last   [MaxLine]byte // for ^P and the arrow key
	lastN  int

	escape    uint8 // position in a key's escape sequence
	parameter uint8 // the sequence's first number
	char      [4]byte
	charN     int  // bytes in char, of a character of several
	charSize  int  // and how many the character has
	cr        bool // the last byte was a carriage return
}

// Positions in an escape sequence.
const (
	noEscape uint8 = iota
	escaped        // ESC
	first          // ESC [ or ESC O, and its first number
	more           // a semicolon after that
)

// Text returns the line. Its bytes are valid until the next Input.
func (l *Line) Text() []byte { return l.text[:l.n] }

// word returns where the word before the cursor begins.
func (l *Line) word() int {
	lo := l.cursor
	for lo > 0 && l.text[lo-1] == ' ' {
		lo--
	}
	for lo > 0 && l.text[lo-1] != ' ' {
		lo--
	}
	return lo
}

// Input takes a typed byte. After any event but Typing, the next byte begins a new line.
func (l *Line) Input(b byte) Event {
	l.Echoed = 0
	after := l.cr
	l.cr = b == '\r'
	if l.escape != noEscape {
		l.sequence(b)
		return Typing
	}
	if !continuation(b) {
		l.charSize = 0
	}
	switch b {
	case '\n':
		if after {
			return Typing // from one key, on some terminals
		}
		return l.enter()
	case '\r':
		return l.enter()
	case 0x03: // ^C
		l.end()
		l.put('^')
		l.put('C')
		l.Next()
		return Dropped
	case 0x04: // ^D
		if l.n == 0 {
			return End
		}
	case Key:
		if l.n == 0 {
			return Again
		}
	case 0x01: // ^A
		l.home()
	case 0x05: // ^E
		l.end()
	case 0x08, 0x7f:
		if l.cursor > 0 {
			l.cut(l.before(l.cursor), l.cursor)
		} else {
			l.put('\a')
		}
	case 0x15: // ^U
		l.cut(0, l.n)
	case 0x17: // ^W
		l.cut(l.word(), l.cursor)
	case 0x10: // ^P
		l.recall()
	case 0x1b:
		l.escape, l.parameter = escaped, 0
	case '\t':
	default:
		l.character(b)
	}
	return Typing
}

// Next begins a new line.
func (l *Line) Next() { l.n, l.cursor, l.charSize = 0, 0, 0 }

// sequence takes a byte of an escape sequence: ESC [ numbers letter, or ESC O letter.
func (l *Line) sequence(b byte) {
	switch {
	case l.escape == escaped && (b == '[' || b == 'O'):
		l.escape = first
		return
	case l.escape == first && b >= '0' && b <= '9':
		l.parameter = l.parameter*10 + b - '0'
		return
	case l.escape != escaped && b >= 0x20 && b < 0x40:
		l.escape = more
		return
	case l.escape == escaped:
	case b == 'A':
		l.recall()
	case b == 'C':
		if l.cursor < l.n {
			hi := l.behind(l.cursor)
			l.show(l.cursor, hi)
			l.cursor = hi
		}
	case b == 'D':
		if l.cursor > 0 {
			l.cursor = l.before(l.cursor)
			l.put('\b')
		}
	case b == 'H', b == '~' && (l.parameter == 1 || l.parameter == 7):
		l.home()
	case b == 'F', b == '~' && (l.parameter == 4 || l.parameter == 8):
		l.end()
	case b == '~' && l.parameter == 3:
		if l.cursor < l.n {
			l.cut(l.cursor, l.behind(l.cursor))
		}
	}
	l.escape = noEscape
}

func (l *Line) enter() Event {
	if l.n > 0 {
		l.lastN = l.n
		for i := 0; i < l.n; i++ {
			l.last[i] = l.text[i]
		}
	}
	return Entered
}

// recall replaces the line with the previous one.
func (l *Line) recall() {
	l.cut(0, l.n)
	for i := 0; i < l.lastN; i++ {
		l.text[i] = l.last[i]
	}
	l.n = l.lastN
	l.end()
}

// character takes a byte of text. A character of several bytes enters the line when it is complete.
func (l *Line) character(b byte) {
	if l.charSize == 0 {
		switch {
		case b >= ' ' && b < 0x7f:
			l.charSize = 1
		case b >= 0xc2 && b < 0xe0:
			l.charSize = 2
		case b >= 0xe0 && b < 0xf0:
			l.charSize = 3
		case b >= 0xf0 && b < 0xf5:
			l.charSize = 4
		default:
			l.put('\a')
			return
		}
		l.charN = 0
	}
	l.char[l.charN] = b
	l.charN++
	if l.charN == l.charSize {
		l.insert(l.charSize)
		l.charSize = 0
	}
}

// insert inserts the first n bytes of char, one character, at the cursor.
func (l *Line) insert(n int) {
	room := MaxLine
	if l.Room > 0 {
		room = l.Room
	}
	if l.n+n > MaxLine || l.columns(0, l.n) >= room {
		l.put('\a')
		return
	}
	for i := l.n - 1; i >= l.cursor; i-- {
		l.text[i+n] = l.text[i]
	}
	for i := range n {
		l.text[l.cursor+i] = l.char[i]
	}
	l.n += n
	l.show(l.cursor, l.n)
	l.cursor += n
	l.times('\b', l.columns(l.cursor, l.n))
}

// cut removes text[lo:hi]. The cursor must not be before lo; afterwards it is at lo.
func (l *Line) cut(lo, hi int) {
	l.times('\b', l.columns(lo, l.cursor))
	gone := l.columns(lo, hi)
	for i := hi; i < l.n; i++ {
		l.text[lo+i-hi] = l.text[i]
	}
	l.n -= hi - lo
	l.cursor = lo
	l.show(lo, l.n)
	l.times(' ', gone)
	l.times('\b', gone+l.columns(lo, l.n))
}

func (l *Line) home() {
	l.times('\b', l.columns(0, l.cursor))
	l.cursor = 0
}

func (l *Line) end() {
	l.show(l.cursor, l.n)
	l.cursor = l.n
}

// before returns the start of the character that ends at i, and after the end of the one that
// starts there.
func (l *Line) before(i int) int {
	for i--; i > 0 && continuation(l.text[i]); i-- {
	}
	return i
}

func (l *Line) behind(i int) int {
	for i++; i < l.n && continuation(l.text[i]); i++ {
	}
	return i
}

// columns returns the number of columns of text[lo:hi]; each character counts as one.
func (l *Line) columns(lo, hi int) (n int) {
	for ; lo < hi; lo++ {
		if !continuation(l.text[lo]) {
			n++
		}
	}
	return n
}

// continuation reports whether b is a byte of a UTF-8 character other than its first.
func continuation(b byte) bool { return b&0xc0 == 0x80 }

func (l *Line) show(lo, hi int) {
	for ; lo < hi; lo++ {
		l.put(l.text[lo])
	}
}

func (l *Line) times(b byte, n int) {
	for ; n > 0; n-- {
		l.put(b)
	}
}

//go:noinline
func (l *Line) put(b byte) {
	l.Echo[l.Echoed] = b
	l.Echoed++
}
