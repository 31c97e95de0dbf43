package nic

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/dev/pci"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// The interrupt for a received frame, if the card can send it as a message. Other cards are polled
// (package linux).

// interrupts is set if the card interrupts; start obeys it. Set once at boot.
var interrupts bool

// Interrupts reports whether the card interrupts when it has received a frame. Any context.
func Interrupts() bool { return parts.Network && interrupts }

// Listen makes the card interrupt with [arch.InterruptNetwork] when it has received a frame, if it
// can do that by a message. It needs [arch.LocalInterrupts]. Early context.
func Listen() {
	route := drivers[card].route
	if route == nil {
		return
	}
	where.Read(&header)
	if !route() {
		return
	}
	// The capability only works if a queue's message is set, so the card is restarted.
	if interrupts = true; !start() {
		card, interrupts = none, false
	}
}

// Acknowledge tells the card that its interrupt has been seen. Kernel context.
func Acknowledge() {
	if seen := drivers[card].seen; parts.Network && seen != nil {
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
