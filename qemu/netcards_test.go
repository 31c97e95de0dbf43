package qemu

import (
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// Machines with several cards, and cards at places that are not the usual ones.

// devices are QEMU's arguments for the wire and devices.
func devices(list ...string) []string {
	args := []string{"-netdev", "user,id=net0"}
	for _, d := range list {
		args = append(args, "-device", d)
	}
	return args
}

const cardA, cardB = "52:54:00:aa:00:01", "52:54:00:bb:00:02"

func TestWhichCard(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, machine string
		devices       []string
		card          string // the hardware address that is asked for
		used          string
	}{
		{"the first", "pc", []string{"virtio-net-pci,mac=" + cardB + ",addr=5", "virtio-net-pci,netdev=net0,mac=" + cardA + ",addr=4"}, "",
			"virtio-net (PCI, modern) " + cardA},
		{"the second", "pc", []string{"virtio-net-pci,mac=" + cardB + ",addr=4", "virtio-net-pci,netdev=net0,mac=" + cardA + ",addr=5"}, cardA,
			"virtio-net (PCI, modern) " + cardA},
		{"in capitals", "q35", []string{"virtio-net-pci,disable-modern=on,mac=" + cardB, "e1000,netdev=net0,mac=" + cardA}, strings.ToUpper(cardA),
			"e1000 " + cardA},
		{"of one kind", "q35", []string{"e1000,mac=" + cardB, "e1000e,netdev=net0,mac=" + cardA}, cardA,
			"e1000e " + cardA},
		{"memory-mapped", "microvm", []string{"virtio-net-device,mac=" + cardA + ",netdev=net0", "virtio-net-device,mac=" + cardB}, cardA,
			"virtio-net (memory-mapped) " + cardA},
		{"another root bus", "q35", []string{"pxb-pcie,id=px,bus_nr=128", "pcie-root-port,id=r,bus=px,chassis=9", "e1000e,bus=r,netdev=net0,mac=" + cardA}, "",
			"e1000e " + cardA},
		{"another root bus", "pc", []string{"pxb,id=px,bus_nr=64", "virtio-net-pci,bus=px,netdev=net0,mac=" + cardA}, "",
			"virtio-net (PCI, modern) " + cardA},
		{"82544GC", "pc", []string{"e1000-82544gc,netdev=net0,mac=" + cardA}, "",
			"e1000 " + cardA},
	} {
		t.Run(tt.machine+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			_, symbols := lab(t, image.AllLoaders)
			r := receive(t)
			option := strings.Replace(r.option(), "/,", "/"+tt.card+",", 1)
			res, serial, err := boot(t, Config{Machine: tt.machine, Extra: devices(tt.devices...)}, "crash=early.nil-write "+option)
			if err != nil || res.Outcome != Traced {
				t.Fatalf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			if line := "network " + tt.used + "\r\n"; !strings.Contains(serial, line) {
				t.Fatalf("the serial port has\n%s\nwant %q", serial, line)
			}
			if n := len(r.sort(t, symbols.BuildID()).parts); n != 1 {
				t.Errorf("%d traces arrived; want 1", n)
			}
		})
	}
}

// TestNotThatCard: no card is used in place of the one that was asked for.
func TestNotThatCard(t *testing.T) {
	t.Parallel()
	res, serial, err := boot(t, Config{Net: "virtio"}, "crash=early.int3 netconsole=@10.0.2.15/"+cardB+",@10.0.2.2/")
	if err != nil || res.Outcome != Exited || !strings.Contains(serial, "has the hardware address behind the first /") ||
		!strings.Contains(serial, "network none: ") || strings.Contains(serial, "netlog") {
		t.Errorf("the machine: %v, %v; want %v; serial port:\n%s", res.Outcome, err, Exited, serial)
	}
}
