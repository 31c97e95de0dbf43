package tty

// Terminal is a terminal with its line discipline: the serial port's, or a pair's (pair.go).
// Under the kernel lock.
type Terminal struct {
	termios Termios

	tail, ready, head uint64 // of the input ring (read.go)

	// More state of a pair: the frames of its rings, 0 if this is no pair, and the output ring,
	// which counts in the same way.
	pages           [pairPages]uintptr
	outTail, outEnd uint64

	// column is where the terminal's cursor is, as far as the bytes tell: a wide character counts
	// as one column, and escape sequences for colors as none. It counts from the start of a line,
	// and goes on when the terminal begins another row.
	column, origin int   // and where the line began
	sequence       uint8 // position in an escape sequence

	rows, columns, wide, high uint16 // in characters, and in pixels

	pipe    bool
	ended   bool // pipe mode: the end of the file has come
	escaped bool // pipe mode: the last byte was a DLE
	literal bool // the next byte stands for itself, as ^V says
	stopped bool // ^S has stopped the output
}

// Serial is the serial port's terminal. Its initial settings are Linux's defaults except for what
// is not supported: XON/XOFF, job control, and the editing keys of IEXTEN other than ^W. Its size
// is a common default, because the serial port tells none. Under the kernel lock.
var Serial = Terminal{
	termios: Termios{
		Iflag: defaultIflag,
		Oflag: defaultOflag,
		Cflag: line8N1,
		Lflag: defaultLflag,
		CC: [19]uint8{VINTR: 0x03, VQUIT: 0x1c, VERASE: 0x7f, VKILL: 0x15, VEOF: 0x04, VMIN: 1,
			VWERASE: 0x17},
	},
	rows: 24, columns: 80,
}

// Mode is how the terminal treats its bytes.
type Mode uint8

const (
	Cooked Mode = iota // lines
	Raw                // bytes
	Pipe               // bytes, and an end of file
)

// Termios is struct termios of the kernel's interface on linux/amd64, as in TCGETS and TCSETS: 36
// bytes.
type Termios struct {
	Iflag, Oflag, Cflag, Lflag uint32

	Line uint8
	CC   [19]uint8
}

// The bits of Termios that have an effect; the others are stored and returned.
const (
	INLCR = 0x0040 // Iflag: line feed in becomes carriage return
	IGNCR = 0x0080 // Iflag: carriage return in is dropped
	ICRNL = 0x0100 // Iflag: carriage return in becomes line feed
	IXON  = 0x0400 // Iflag: ^S stops the output of a pair, ^Q lets it go on
	IUTF8 = 0x4000 // Iflag: characters of several bytes are erased as one

	OPOST = 0x01 // Oflag: the next one counts
	ONLCR = 0x04 // Oflag: line feed out becomes carriage return and line feed

	ISIG   = 0x01   // Lflag: ^C and ^\ are signals
	ICANON = 0x02   // Lflag: input comes in lines that can be edited
	ECHO   = 0x08   // Lflag: input is shown
	IEXTEN = 0x8000 // Lflag: ^V makes the next byte stand for itself
)

// Indices into Termios.CC; a character of 0 is switched off.
const (
	VINTR   = 0
	VQUIT   = 1
	VERASE  = 2 // and backspace, 0x08, of the serial terminal always
	VKILL   = 3
	VEOF    = 4
	VTIME   = 5 // has an effect if VMIN is 0
	VMIN    = 6
	VSTART  = 8
	VSTOP   = 9
	VSUSP   = 10
	VEOL    = 11
	VWERASE = 14
	VLNEXT  = 15
)

// Numbers of signals that Input returns.
const (
	SIGINT  = 2
	SIGQUIT = 3
	SIGTSTP = 20
)

const (
	// Bits without effect that programs expect: the erasure is shown (ECHOE, ECHOK, ECHOCTL,
	// ECHOKE), 115200 baud, 8 bits, receiver on.
	echoHow = 0x0a30
	line8N1 = 0x1cb2

	// For a pair: 38400 baud; 8 bits, receiver on, no parity, which nobody can change.
	line38400 = 0x0f
	line8     = 0xb0
	parity    = 0x0100
)

const (
	defaultIflag = ICRNL | IUTF8
	defaultOflag = OPOST | ONLCR
	defaultLflag = ISIG | ICANON | ECHO | echoHow
)

// SetMode sets the mode, and empties the ring. For boot; the mode is Cooked until
// then.
func (t *Terminal) SetMode(m Mode) {
	t.pipe = m == Pipe
	t.termios.Iflag, t.termios.Oflag, t.termios.Lflag = defaultIflag, defaultOflag, defaultLflag
	if m != Cooked {
		t.termios.Iflag, t.termios.Oflag, t.termios.Lflag = 0, 0, 0
	}
	t.ended, t.escaped, t.column, t.sequence = false, false, 0, noSequence
	t.Flush()
}

// IsTerminal reports whether programs see a terminal; in pipe mode they do not,
// and TCGETS and the others are ENOTTY.
func (t *Terminal) IsTerminal() bool { return !t.pipe }

// Get stores the settings (TCGETS).
func (t *Terminal) Get(to *Termios) { *to = t.termios }

// Set changes the settings (TCSETS). It returns false in pipe mode, which has none. Typed input
// stays; without ICANON it can be read at once.
func (t *Terminal) Set(to *Termios) bool {
	if t.pipe {
		return false
	}
	t.termios = *to
	if t.isPair() {
		t.termios.Cflag = t.termios.Cflag&^parity | line8
	}
	if to.Iflag&IXON == 0 {
		t.stopped = false
	}
	if t.termios.Lflag&ICANON == 0 {
		t.commit()
	}
	return true
}

// Winsize returns the size of the terminal in characters and in pixels; 0 means unknown.
func (t *Terminal) Winsize() (rows, columns, wide, high uint16) {
	return t.rows, t.columns, t.wide, t.high
}

// SetWinsize sets the size of the terminal. With 0 columns, rows have no end. It reports whether
// the size has changed.
func (t *Terminal) SetWinsize(rows, columns, wide, high uint16) bool {
	changed := rows != t.rows || columns != t.columns || wide != t.wide || high != t.high
	t.rows, t.columns, t.wide, t.high = rows, columns, wide, high
	return changed
}

func (t *Terminal) local(bit uint32) bool { return t.termios.Lflag&bit != 0 }

// key reports whether b is the control character at that index.
func (t *Terminal) key(b byte, index int) bool { return b != 0 && b == t.termios.CC[index] }
