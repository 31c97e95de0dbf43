package tty

const (
	bell      = 0x07
	backspace = 0x08
	rubout    = 0x7f
	dle       = 0x10
	eot       = 0x04
	escape    = 0x1b
)

// Attention says that ^] is for the kernel's monitor; in pipe mode it is after a DLE. Set once at
// boot.
var Attention bool

// attentionKey is ^].
const attentionKey = 0x1d

// ForMonitor is what Input returns for that key, in place of a signal.
const ForMonitor = -1

// Input takes a byte from the serial port or the master's side; if there is no Room, the byte is
// dropped. It returns the number of the signal that the byte sends to the program, 0 for none, or
// ForMonitor.
func (t *Terminal) Input(b byte) (signal int) {
	if !t.Room() {
		return 0
	}
	if Attention && b == attentionKey && (!t.pipe || t.escaped) {
		t.escaped = false
		return ForMonitor
	}
	return t.Typed(b)
}

// Typed is Input for a byte that is never for the kernel.
func (t *Terminal) Typed(b byte) (signal int) {
	if !t.Room() {
		return 0
	}
	if t.pipe {
		t.pipeInput(b)
		return 0
	}
	if t.literal {
		t.literal = false
		t.echo(b)
		t.put(b, false)
		return 0
	}
	if t.termios.Iflag&IXON != 0 && (t.key(b, VSTART) || t.key(b, VSTOP)) {
		t.stopped = !t.key(b, VSTART)
		return 0
	}
	if t.local(ISIG) {
		switch {
		case t.key(b, VINTR):
			signal = SIGINT
		case t.key(b, VQUIT):
			signal = SIGQUIT
		case t.isPair() && t.key(b, VSUSP): // it has no job to stop
			signal = SIGTSTP
		}
		if signal != 0 {
			t.interrupt(b)
			return signal
		}
	}
	was := b
	switch flags := t.termios.Iflag; {
	case b == '\r' && flags&IGNCR != 0:
		return 0
	case b == '\r' && flags&ICRNL != 0:
		b = '\n'
	case b == '\n' && flags&INLCR != 0:
		b = '\r'
	}
	if t.local(ICANON) {
		t.edit(b)
		return 0
	}
	if was == '\n' && b == '\n' && t.local(ECHO) {
		t.text("^J")
	} else {
		t.echo(b)
	}
	t.put(b, false)
	return 0
}

// End says in pipe mode that there is no more input. For boot.
func (t *Terminal) End() { t.ended = true }

// pipeInput resolves the escapes.
func (t *Terminal) pipeInput(b byte) {
	switch {
	case t.ended:
	case t.escaped:
		t.escaped = false
		switch b {
		case dle:
			t.put(dle, false)
		case eot:
			t.ended = true
		default:
			t.put(dle, false)
			t.put(b, false)
		}
	case b == dle:
		t.escaped = true
	default:
		t.put(b, false)
	}
}

// interrupt drops the line, of a pair all lines, and shows the key.
func (t *Terminal) interrupt(b byte) {
	t.head = t.ready
	if t.isPair() {
		t.Flush()
		t.FlushOut()
	}
	t.stopped = false
	t.echo(b)
}

// edit takes a byte of a line.
func (t *Terminal) edit(b byte) {
	if t.head == t.ready {
		t.origin = t.column
	}
	switch {
	case b == '\n':
		t.echo(b)
		t.put(b, true)
	case t.key(b, VEOF):
		t.put(endOfFile, true)
	case t.key(b, VEOL):
		t.echo(b)
		t.put(b, true)
	case t.key(b, VERASE) || b == backspace && !t.isPair():
		t.erase()
	case t.key(b, VWERASE):
		t.eraseWord()
	case t.key(b, VKILL):
		for t.head != t.ready {
			t.erase()
		}
	case t.key(b, VLNEXT) && t.local(IEXTEN):
		t.literal = true
		if t.local(ECHO) {
			t.text("^\b")
		}
	case t.head-t.ready >= maxLine-1:
		if t.local(ECHO) {
			t.send(bell)
		}
	default:
		t.echo(b)
		t.put(b, false)
	}
}

// erase removes the last character.
func (t *Terminal) erase() {
	if t.head == t.ready {
		return
	}
	t.head--
	if t.termios.Iflag&IUTF8 != 0 {
		for continuation(t.at(t.head)) && t.head != t.ready {
			t.head--
		}
	}
	if !t.local(ECHO) {
		return
	}
	blank := t.at(t.head) != '\t' // a tab shows nothing that would have to be erased
	for n := t.width(t.head); n > 0; n-- {
		t.eraseColumn(blank)
	}
}

// width returns the number of columns of the line's byte i. A tab's width depends on what is before
// it.
func (t *Terminal) width(i uint64) int {
	b := t.at(i)
	if b != '\t' {
		return t.echoed(b, 0)
	}
	from := t.origin
	for j := t.ready; j != i; j++ {
		from = t.echoed(t.at(j), from)
	}
	return t.echoed(b, from) - from
}

// eraseWord removes the last word, and anything after it.
func (t *Terminal) eraseWord() {
	for inWord := false; t.head != t.ready; t.erase() {
		if isWord(t.at(t.head - 1)) {
			inWord = true
		} else if inWord {
			return
		}
	}
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '_' ||
		b >= 0x80
}

// continuation reports whether b is a byte of a UTF-8 character other than its
// first.
func continuation(b byte) bool { return b&0xc0 == 0x80 }

// echo shows a typed byte: a control character as ^ and a letter, a tab to the end of a row as
// blanks, because terminals treat that differently.
func (t *Terminal) echo(b byte) {
	switch {
	case !t.local(ECHO):
	case isControl(b):
		t.Out('^')
		t.Out(b ^ 0x40)
	case b == '\t' && (t.behindMargin(t.column) || t.behindMargin(t.tabStop(t.column))):
		for n := t.tabStop(t.column) - t.column; n > 0; n-- {
			t.Out(' ')
		}
	default:
		t.Out(b)
	}
}

func isControl(b byte) bool { return b < ' ' && b != '\n' && b != '\t' || b == rubout }

// echoed returns the column after echo(b) at a column.
func (t *Terminal) echoed(b byte, column int) int {
	switch {
	case isControl(b):
		return column + 2
	case b == '\t':
		return t.tabStop(column)
	}
	return t.after(b, column)
}
