package inet

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/linux"
)

// The stack may have a defect, which what another machine sends may find. Nobody knows what the
// stack holds after a panic, so that is the end of the network, but not of the program. Goroutines
// that the stack starts itself (tcp.processor) are out of reach: their panics end the program.

// failure is the end of the network.
type failure struct {
	over     atomic.Bool
	waiting  atomic.Int32 // goroutines here that wait for a descriptor as long as the program runs
	gateways []io.Closer
	gate     syscall.RawConn // of the one for connections
}

// serve starts a goroutine that waits for a descriptor again and again.
func (x *failure) serve(f func()) {
	x.waiting.Add(1)
	go x.guard(func() {
		defer x.waiting.Add(-1)
		f()
	})
}

// guard calls f, which is all that a goroutine of the network does.
func (x *failure) guard(f func()) {
	defer func() {
		if v := recover(); v != nil && x.over.CompareAndSwap(false, true) {
			const end = "panic in a goroutine of the network, without which the program goes on: "
			tracePanic(end + fmt.Sprint(v))
			x.end()
		}
	}()
	f()
}

// tracePanic writes a trace of the function that has panicked. It is called by what that function,
// or a caller of it, has deferred.
//
//go:noinline
func tracePanic(why string) {
	// Nothing below makes the goroutine's stack move.
	deferred, _ := arch.FrameRecord(arch.FramePointer())
	panics, _ := arch.FrameRecord(deferred) // of runtime.gopanic, which the trace does not show
	syscall.RawSyscall6(linux.PanicCall, uintptr(unsafe.Pointer(unsafe.StringData(why))),
		uintptr(len(why)), panics, 1, 0, 0)
}

// lose ends the network because the card cannot be read any more.
func (x *failure) lose(err error) {
	if x.over.CompareAndSwap(false, true) {
		fmt.Fprintf(os.Stderr, "inet: %v; the machine has no network any more\n", err)
		x.end()
	}
}

// end ends the program's connections with other machines.
func (x *failure) end() {
	if x.gate == nil {
		return // the network has not begun
	}
	x.gate.Control(func(fd uintptr) { ioctl(fd, linux.GatewayFails, 0) })
	for _, g := range x.gateways {
		g.Close()
	}
}
