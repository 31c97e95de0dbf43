package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/nic"
)

// The network card. It is looked for only if the command line has an option that needs it,
// netconsole=, ip= or net=, since to look for devices takes time, and a card takes memory.

// wantsNetwork reports whether there is such an option.
func wantsNetwork() bool {
	if net, ok := Option("net"); ok {
		switch {
		case Same(net, "on"):
			return true
		case !Same(net, "off"):
			complain("net", net, "want on or off")
		}
	}
	_, console := Option("netconsole")
	_, ip := Option("ip")
	return console || ip
}

// wanted is what wantsNetwork has reported.
var wanted bool

// findNetwork starts the network card, if one is wanted. Early context, before the frames
// of RAM are given away.
func findNetwork() {
	if wanted = wantsNetwork(); !wanted {
		return
	}
	readNetconsole()
	const place = "virtio_mmio.device"
	for value, line, ok := nextOption(info.Cmdline(), place); ok; value, line, ok = nextOption(line, place) {
		if wrong := nic.AddPlace(value); wrong != "" {
			complain(place, value, wrong)
		}
	}
	nic.Init()
}

// printNetwork prints the boot report's line of it. It begins with the line break that
// ends the line before.
func printNetwork() {
	if !wanted {
		return
	}
	console.String("\nnetwork ")
	if !nic.Up() {
		console.String("none: no virtio-net or e1000 card was found that works")
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

// openNetwork makes the network card a device of programs, and lets it interrupt.
func openNetwork() {
	if !nic.Up() {
		return
	}
	fs.Mknod(fs.Root, path("/dev/nic0"), fs.S_IFCHR|0o600, linuxabi.DevNIC, clock.Wall())
	if apic != 0 {
		OnInterrupt(nic.Vector, linuxabi.Frames)
		nic.Listen()
	}
}
