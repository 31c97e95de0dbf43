package console

// EnableInput makes the port interrupt when there is something to Receive
// ([arch.UART.EnableInput]).
func EnableInput() { com1.EnableInput() }

// Receive takes one byte out of the UART; ok is false if it has none. It does not
// wait. Early and kernel context.
func Receive() (b byte, ok bool) { return com1.Receive() }

// Flowing reports whether bytes come in faster than they are received, and forgets it. Early
// and kernel context.
func Flowing() bool { return com1.Flowing() }
