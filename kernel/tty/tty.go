package tty

// Mode is how the terminal treats its bytes.
type Mode uint8

const (
	Cooked Mode = iota // lines
	Raw                // bytes
	Pipe               // bytes, and an end of file
)

// Termios is struct termios of the kernel's interface on linux/amd64, as TCGETS
// and TCSETS carry it: 36 bytes.
type Termios struct {
	Iflag, Oflag, Cflag, Lflag uint32

	Line uint8
	CC   [19]uint8
}

// The bits of Termios that have an effect; the others are kept and given back.
const (
	ICRNL = 0x0100 // Iflag: carriage return in becomes line feed
	IUTF8 = 0x4000 // Iflag: characters of several bytes are erased as one

	OPOST = 0x01 // Oflag: the next one counts
	ONLCR = 0x04 // Oflag: line feed out becomes carriage return and line feed

	ISIG   = 0x01 // Lflag: ^C and ^\ are signals
	ICANON = 0x02 // Lflag: input comes in lines that can be edited
	ECHO   = 0x08 // Lflag: input is shown
)

// Indices into Termios.CC; a character of 0 is switched off.
const (
	VINTR   = 0
	VQUIT   = 1
	VERASE  = 2 // and backspace, 0x08, always
	VKILL   = 3
	VEOF    = 4
	VTIME   = 5
	VMIN    = 6
	VWERASE = 14
)

// Numbers of signals that Input returns.
const (
	SIGINT  = 2
	SIGQUIT = 3
)

const (
	// Of the bits without effect, those that programs expect to see: the erasure
	// is shown (ECHOE, ECHOK, ECHOCTL, ECHOKE), 115200 baud, 8 bits, receiver on.
	echoHow = 0x0a30
	line8N1 = 0x1cb2
)

const (
	defaultIflag = ICRNL | IUTF8
	defaultOflag = OPOST | ONLCR
	defaultLflag = ISIG | ICANON | ECHO | echoHow
)

// termios are the settings in force, at first Linux's default but for what is not
// done here: XON/XOFF, job control, and the editing keys of IEXTEN other than ^W.
// Under the kernel lock.
var termios = Termios{
	Iflag: defaultIflag,
	Oflag: defaultOflag,
	Cflag: line8N1,
	Lflag: defaultLflag,
	CC:    [19]uint8{VINTR: 0x03, VQUIT: 0x1c, VERASE: 0x7f, VKILL: 0x15, VEOF: 0x04, VMIN: 1, VWERASE: 0x17},
}

var pipe bool // under the kernel lock

// SetMode sets the mode, and empties the ring. For boot; the mode is Cooked until
// then.
func SetMode(m Mode) {
	pipe = m == Pipe
	termios.Iflag, termios.Oflag, termios.Lflag = defaultIflag, defaultOflag, defaultLflag
	if m != Cooked {
		termios.Iflag, termios.Oflag, termios.Lflag = 0, 0, 0
	}
	ended, escaped, column, sequence = false, false, 0, noSequence
	Flush()
}

// IsTerminal reports whether programs see a terminal; in pipe mode they do not,
// and TCGETS and the others are ENOTTY.
func IsTerminal() bool { return !pipe }

// Get stores the settings (TCGETS).
func Get(t *Termios) { *t = termios }

// Set changes the settings (TCSETS). It returns false in pipe mode, where there
// are none. What has been typed stays; without ICANON it can be read at once.
func Set(t *Termios) bool {
	if pipe {
		return false
	}
	termios = *t
	if termios.Lflag&ICANON == 0 {
		commit()
	}
	return true
}

// The size of the terminal in characters: what terminals have when in doubt, as nobody tells
// the serial port. No columns are rows without an end. Under the kernel lock.
var rows, columns uint16 = 24, 80

// Winsize returns the size of the terminal in characters; 0, 0 is not known.
func Winsize() (r, c uint16) { return rows, columns }

// SetWinsize sets the size of the terminal. It reports whether that has changed it.
func SetWinsize(r, c uint16) bool {
	changed := r != rows || c != columns
	rows, columns = r, c
	return changed
}

func local(bit uint32) bool { return termios.Lflag&bit != 0 }

// key reports whether b is the control character of that index.
func key(b byte, index int) bool { return b != 0 && b == termios.CC[index] }
