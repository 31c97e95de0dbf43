package console

// The last bytes of the console, for the boot after a crash: a ring, which stands still while a
// trace is written, so that it ends where the trace begins.

// tailSize is the size of the ring in bytes, a power of two.
const tailSize = 4 << 10

// Under the kernel lock; the panic path takes none.
var (
	tail     [tailSize]byte
	tailed   uint // bytes ever put there
	tailHeld bool
)

func keepTail(b byte) {
	if !tailHeld {
		tail[tailed&(tailSize-1)] = b
		tailed++
	}
}

// HoldTail says whether the ring stands still. Any context.
func HoldTail(hold bool) { tailHeld = hold }

// TailLen returns how many bytes the ring has. Any context.
func TailLen() int { return int(min(tailed, tailSize)) }

// Tail returns byte i of the ring, from 0, the oldest. Any context.
func Tail(i int) byte { return tail[(tailed-uint(TailLen())+uint(i))&(tailSize-1)] }
