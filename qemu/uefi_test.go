package qemu

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/host"
)

func TestFindUEFI(t *testing.T) {
	file := filepath.Join(t.TempDir(), "code.fd")
	t.Setenv(UEFIVariable, file)
	if _, err := FindUEFI(); !errors.Is(err, ErrNoUEFI) || !strings.Contains(err.Error(), "correct it or unset it") {
		t.Errorf("FindUEFI of a file that is not there: %v; want %v", err, ErrNoUEFI)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := FindUEFI(); got != file || err != nil {
		t.Errorf("FindUEFI = %s, %v; want %s", got, err, file)
	}
	t.Setenv(UEFIVariable, "")
	script, err := os.ReadFile("../tools/setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range uefiPaths {
		if !strings.Contains(string(script), p) {
			t.Errorf("tools/setup.sh does not know %s", p)
		}
	}
	defer func(old []string) { uefiPaths = old }(uefiPaths)
	uefiPaths = []string{"/no/such", file}
	if got, err := FindUEFI(); got != file || err != nil {
		t.Errorf("FindUEFI = %s, %v; want %s", got, err, file)
	}
	uefiPaths = nil
	t.Setenv(Variable, "/no/such/qemu")
	if _, err := FindUEFI(); !errors.Is(err, ErrNoUEFI) || !strings.Contains(err.Error(), host.InstallHint("install OVMF", "ovmf")) {
		t.Errorf("FindUEFI where there is none: %v; want %v and how to install it", err, ErrNoUEFI)
	}
}

// TestDiscArguments: how an ISO image and its firmware reach QEMU; a comma in a path is
// no end of it.
func TestDiscArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cfg  Config
		want string
	}{
		{Config{CDROM: "/a,b.iso"}, "-drive media=cdrom,format=raw,readonly=on,file=/a,,b.iso"},
		{Config{CDROM: "/a.iso", Stick: true}, "-device usb-storage,drive=stick,bootindex=0"},
		{Config{CDROM: "/a.iso", firmware: "/f,g.fd"}, "-drive if=pflash,format=raw,readonly=on,file=/f,,g.fd"},
	} {
		if got := strings.Join(tt.cfg.args(), " "); !strings.Contains(got, tt.want) {
			t.Errorf("%+v gives %q; want %q in it", tt.cfg, got, tt.want)
		}
	}
	for _, cfg := range []Config{{CDROM: "x", Kernel: "y"}, {CDROM: "x", Append: "y"}, {CDROM: "x", Initrd: "y"}} {
		if _, err := Start(t.Context(), cfg); !errors.Is(err, ErrQEMU) || !strings.Contains(err.Error(), "its own kernel") {
			t.Errorf("Start(%+v) = %v; want %v", cfg, err, ErrQEMU)
		}
	}
}

func TestInFirmware(t *testing.T) {
	t.Parallel()
	for rip, want := range map[uint64]bool{0xefaad: true, 0xfff0: true, 0xfffffff0: true, 0x7c00: false, 0x2e1106: false, 0x100000: false, 1 << 32: false} {
		if inFirmware(rip) != want {
			t.Errorf("%#x is in the firmware: %v; want %v", rip, !want, want)
		}
	}
}
