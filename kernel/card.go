package kernel

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/dev/virtio"
	"github.com/zeroframe/zeroframe/kernel/fault"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/kernel/vfs"
)

// The network card. It is searched for only if the command line has an option that needs it,
// netconsole=, ip= or net=, because searching takes time, and a card takes memory.

// wantsNetwork reports whether there is such an option.
func wantsNetwork() bool {
	if word, ok := option.Word("net"); ok && word != 1 {
		return true
	}
	_, console := option.Value("netconsole")
	_, ip := option.Value("ip")
	return console || ip
}

// wanted is the result of wantsNetwork. Set once at boot.
var wanted bool

// findNetwork starts the network card, if an option needs it. Early context, before the frames of
// RAM are given away.
func findNetwork() {
	word, on := option.Word("net")
	stack := linux.HasStack() && on && word == 0
	if value, ok := option.Value("ntp"); ok && !stack {
		option.Ignored("ntp", value,
			"want net=on and a network stack, which zf run -net gives a program that uses package net")
	}
	if wanted = parts.Network && wantsNetwork(); !wanted {
		return
	}
	readNetconsole()
	nic.Init(stack)
}

// addPlaces reads where the devices that are not on PCI are. Early context.
func addPlaces() {
	const place = "virtio_mmio.device"
	for value, line, ok := option.Next(option.Line(), place); ok; value, line, ok = option.Next(line,
		place) {
		if wrong := virtio.AddPlace(value); wrong != "" {
			option.Ignored(place, value, wrong)
		}
	}
}

// printNetwork prints the boot report's line about it. It begins with the line break that ends the
// previous line.
func printNetwork() {
	if !wanted {
		return
	}
	console.String("\nnetwork ")
	if !nic.Up() {
		console.String("none: no card that works was found (" + nic.Families + ")")
		return
	}
	console.String(nic.Name())
	separator := byte(' ')
	for _, b := range nic.Address() {
		console.Byte(separator)
		printHex(b)
		separator = ':'
	}
}

// openNetwork makes the network card available to programs, and enables its interrupt.
func openNetwork() {
	if !nic.Up() {
		return
	}
	vfs.Mknod(vfs.Root, ascii.Bytes("/dev/nic0"), vfs.S_IFCHR|0o600, linux.DevNIC, clock.Wall())
	if arch.LocalInterrupts() {
		fault.OnInterrupt(arch.InterruptNetwork, linux.Frames)
		nic.Listen()
	}
}

// openRecords makes the device through which programs send records.
func openRecords() {
	vfs.Mknod(vfs.Root, ascii.Bytes("/dev/record"), vfs.S_IFCHR|0o622, linux.DevRecord, clock.Wall())
}
