package monitor

// MaxLine is the most characters in a line, such that it fits a terminal of 80 columns
// behind the prompt.
const MaxLine = 70

// Event is what a key has brought about.
type Event uint8

const (
	// Typing goes on.
	Typing Event = iota
	// Entered is a whole line: [Line.Text].
	Entered
	// Dropped is a line that ^C has thrown away.
	Dropped
	// End is ^D in an empty line.
	End
	// Again is the monitor's own key, ^], in an empty line.
	Again
)

// Key opens the monitor: ^], as telnet and others have it.
const Key = 0x1d

// Line is a line that is being typed, and the one before it. The zero value is empty.
type Line struct {
	// Echo[:Echoed] is what the terminal is to be sent for the latest key.
	Echo   [8 * (MaxLine + 1)]byte
	Echoed int

	text   [MaxLine]byte
	n      int
	last   [MaxLine]byte // for ^P and the arrow key
	lastN  int
	escape uint8 // bytes of a key's escape sequence so far
	cr     bool  // the last byte was a carriage return
}

// Text returns the line. Its bytes hold until the next Input.
func (l *Line) Text() []byte { return l.text[:l.n] }

// Input takes a byte that was typed. After anything but Typing the next line begins with
// the next byte.
func (l *Line) Input(b byte) Event {
	l.Echoed = 0
	after := l.cr
	l.cr = b == '\r'
	if l.escape > 0 {
		return l.sequence(b)
	}
	switch b {
	case '\n':
		if after {
			return Typing // of one key, on some terminals
		}
		return l.enter()
	case '\r':
		return l.enter()
	case 0x03: // ^C
		l.put('^')
		l.put('C')
		l.n = 0
		return Dropped
	case 0x04: // ^D
		if l.n == 0 {
			return End
		}
	case Key:
		if l.n == 0 {
			return Again
		}
	case 0x08, 0x7f:
		if l.n > 0 {
			l.erase(1)
		} else {
			l.put('\a')
		}
	case 0x15: // ^U
		l.erase(l.n)
	case 0x17: // ^W
		n := 0
		for n < l.n && l.text[l.n-1-n] == ' ' {
			n++
		}
		for n < l.n && l.text[l.n-1-n] != ' ' {
			n++
		}
		l.erase(n)
	case 0x10: // ^P
		l.recall()
	case 0x1b:
		l.escape = 1
	default:
		switch {
		case b == '\t':
		case b < ' ' || l.n == MaxLine:
			l.put('\a')
		default:
			l.add(b)
		}
	}
	return Typing
}

// Next begins a new line.
func (l *Line) Next() { l.n = 0 }

// sequence takes a byte of an escape sequence, ESC [ ... or ESC O ..., of which only the
// arrow upwards means something.
func (l *Line) sequence(b byte) Event {
	switch {
	case l.escape == 1 && (b == '[' || b == 'O'):
		l.escape = 2
	case l.escape == 2 && b >= 0x20 && b < 0x40: // parameters
	default:
		if l.escape == 2 && b == 'A' {
			l.recall()
		}
		l.escape = 0
	}
	return Typing
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

// recall makes the line the one before it.
func (l *Line) recall() {
	l.erase(l.n)
	for i := 0; i < l.lastN; i++ {
		l.add(l.last[i])
	}
}

func (l *Line) add(b byte) {
	l.text[l.n] = b
	l.n++
	l.put(b)
}

// erase takes back n characters.
func (l *Line) erase(n int) {
	for ; n > 0; n-- {
		l.n--
		l.put('\b')
		l.put(' ')
		l.put('\b')
	}
}

func (l *Line) put(b byte) {
	l.Echo[l.Echoed] = b
	l.Echoed++
}
