package host

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// only returns a look-up that finds one program.
func only(program string) func(string) (string, error) {
	return func(name string) (string, error) {
		if name == program {
			return "/bin/" + name, nil
		}
		return "", exec.ErrNotFound
	}
}

func TestInstallCommand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		manager, things string
		root            bool
		want            string
	}{
		{"apt-get", "qemu", true, "apt-get install -y --no-install-recommends qemu-system-x86"},
		{"apt-get", "qemu gdb", false, "sudo apt-get install -y --no-install-recommends qemu-system-x86 gdb"},
		{"dnf", "qemu", true, "dnf install -y qemu-system-x86-core"},
		{"pacman", "grub grub-bios grub-uefi", false, "sudo pacman -S --needed --noconfirm grub"},
		{"zypper", "qemu", true, "zypper --non-interactive install qemu-x86"},
		{"zypper", "go", true, ""},
		{"apk", "qemu", true, "apk add qemu-system-x86_64"},
		{"brew", "qemu", false, "brew install qemu"},
		{"brew", "gdb grub", false, ""},
		{"winget", "qemu", false, "winget install SoftwareFreedomConservancy.QEMU"},
		{"", "qemu", true, ""},
	} {
		if got := command(only(tt.manager), tt.root, strings.Fields(tt.things)); got != tt.want {
			t.Errorf("command(%s, root %v, %s) = %q; want %q", tt.manager, tt.root, tt.things, got, tt.want)
		}
	}
}

func TestInstallHint(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := InstallHint("build it", "qemu"); got != "build it" {
		t.Errorf("InstallHint without a manager = %q", got)
	}
}

// TestSetupScript: tools/setup.sh knows the same managers in the same order, with the same
// commands and names.
func TestSetupScript(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	script := string(b)
	var order []string
	for _, m := range managers {
		if m.name == "winget" { // setup.sh needs a POSIX shell
			continue
		}
		order = append(order, m.name)
		if want := m.command + " $*"; !strings.Contains(script, want) {
			t.Errorf("tools/setup.sh has no command %q", want)
		}
	}
	if want := "for m in " + strings.Join(order, " ") + ";"; !strings.Contains(script, want) {
		t.Errorf("tools/setup.sh has no %q", want)
	}
	_, function, _ := strings.Cut(script, "\npackage() {")
	function, _, found := strings.Cut(function, "\n}\n")
	if !found {
		t.Fatal("tools/setup.sh has no function package")
	}
	asked := "package() {" + function + "\n}\n"
	var want []string
	for thing, names := range packages {
		if thing == "go" { // is there when the script runs
			continue
		}
		for _, name := range order {
			if names[name] == none || thing == "ovmf" && name == "brew" { // which setup.sh tries all the same
				continue
			}
			asked += "manager=" + name + "; package " + thing + "\n"
			if names[name] == "" {
				want = append(want, thing)
			} else {
				want = append(want, names[name])
			}
		}
	}
	out, err := exec.Command("sh", "-c", asked).CombinedOutput()
	if got := strings.Join(want, "\n") + "\n"; err != nil || string(out) != got {
		t.Errorf("tools/setup.sh names the packages\n%s, %v; want\n%s", out, err, got)
	}
}
