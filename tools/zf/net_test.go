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
