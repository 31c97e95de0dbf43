package console

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/tracer"
)

// A second, faster way out for programs' output: a port whose bytes the host joins with those of
// COM1. Escape sequences, which the host removes (qemu/join.go), say which of them is active:
//
//	ESC ] zf-port;K BEL     on COM1: what follows is in the port
//	ESC ] zf-port;K BEL     in the port: what follows is to wait for that
//	ESC ] zf-errs;K BEL     in the place of both: it is of the program's standard error
//	ESC ] zf-com1;N BEL     on COM1: N bytes have gone by the port since; what follows is here
//
// The kernel's own text and each trace go through COM1, after everything in the port. K counts up
// from a random number, which is hard to guess, since a program may write such sequences, too.

// COM1 also says where input comes from, once and before the program starts:
//
//	ESC ] zf-stdin;1 BEL    on COM1: what is sent to the port is received; 0: it is not
//
// What is sent to COM1 is received in any case. And it says how a program has exited if that is
// more than the end of the machine can say:
//
//	ESC ] zf-exit;N BEL     on COM1: with the status N

// Set once at boot.
var portSend, portFlush, portReceive uintptr // addresses of functions; 0: there is no port

var bell = [...]byte{'\a'} // never written

// Under the kernel lock; the panic path takes none.
var (
	onPort bool                   // the port is active
	errors bool                   // what comes is of a program's standard error
	onErrs bool                   // what the port has is
	turns  uint64                 // K
	ported uint64                 // bytes that went there since
	digits [tracer.MaxDigits]byte // of turns
)

// UsePort sends programs' output through a port: send hands over bytes and returns how many the
// port has taken, flush waits until they are out, receive takes a byte that has arrived. They must
// be top-level functions. Not inlined, because tools/symbol/stacks finds its arguments in the code
// (tools/symbol/stacks/kernel.txt). Early context.
//
//go:noinline
func UsePort(send func(p []byte) int, flush func(), receive func() (byte, bool)) {
	portReceive = arch.EntryOf(receive)
	portFlush = arch.EntryOf(flush)
	portSend = arch.EntryOf(send)
}

// TellInput tells the host whether input through the port is received, if there is a port. random
// is one that is hard to guess. Early context, before the program starts.
func TellInput(byPort bool, random uint64) {
	if portSend == 0 {
		return
	}
	turns = 1e9 + random%1e9 // all of a length: what that costs does not depend on it
	by := uint64(0)
	if byPort {
		by = 1
	}
	mark("\x1b]zf-stdin;", by)
}

// SetErrors says whether what Text gets is of a program's standard error, or of its standard
// output. Kernel context.
func SetErrors(on bool) { errors = on }

// TellStatus tells the host with which status a program has exited, if there is a port. Kernel
// context.
func TellStatus(status uint64) {
	if portSend != 0 {
		Flush()
		mark("\x1b]zf-exit;", status)
	}
}

// mark sends a sequence with a number on COM1.
func mark(head string, n uint64) {
	com1.SendAll(unsafe.Slice(unsafe.StringData(head), len(head)))
	var b [tracer.MaxDigits]byte
	for _, c := range b[tracer.Digits(&b, n, 10):] {
		com1.Send(c)
	}
	com1.SendAll(bell[:])
}

// enterPort makes the port active, for the output that comes.
func enterPort() {
	if onPort && onErrs == errors {
		return
	}
	if onPort {
		leavePort()
	}
	turns++
	onErrs = errors
	head := "\x1b]zf-port;"
	if errors {
		head = "\x1b]zf-errs;"
	}
	both(unsafe.Slice(unsafe.StringData(head), len(head)))
	both(digits[tracer.Digits(&digits, turns, 10):])
	both(bell[:])
	ported, onPort = 0, true
}

// both sends bytes that are no part of the text on COM1 and through the port.
func both(p []byte) {
	com1.SendAll(p)
	sendPort(p)
}

// leavePort makes COM1 active again, after everything in the port is out.
func leavePort() {
	onPort = false // the rest of this may fault
	flushPort()
	mark("\x1b]zf-com1;", ported)
}

// portText sends Text's bytes through the port.
func portText(p []byte) {
	if len(p) == 0 {
		return
	}
	for _, b := range p[len(p)-min(len(p), tailSize):] {
		keepTail(b)
	}
	midway = p[len(p)-1] != '\n'
	ported += uint64(sendPort(p))
	if tap == 0 && onScreen == 0 {
		return
	}
	for _, b := range p {
		tapped(b)
		shown(b)
	}
}

// sendPort calls the port's function. Not inlined: the call is in one place.
//
//go:noinline
func sendPort(p []byte) int {
	return arch.FuncAt[func([]byte) int](&portSend)(p)
}

// flushPort calls the port's flush function.
//
//go:noinline
func flushPort() {
	arch.FuncAt[func()](&portFlush)()
}

// receivePort calls the port's receive function.
//
//go:noinline
func receivePort() (b byte, ok bool) {
	return arch.FuncAt[func() (byte, bool)](&portReceive)()
}
