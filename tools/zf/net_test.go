package main

import "testing"

// TestHasAddress: package netup is linked for a machine that has an address.
func TestHasAddress(t *testing.T) {
	for line, want := range map[string]bool{
		"": false, "net=on": false, "trace=text -- netconsole=@10.0.2.15/,@10.0.2.2/": false,
		"netconsole=@10.0.2.15/,@10.0.2.2/": true, "report=off ip=10.0.2.15": true, "zip=10.0.2.15": false,
	} {
		if m := (machine{append: line}); m.hasAddress() != want {
			t.Errorf("-append %q: %v; want %v", line, !want, want)
		}
	}
}

// TestHasSockets: the network's stack is linked for a machine with a card, and for one that is told
// to use its own.
func TestHasSockets(t *testing.T) {
	for _, tt := range []struct {
		card, line string
		want       bool
	}{
		{"", "", false}, {"", "net=on", true}, {"", "net=frames", false}, {"", "-- net=on", false},
		{"virtio", "", true}, {"virtio", "net=on", true}, {"virtio", "net=frames", false},
	} {
		m := machine{append: tt.line}
		m.qemu.Net = tt.card
		if got := m.hasSockets(); got != tt.want {
			t.Errorf("card %q, -append %q: %v; want %v", tt.card, tt.line, got, tt.want)
		}
	}
}
