package main

import (
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu"
)

// TestMachineParts: flags and kernel options link parts, and nothing else does.
func TestMachineParts(t *testing.T) {
	for _, tt := range []struct {
		append   string
		observed bool
		qemu     qemu.Config
		want     string
	}{
		{"", false, qemu.Config{}, ""},
		{"panic=reset -- netconsole=x monitor", false, qemu.Config{}, ""},
		{"core=ram core.by=com2", false, qemu.Config{}, "dump"},
		{`netconsole="@/,@10.0.2.2/"`, false, qemu.Config{}, "network"},
		{"tty=raw", false, qemu.Config{}, "monitor"},
		{"", true, qemu.Config{Net: "virtio"}, "observe network"},
		{"", false, qemu.Config{Shares: make([]qemu.Share, 1)}, "shares"},
	} {
		m := machine{append: tt.append, qemu: tt.qemu}
		got := m.parts(tt.observed)
		if got == nil || strings.Join(got, " ") != tt.want {
			t.Errorf("%q, %v, %+v: %#v; want %q", tt.append, tt.observed, tt.qemu, got, tt.want)
		}
	}
}
