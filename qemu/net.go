package qemu

// Network cards, on QEMU's user-mode network: the guest sees a small network of its own,
// 10.0.2.0/24, with a gateway at 10.0.2.2, and QEMU passes its connections on as those of
// an ordinary program. So it needs no rights and no set-up on the host.

import (
	"fmt"
	"slices"
	"strings"
)

// netModels are the cards that the kernel has drivers for, and QEMU's names for them.
var netModels = []struct{ name, device string }{
	{"virtio", "virtio-net-pci"},
	{"virtio-modern", "virtio-net-pci,disable-legacy=on"},
	{"virtio-legacy", "virtio-net-pci,disable-modern=on"},
	{"virtio-mmio", "virtio-net-device"},
	{"e1000", "e1000"},
	{"e1000e", "e1000e"},
}

// NetModels returns the names of the network cards that [Config.Net] takes.
func NetModels() []string {
	var names []string
	for _, m := range netModels {
		names = append(names, m.name)
	}
	return names
}

// CheckNet returns what is wrong with a value for [Config.Net].
func CheckNet(net string) error {
	model, _, _ := strings.Cut(net, ",")
	if !slices.Contains(NetModels(), model) {
		return fmt.Errorf("no network card is called %q; there are %s", model,
			strings.Join(NetModels(), ", "))
	}
	return nil
}

// netArgs returns QEMU's arguments for a network card.
func netArgs(net, machine string, c *Config) []string {
	model, options, _ := strings.Cut(net, ",")
	if model == "virtio" && strings.HasPrefix(machine, "microvm") {
		model = "virtio-mmio" // it has no PCI
	}
	device := model
	for _, m := range netModels {
		if m.name == model {
			device = m.device
		}
	}
	device += ",netdev=net0"
	if model != "virtio-mmio" {
		device += ",romfile=" // nobody boots from it
	}
	backend := "user,id=net0"
	if options != "" {
		backend += "," + options
	}
	filter := recordNet(c, &backend)
	return append([]string{"-netdev", backend, "-device", device}, filter...)
}
