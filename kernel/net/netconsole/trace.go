package netconsole

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// Traces. The bytes of a trace are kept while it is written to the console, and sent afterwards, so
// that the trace is safe on the serial line before anything here is tried. When the panic path
// faults, the next stage's output is appended, and everything is sent as one. If the fault was in
// the sending itself, nothing more is sent: the console has the traces, and the stages come to an
// end.
//
// A card that does not take a frame in time may only have a busy host. The rest of that trace is
// not sent. The next one is tried, but its frames are not waited for as long, unless it is urgent:
// so many traces cannot hold up the end of a machine whose card is dead.

// trace is what will be sent: the first n bytes of what kept returns. Panic path only.
var trace struct {
	frame   frame
	n       int
	cut     bool
	seq     uint32
	urgent  bool
	sending bool
}

// keptAt is the address of the memory for a trace: MaxTrace bytes. Set once at boot.
var keptAt uintptr

func kept() *[datagram.MaxTrace]byte { return (*[datagram.MaxTrace]byte)(arch.Pointer(keptAt)) }

// Begin says that a stage of the panic path, the first or a later one, begins to write a trace. An
// urgent one, such as a death's, gets a card that is late all the time again. Kernel context.
func Begin(first, urgent bool) {
	if !Ready() {
		return
	}
	// A CPU that has died may have stopped one that sent a trace, but not an urgent trace.
	if trace.sending && (!first || trace.urgent) {
		state.ready = false // the fault was here
		return
	}
	if trace.urgent = urgent; urgent {
		state.late = false
	}
	if first {
		trace.n, trace.cut, trace.sending = 0, false, false
	} else if trace.n > 0 && kept()[trace.n-1] != '\n' {
		Keep('\r')
		Keep('\n')
	}
	state.capturing = true
}

// Keep takes the next byte of the trace. Kernel context.
func Keep(b byte) {
	switch {
	case !parts.Network || !state.capturing:
	case trace.n < datagram.MaxTrace:
		kept()[trace.n] = b
		trace.n++
	default:
		trace.cut = true
	}
}

// End says that the stage has written its trace, and reports whether there is one for [Send].
// Kernel context.
func End() bool {
	if !parts.Network || !state.capturing {
		return false
	}
	state.capturing = false
	trace.sending = trace.n > 0
	return trace.sending
}

// Send sends the trace, and then the line that it interrupted. It returns false if the card has
// just begun to be late. Kernel context.
func Send() bool {
	before := state.late
	trace.seq++
	sendAs(state.build[:state.nBuild], state.boot, trace.seq)
	return before || !state.late
}

// SendAs is Send for a trace of an earlier boot, under the number that it had there; if seq is 0 it
// had none, and gets one of this boot. The trace itself says of which build it is. Early and kernel
// context.
func SendAs(boot uint64, seq uint32) {
	if seq == 0 {
		trace.seq++
		boot, seq = state.boot, trace.seq
	}
	sendAs(nil, boot, seq)
}

// Sent returns the number of this boot and that of its latest trace that was sent, or is kept and
// will be; seq is 0 if there is none. Kernel context.
func Sent() (boot uint64, seq uint32) {
	switch {
	case state.ready && state.capturing:
		return state.boot, trace.seq + 1
	case !state.ready || state.late:
		return 0, 0
	}
	return state.boot, trace.seq
}

func sendAs(build []byte, boot uint64, seq uint32) {
	if !parts.Network {
		return
	}
	p := datagram.Part{Build: build, Boot: boot, Seq: seq, Cut: trace.cut}
	whole := kept()[:trace.n]
	_, pieces, parity := datagram.Plan(len(whole))
	port := state.config.DestinationPort
	for i := 0; i < pieces+parity; i++ {
		if i < pieces {
			trace.frame.setPort(port)
		} else {
			trace.frame.setPort(datagram.ParityPort(port))
		}
		if !sendPart(datagram.Write(trace.frame.payload(), &p, whole, i)) {
			break
		}
	}
	if state.ready && !line.busy && line.n > 0 {
		line.held = false
		end()
	}
	trace.sending = false
}

// sendPart sends a datagram of n bytes, and reports whether the card took it. If it did not, it
// gets a second chance, because a crash may have left it in the middle of something.
func sendPart(n int) bool {
	state.late = !trace.frame.send(n) && (state.late || !restart() || !trace.frame.send(n))
	return !state.late
}
