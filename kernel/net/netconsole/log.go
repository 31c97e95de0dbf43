package netconsole

import "github.com/zeroframe/zeroframe/kernel/clock"

// Log lines: everything that goes to the console except traces, one line a datagram, as Linux sends
// a message. The carriage return before a line feed is left out. A line that is longer than a
// datagram takes several.
//
// The extended format (a + before the option) is that of /dev/kmsg
// (Documentation/ABI/testing/dev-kmsg): level, number, microseconds since boot, flags, and after a
// semicolon the text, in which unprintable bytes are written as \xHH. The flag c marks a piece of a
// line that the next datagram continues. With an r after the +, the kernel's version and a comma
// come first.

// levelInfo is the level of all lines, because the console's text has none.
const levelInfo = '6'

// line is the current datagram. Under the kernel lock; the panic path takes none.
var line struct {
	frame  frame
	n      int // bytes of payload so far, 0: nothing
	flags  int // where the flag is, in the extended format
	number uint64
	held   bool // a carriage return that may end the line
	busy   bool // a byte is being added, or it is being sent
}

// Byte takes the next byte of the console. Text from a trap that interrupted it is not sent,
// because the line is in use. Any context, interrupts off.
func Byte(b byte) {
	if !Ready() || state.capturing || line.busy {
		return
	}
	line.busy = true
	if line.held {
		line.held = false
		if b != '\n' {
			add('\r')
		}
	}
	switch b {
	case '\r':
		line.held = true
	case '\n':
		end()
	default:
		add(b)
	}
	line.busy = false
}

// Flush sends the unfinished line, because the machine ends. Any context, interrupts off.
func Flush() {
	if state.ready && !line.busy && line.n > 0 {
		if state.config.Extended {
			line.frame.payload()[line.flags] = 'c'
		}
		line.busy = true // a fault in it must not repeat with the next try
		sendLine()
		line.busy = false
	}
}

// add adds a byte of text to the datagram, and sends it when there is no room for another one and a
// line feed.
func add(b byte) {
	p := line.frame.payload()
	if line.n == 0 {
		begin()
	}
	if state.config.Extended && (b < ' ' || b >= 0x7f || b == '\\') {
		const digits = "0123456789abcdef"
		p[line.n], p[line.n+1], p[line.n+2], p[line.n+3] = '\\', 'x', digits[b>>4], digits[b&15]
		line.n += 4
	} else {
		p[line.n] = b
		line.n++
	}
	if line.n > maxPayload-len(`\x00`)-len("\n") {
		if state.config.Extended {
			p[line.flags] = 'c'
			p[line.n] = '\n'
			line.n++
		}
		sendLine()
	}
}

// end ends the line.
func end() {
	if line.n == 0 {
		begin()
	}
	line.frame.payload()[line.n] = '\n'
	line.n++
	sendLine()
}

// begin writes what comes before the text.
func begin() {
	if !state.config.Extended {
		return
	}
	if state.config.Release {
		for _, b := range state.release[:state.nRelease] {
			put(b)
		}
		put(',')
	}
	put(levelInfo)
	put(',')
	number(line.number)
	put(',')
	number(clock.Now() / 1000)
	put(',')
	line.flags = line.n
	put('-')
	put(';')
	line.number++
}

//go:noinline
func put(b byte) {
	line.frame.payload()[line.n] = b
	line.n++
}

func number(v uint64) {
	div := uint64(1)
	for v/div >= 10 {
		div *= 10
	}
	for ; div > 0; div /= 10 {
		put('0' + byte(v/div%10))
	}
}

// sendLine sends the datagram and begins another. If the card does not take it, it is lost.
func sendLine() {
	line.frame.send(line.n)
	line.n = 0
}
