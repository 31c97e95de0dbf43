package nic

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Being told that a frame has come, where the card can say so by a message. Others are
// asked now and then (package linux).

// interrupts is set when the card interrupts. start keeps to it. Set once at boot.
var interrupts bool

// Interrupts reports whether the card interrupts when a frame has come. Any context.
func Interrupts() bool { return interrupts }

// Listen makes the card interrupt with [arch.InterruptNetwork] when a frame has come, if it can do that by a
// message. It needs
// [arch.LocalInterrupts]. Early context.
func Listen() {
	route := drivers[card].route
	if route == nil {
		return
	}
	where.Read(&header)
	if !route() {
		return
	}
	// The capability counts while a queue's message is set, so the card starts anew.
	if interrupts = true; !start() {
		card, interrupts = none, false
	}
}

// Acknowledge tells the card that its interrupt has been seen. Kernel context.
func Acknowledge() {
	if seen := drivers[card].seen; seen != nil {
		seen()
	}
}

func routeMSIX() bool {
	entry, ok := header.MSIXTable()
	if !ok {
		return false
	}
	if entry = mem.MapDevice(entry, pci.MSIXBytes); entry == 0 {
		return false
	}
	where.RouteMSIX(&header, entry, arch.InterruptNetwork)
	return true
}

func routeMSI() bool { return where.RouteMSI(&header, arch.InterruptNetwork) }
