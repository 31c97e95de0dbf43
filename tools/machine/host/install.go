package host

// A message that says what is missing says also the one line to type. That line has to be
// right on this system, so it is made of a table and not of a Debian name in prose.

import (
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A manager is a package manager, with the command that its packages are put behind.
type manager struct {
	name, command string
	root          bool // it wants root
}

// managers are in the order in which tools/setup.sh tries them; winget is of Windows.
var managers = []manager{
	{"apt-get", "apt-get install -y --no-install-recommends", true},
	{"dnf", "dnf install -y", true},
	{"pacman", "pacman -S --needed --noconfirm", true},
	{"zypper", "zypper --non-interactive install", true},
	{"apk", "apk add", true},
	{"brew", "brew install", false},
	{"winget", "winget install", false},
}

// none is the name of what a manager does not have.
const none = "-"

// packages has, by what is wanted, the package's name for each manager where it is not the
// thing's own name.
var packages = map[string]map[string]string{
	"qemu": {"apt-get": "qemu-system-x86", "dnf": "qemu-system-x86-core", "pacman": "qemu-system-x86",
		"zypper": "qemu-x86", "apk": "qemu-system-x86_64", "winget": "SoftwareFreedomConservancy.QEMU"},
	"gdb":     {"winget": none},
	"xorriso": {"pacman": "libisoburn", "winget": none},
	"mtools":  {"winget": none},
	"grub": {"apt-get": "grub-common", "dnf": "grub2-tools-extra", "zypper": "grub2", "brew": none,
		"winget": none},
	"grub-bios": {"apt-get": "grub-pc-bin", "dnf": "grub2-pc-modules", "zypper": "grub2-i386-pc",
		"pacman": "grub",
		"brew":   none, "winget": none},
	"grub-uefi": {"apt-get": "grub-efi-amd64-bin", "dnf": "grub2-efi-x64-modules",
		"zypper": "grub2-x86_64-efi",
		"apk":    "grub-efi", "pacman": "grub", "brew": none, "winget": none},
	"ovmf": {"dnf": "edk2-ovmf", "pacman": "edk2-ovmf", "zypper": "qemu-ovmf-x86_64", "brew": "qemu",
		"winget": "SoftwareFreedomConservancy.QEMU"},
	// The Go of Debian's and openSUSE's stable releases is too old for zf's programs.
	"go": {"apt-get": none, "zypper": none, "dnf": "golang", "winget": "GoLang.Go"},
}

// InstallCommand returns the command that installs things ("qemu", "gdb", "grub", ...) on this
// machine with the first package manager that is in PATH, or "" if there is none or it does
// not have them all.
func InstallCommand(things ...string) string {
	return command(exec.LookPath, os.Geteuid() == 0, things)
}

// InstallHint is the end of a message that something is missing: the command that installs the
// things, or otherwise what else is to be done.
func InstallHint(otherwise string, things ...string) string {
	if c := InstallCommand(things...); c != "" {
		return "install it with: " + c
	}
	return otherwise
}

func command(look func(string) (string, error), root bool, things []string) string {
	for _, m := range managers {
		if _, err := look(m.name); err != nil {
			continue
		}
		var names []string
		for _, thing := range things {
			name, known := packages[thing][m.name]
			switch {
			case name == none:
				return ""
			case !known:
				name = thing
			}
			if !slices.Contains(names, name) { // one package has several things
				names = append(names, name)
			}
		}
		line := m.command + " " + strings.Join(names, " ")
		if m.root && !root {
			line = "sudo " + line
		}
		return line
	}
	return ""
}
