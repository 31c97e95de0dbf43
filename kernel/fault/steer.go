package fault

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/percpu"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// Which CPU gets devices' interrupts: one that is idle, rather than one that runs the program. The
// serial port and the virtio console stay with CPU 0, because their keys open the monitor.

// steerAfter is how long interrupts stay with a CPU at least, in nanoseconds: moving them takes
// some microseconds.
const steerAfter = 10e6

// steered is when interrupts were last moved, by clock.Now. Under the kernel lock.
var steered uint64

// steer moves the interrupt of that number, which arrived at this CPU, if another CPU is idle.
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
