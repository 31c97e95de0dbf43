package eventstream

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/tracer/stream"
)

// PieceSize is the largest number of bytes of data in one piece.
const PieceSize = stream.PieceSize

// MaxFiles is the largest number of programs' records that are open at once.
const MaxFiles = 2

// Under the kernel lock; the panic path takes none.
var (
	com2   = arch.UART{Base: arch.UARTSecond}
	second bool // records go there
	latest uint32

	kernels = stream.Writer{Out: out, Latest: &latest}
	files   = [MaxFiles]file{{w: stream.Writer{Out: out, Latest: &latest}},
		{w: stream.Writer{Out: out, Latest: &latest}}}
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

// Begin starts a record of the kernel. An unfinished record is cut. Early and kernel context.
func Begin(kind string) *stream.Writer {
	begin(&kernels, kind)
	return &kernels
}

// Busy reports whether a record of the kernel has begun and not ended: whoever has interrupted that
// must not begin another. Any context.
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

// Flush waits until everything is sent. Any context.
func Flush() {
	if second {
		com2.Flush()
	}
}
