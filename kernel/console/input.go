package console

// EnableInput makes the port interrupt when there is something to Receive
// ([arch.UART.EnableInput]).
func EnableInput() { com1.EnableInput() }

// Receive takes one byte that arrived at the port, or else one from the UART, which takes longer to
// check; ok is false if there is none. It does not wait. Early and kernel context.
func Receive() (b byte, ok bool) {
	if portReceive != 0 {
		if b, ok = receivePort(); ok {
			return b, true
		}
	}
	return com1.Receive()
}

// Flowing reports whether bytes arrive faster than they are received, and resets that. Early and
// kernel context.
func Flowing() bool { return com1.Flowing() }
