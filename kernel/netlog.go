package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/dev/entropy"
	"github.com/zeroframe/zeroframe/kernel/dev/nic"
	"github.com/zeroframe/zeroframe/kernel/image"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/net/netconsole"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/kernel/parts"
)

// The console by network (options netconsole= and ip=): as soon as the card works, the console's
// text and each trace also go to another machine.

// readNetconsole reads the options. Call it before nic.Init.
func readNetconsole() {
	given, on := option.Value("netconsole")
	if !on {
		given = nil
	}
	ip, set := option.Value("ip")
	if !set {
		ip = nil
	}
	wrong, wrongIP := netconsole.Configure(given, ip)
	if wrongIP != "" {
		option.Ignored("ip", ip, wrongIP)
	}
	if wrong != "" {
		option.Ignored("netconsole", given, wrong)
	}
	nic.Want(netconsole.Options().Card)
}

// startNetconsole begins to send, if an option asks for it. Call it after nic.Init.
func startNetconsole() {
	c := netconsole.Options()
	if !parts.Network || !c.On {
		return
	}
	given, _ := option.Value("netconsole")
	if !nic.Up() {
		wrong := "there is no network card with a driver (" + nic.Families +
			"); under QEMU add one with zf run -net virtio"
		if c.Card != (netconsole.Hardware{}) {
			wrong = "no network card with a driver (" + nic.Families +
				") has the hardware address behind the first /; leave it out to take any"
		}
		option.Ignored("netconsole", given, wrong)
		return
	}
	if !netconsole.Start(image.BuildID(), entropy.Word(), Version) {
		option.Ignored("netconsole", given, "not enough RAM behind the kernel's image for a trace")
		return
	}
	console.Tap(netconsole.Byte)
}

// printNetconsole prints a line of the boot report. It begins with the line break that ends the
// previous line.
func printNetconsole() {
	if !netconsole.Ready() {
		return
	}
	c := netconsole.Options()
	console.String("\nnetlog  ")
	printAddress(c.Source)
	console.Printf(":%d to ", uint64(c.SourcePort))
	printAddress(c.Destination)
	console.Printf(":%d", uint64(c.DestinationPort))
	hop := c.NextHop(c.Destination)
	if hop != c.Destination {
		console.String(" by ")
		printAddress(hop)
	}
	switch {
	case c.Fixed:
		console.String(" at ")
		for i, b := range c.Hardware {
			if i > 0 {
				console.Byte(':')
			}
			printHex(b)
		}
	case c.ToMany(c.Destination):
		console.String(", to all who listen")
	case netconsole.Neighbor() || linux.HasStack():
		console.String(", broadcast until it is found")
	default:
		console.String(
			", broadcast\n        (give its hardware address behind the last /, or zf build -net)")
	}
	console.String("\n        this boot is ")
	for shift := 56; shift >= 0; shift -= 8 {
		printHex(byte(netconsole.Boot() >> uint(shift)))
	}
}

func printAddress(a netconsole.Address) {
	for i, b := range a {
		if i > 0 {
			console.Byte('.')
		}
		console.Dec(uint64(b))
	}
}

func printHex(b byte) {
	const digits = "0123456789abcdef"
	console.Byte(digits[b>>4])
	console.Byte(digits[b&15])
}
