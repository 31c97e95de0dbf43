package kernel

import (
	_ "unsafe" // for linkname

	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/entropy"
	"github.com/zeroframe/zeroframe/kernel/netconsole"
	"github.com/zeroframe/zeroframe/kernel/nic"
	"github.com/zeroframe/zeroframe/kernel/record"
)

// The console by network (options netconsole= and ip=): from the moment that the card is
// up, what is said on the console and each trace go to another machine, too.

// netup is true in an image that has package netup, which answers to the other machines
// of the network and finds out their hardware addresses. That package sets it in its
// source, as nothing of it has run when it is asked for here.
//
//go:linkname netup
var netup bool

// readNetconsole reads the options. Before nic.Init.
func readNetconsole() {
	option, on := Option("netconsole")
	if !on {
		option = nil
	}
	ip, set := Option("ip")
	if !set {
		ip = nil
	}
	wrong, wrongIP := netconsole.Configure(option, ip)
	if wrongIP != "" {
		complain("ip", ip, wrongIP)
	}
	if wrong != "" {
		complain("netconsole", option, wrong)
	}
	nic.Want(netconsole.Options().Card)
}

// startNetconsole begins to send, if an option wants it. When nic.Init has been called.
func startNetconsole() {
	c := netconsole.Options()
	if c.On && !nic.Up() {
		wrong := "there is no network card with a driver (virtio-net, e1000, e1000e); under QEMU add one with zf run -net virtio"
		if c.Card != (netconsole.Hardware{}) {
			wrong = "no network card with a driver (virtio-net, e1000, e1000e) has the hardware address behind the first /; leave it out to take any"
		}
		option, _ := Option("netconsole")
		complain("netconsole", option, wrong)
		return
	}
	if netconsole.Start(buildID(), entropy.Word(), Version) {
		console.Tap(netconsole.Byte)
	}
}

// printNetconsole prints a line of the boot report. It begins with the line break that
// ends the line before.
func printNetconsole() {
	if !netconsole.Ready() {
		return
	}
	c := netconsole.Options()
	console.String("\nnetlog  ")
	printAddress(c.Source)
	console.String(":")
	console.Dec(uint64(c.SourcePort))
	console.String(" to ")
	printAddress(c.Destination)
	console.String(":")
	console.Dec(uint64(c.DestinationPort))
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
	case netup:
		console.String(", broadcast until it is found")
	default:
		console.String(", broadcast\n        (give its hardware address behind the last /, or zf build -net)")
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

// wire is where traces go, also that of a crash record.
func wire(b byte) {
	if recording {
		record.Byte(b)
		return
	}
	console.Trace(b)
	netconsole.Keep(b)
}

// sendTrace sends what wire has taken in the rung that ends.
func sendTrace() {
	if netconsole.End() {
		runPanicHook(HookNetwork)
		netconsole.Send()
		if netconsole.Broken() {
			console.String("netconsole: the network card takes no frames any more; what follows is here alone\n")
		}
	}
}

// HookNetwork is the number with which the function of [OnPanic] is called before a trace
// is sent.
const HookNetwork = numRungs + 1
