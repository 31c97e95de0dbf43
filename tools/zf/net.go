package main

// The network of a machine: its card, the ports that the host reaches, and what of it is linked.

import (
	"strings"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// forward takes a value of -p.
func (m *machine) forward(s string) error {
	option, err := qemu.Forward(s)
	m.forwards = append(m.forwards, option)
	return err
}

// network gives the machine a card, if its ports are to be reached: one that can be recorded, if it
// is to be.
func (m *machine) network() {
	if len(m.forwards) == 0 {
		return
	}
	if m.qemu.Net == "" {
		m.qemu.Net = "virtio"
		if m.record != "" {
			m.qemu.Net = "e1000e"
		}
	}
	m.qemu.Net = strings.Join(append([]string{m.qemu.Net}, m.forwards...), ",")
}

// hasAddress reports whether the kernel is told an address of the machine, without which
// it has nothing to answer on a network.
func (m *machine) hasAddress() bool {
	_, console := lastOption(m.append, "netconsole")
	_, ip := lastOption(m.append, "ip")
	return console || ip
}

// hasSockets reports whether the machine has a network for the program's sockets: it has a card, or
// its command line says so, as for a machine without QEMU.
func (m *machine) hasSockets() bool {
	word, _ := lastOption(m.append, "net")
	return word == "on" || word == "" && m.qemu.Net != ""
}

// sayUnlinked says that nobody answers at the ports of -p, if the image has no network stack. One
// whose functions are not known may have it.
func (m *machine) sayUnlinked(sym *symbol.File) {
	const start = image.KernelPackage + image.InetPackage + ".start"
	_, _, linked := sym.Symbol(start)
	if len(m.forwards) > 0 && !linked && len(sym.Named("runtime.main")) > 0 {
		m.say(
			"note: nothing answers at the ports of -p: the program does not use package net, or its image " +
				"was built without `zf build -net`")
	}
}
