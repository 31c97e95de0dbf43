package memdump

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/tracer/dump"
	"github.com/zeroframe/zeroframe/tracer/seal"
)

// The key of the receiver (core.key=), which seals everything but the announcement. The machine's
// own key is made of random numbers at boot, because a death is no time for that, and it is useful
// for this dump only; the shared secret is computed when the machine has died.

var (
	sealed   bool                 // set once at boot
	receiver [seal.PointSize]byte // set once at boot
	private  [seal.PointSize]byte // set once at boot
	public   [seal.PointSize]byte // panic path only
	session  seal.Session         // panic path only
)

// readKey reads the option core.key=. It returns what is wrong, or "". Early context.
func readKey() (wrong string) {
	value, ok := option.Value("core.key")
	if !ok {
		return ""
	}
	if len(value) != 2*len(receiver) {
		return "core.key= wants 64 hexadecimal digits, as zf receive -new-key FILE prints them"
	}
	for i, c := range value {
		v := c - '0'
		if c|0x20 >= 'a' {
			v = c | 0x20 - 'a' + 10
		}
		if v > 15 || c < '0' || c > '9' && c|0x20 < 'a' {
			return "core.key= has what is no hexadecimal digit"
		}
		receiver[i/2] = receiver[i/2]<<4 | v
	}
	if !entropy.Key(private[:]) {
		return "core.key= wants a CPU with RDRAND or RDSEED: without one the key can be guessed"
	}
	sealed = true
	return ""
}

// keepKey stores a second copy of the keys (arch.Keep).
func keepKey() {
	arch.KeepVar(&sealed)
	arch.KeepVar(&receiver)
	arch.KeepVar(&private)
}

// beginSession derives the keys, and reports whether the receiver's key is valid.
func beginSession() (ok bool) {
	if !sealed {
		return true
	}
	public, ok = session.Begin(&private, &receiver)
	return ok
}

// finish writes a packet's header, and seals its body if there is a key.
func finish(p []byte, h *dump.Header, n int) int {
	if sealed {
		return dump.FinishSealed(p, h, n, &session.Out)
	}
	return dump.Finish(p, h, n)
}
