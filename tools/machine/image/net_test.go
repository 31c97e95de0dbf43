package image

import (
	"context"
	"path/filepath"
	"testing"
)

// TestNet: package netup is linked when it is asked for, whether the build has to add the
// kernel or the program imports it, and only then.
func TestNet(t *testing.T) {
	const (
		netup    = modulePath + "/kernel/net/netup.(*neighbor).handle"
		gopacket = "github.com/google/gopacket/layers.(*IPv4).DecodeFromBytes"
	)
	for _, tt := range []struct {
		name string
		o    BuildOptions
		net  bool
		want bool
	}{
		{"a program without the kernel", outside(t), true, true},
		{"a program with the kernel", BuildOptions{Package: "../../../kernel/crashlab"}, true, true},
		{"a program without the kernel, not asked for", outside(t), false, false},
	} {
		o := tt.o
		o.Net, o.Output, o.Stderr = tt.net, filepath.Join(t.TempDir(), "out.elf"), t.Output()
		if _, err := Build(context.Background(), o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if n, g := hasSymbol(t, o.Output, netup), hasSymbol(t, o.Output, gopacket); n != tt.want || g != tt.want {
			t.Errorf("%s: netup: %v, gopacket: %v; want %v", tt.name, n, g, tt.want)
		}
	}
}
