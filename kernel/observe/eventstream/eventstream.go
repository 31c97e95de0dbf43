package eventstream

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// PieceSize is the most bytes of data that leave in one piece.
const PieceSize = stream.PieceSize

// MaxFiles is how many records of programs may be open at once.
const MaxFiles = 2

// Under the kernel lock; the panic path takes none.
var (
	com2   = arch.UART{Base: arch.UARTSecond}
	second bool // records go there
	latest uint32

	kernels = stream.Writer{Out: out, Latest: &latest}
	files   = [MaxFiles]file{{w: stream.Writer{Out: out, Latest: &latest}}, {w: stream.Writer{Out: out, Latest: &latest}}}
)

// Configure chooses the port: the value of the option record.port, nil if it is not
// there. wrong says what is wrong with it, or "". Early context.
func Configure(port []byte) (wrong string) {
	switch {
	case port == nil, ascii.Same(port, "com1"):
	case ascii.Same(port, "com2"):
		com2.Init()
		if !com2.Present() {
			return "there is no second serial port (COM2): records go by COM1"
		}
		second = true
	default:
		return "want com1 or com2"
	}
	return ""
}

// Begin starts a record of the kernel's. A record that has been begun before and not
// ended is cut. Early and kernel context.
func Begin(kind string) *stream.Writer {
	begin(&kernels, kind)
	return &kernels
}

// Busy reports whether a record of the kernel's has begun and not ended: who has interrupted
// that must not begin another. Any context.
func Busy() bool { return kernels.Open() }

func begin(w *stream.Writer, kind string) {
	w.Frames = second
	w.Begin(kind)
}

// out sends a piece.
func out(piece []byte) {
	if second {
		com2.SendAll(piece)
	} else {
		console.Raw(piece)
	}
}

// Flush waits until all is sent. Any context.
func Flush() {
	if second {
		com2.Flush()
	}
}
