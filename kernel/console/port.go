package console

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer"
)

// A second, faster way out for what programs write: a port whose bytes the host joins with
// those of COM1. COM1 says when which of them has the word, by two escape sequences that the
// host takes out (qemu/join.go):
//
//	ESC ] zf-port BEL       what follows is in the port
//	ESC ] zf-com1;N BEL     N bytes have gone by the port since boot; what follows is here
//
// The kernel's own text and each trace go by COM1, behind all that is in the port.

// Set once at boot.
var portSend, portFlush uintptr // addresses of functions; 0: there is no port

// Under the kernel lock; the panic path takes none.
var (
	onPort bool   // the port has the word
	ported uint64 // bytes that have gone there
)

// UsePort says that what programs write goes by a port: send hands bytes over and returns how
// many the port has taken, flush waits until they are out. They must be top-level functions. Not
// inlined: its arguments are looked for in the code (tools/stacks/kernel.txt). Early context.
//
//go:noinline
func UsePort(send func(p []byte) int, flush func()) {
	portFlush = **(**uintptr)(unsafe.Pointer(&flush))
	portSend = **(**uintptr)(unsafe.Pointer(&send))
}

// enterPort gives the port the word.
func enterPort() {
	if !onPort {
		say("\x1b]zf-port\a")
		onPort = true
	}
}

// leavePort gives COM1 the word again, when all that went by the port is out.
func leavePort() {
	onPort = false // the rest of this may fault
	flushPort()
	say("\x1b]zf-com1;")
	var b [tracer.MaxDigits]byte
	for _, c := range b[tracer.Digits(&b, ported, 10):] {
		com1.Send(c)
	}
	say("\a")
}

// say sends bytes that are no part of the text.
func say(s string) { com1.SendAll(unsafe.Slice(unsafe.StringData(s), len(s))) }

// portText sends by the port what Text is given.
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
	f := &portSend
	return (*(*func([]byte) int)(unsafe.Pointer(&f)))(p)
}

// flushPort calls the port's other one.
//
//go:noinline
func flushPort() {
	f := &portFlush
	(*(*func())(unsafe.Pointer(&f)))()
}
