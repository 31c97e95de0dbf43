package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// To which CPU devices' interrupts come: one that has nothing to do, rather than one that runs the
// program. The serial port and the virtio console stay with CPU 0, whose keys open the monitor.

// steerAfter is how long interrupts stay with a CPU at least, in nanoseconds: it takes some
// microseconds to send them elsewhere.
const steerAfter = 10e6

// steered is when some were sent elsewhere, by clock.Now. Under the kernel lock.
var steered uint64

// steer is for an interrupt of that number, which has come to this CPU.
func steer(number uint8) {
	percpu.AssertLocked()
	switch number {
	case arch.InterruptNetwork, arch.InterruptShare, arch.InterruptConsole, arch.InterruptPort:
	default:
		return
	}
	r := percpu.This()
	r.Devices++
	if number == arch.InterruptConsole || number == arch.InterruptPort || r.Thread == 0 {
		return
	}
	n, ok := thread.IdleCPU()
	if now := clock.Now(); ok && now-steered >= steerAfter && percpu.At(n).ID <= 255 {
		steered = now
		pci.Steer(number, percpu.At(n).ID)
	}
}
