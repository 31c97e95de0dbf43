package tty

const (
	bell      = 0x07
	backspace = 0x08
	rubout    = 0x7f
	dle       = 0x10
	eot       = 0x04
	escape    = 0x1b
)

// Attention says that ^] is for the kernel's monitor. In pipe mode it is, behind a DLE.
// Set once at boot.
var Attention bool

// attentionKey is ^].
const attentionKey = 0x1d

// ForMonitor is what Input returns, in place of a signal, for that key.
const ForMonitor = -1

// Under the kernel lock.
var (
	escaped bool // pipe mode: the last byte was a DLE
	origin  int  // column where the line began
)

// Input takes a byte from the serial port, of which there must be Room, else it is
// dropped. signal is the number of the signal that it means to the program, 0 if
// none, or ForMonitor.
func Input(b byte) (signal int) {
	if !Room() {
		return 0
	}
	if Attention && b == attentionKey && (!pipe || escaped) {
		escaped = false
		return ForMonitor
	}
	return Typed(b)
}

// Typed is Input for a byte of which nothing is for the kernel.
func Typed(b byte) (signal int) {
	if !Room() {
		return 0
	}
	if pipe {
		pipeInput(b)
		return 0
	}
	if local(ISIG) {
		if key(b, VINTR) {
			interrupt(b)
			return SIGINT
		}
		if key(b, VQUIT) {
			interrupt(b)
			return SIGQUIT
		}
	}
	if b == '\r' && termios.Iflag&ICRNL != 0 {
		b = '\n'
	}
	if local(ICANON) {
		edit(b)
		return 0
	}
	echo(b)
	put(b, false)
	return 0
}

// End says in pipe mode that nothing comes any more. For boot.
func End() { ended = true }

// pipeInput resolves the escapes.
func pipeInput(b byte) {
	switch {
	case ended:
	case escaped:
		escaped = false
		switch b {
		case dle:
			put(dle, false)
		case eot:
			ended = true
		default:
			put(dle, false)
			put(b, false)
		}
	case b == dle:
		escaped = true
	default:
		put(b, false)
	}
}

// interrupt drops the line and shows the key.
func interrupt(b byte) {
	head = ready
	echo(b)
}

// edit takes a byte of a line.
func edit(b byte) {
	if head == ready {
		origin = column
	}
	switch {
	case b == '\n':
		echo(b)
		put(b, true)
	case key(b, VEOF):
		put(endOfFile, true)
	case key(b, VERASE) || b == backspace:
		erase()
	case key(b, VWERASE):
		eraseWord()
	case key(b, VKILL):
		for head != ready {
			erase()
		}
	case head-ready >= maxLine-1:
		if local(ECHO) {
			send(bell)
		}
	default:
		echo(b)
		put(b, false)
	}
}

// erase takes the last character back.
func erase() {
	if head == ready {
		return
	}
	head--
	if termios.Iflag&IUTF8 != 0 {
		for continuation(at(head)) && head != ready {
			head--
		}
	}
	if !local(ECHO) {
		return
	}
	blank := at(head) != '\t' // a tab shows nothing that would have to go
	for n := width(head); n > 0; n-- {
		eraseColumn(blank)
	}
}

// width returns how many columns the line's byte i takes. A tab's depends on
// what is before it.
func width(i uint64) int {
	b := at(i)
	if b != '\t' {
		return echoed(b, 0)
	}
	from := origin
	for j := ready; j != i; j++ {
		from = echoed(at(j), from)
	}
	return echoed(b, from) - from
}

// eraseWord takes the last word back, and what is no word behind it.
func eraseWord() {
	for inWord := false; head != ready; erase() {
		if isWord(at(head - 1)) {
			inWord = true
		} else if inWord {
			return
		}
	}
}

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '_' || b >= 0x80
}

// continuation reports whether b is a byte of a UTF-8 character other than its
// first.
func continuation(b byte) bool { return b&0xc0 == 0x80 }

// echo shows a byte that was typed; a control character as ^ and a letter, a tab to the end
// of a row as blanks, since what terminals make of it differs.
func echo(b byte) {
	switch {
	case !local(ECHO):
	case isControl(b):
		Out('^')
		Out(b ^ 0x40)
	case b == '\t' && (behindMargin(column) || behindMargin(tabStop(column))):
		for n := tabStop(column) - column; n > 0; n-- {
			Out(' ')
		}
	default:
		Out(b)
	}
}

func isControl(b byte) bool { return b < ' ' && b != '\n' && b != '\t' || b == rubout }

// echoed returns the column after echo(b) in the given one.
func echoed(b byte, column int) int {
	switch {
	case isControl(b):
		return column + 2
	case b == '\t':
		return tabStop(column)
	}
	return after(b, column)
}
