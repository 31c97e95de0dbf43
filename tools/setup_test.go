package tools

// setup.sh runs here with a PATH of its own, in which every program is a script of
// the test: package managers that write down how they were called and "install" by
// making the programs appear.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
)

// machine is a PATH to run setup.sh with.
type machine struct {
	t   *testing.T
	dir string
}

// newMachine has a shell's own helpers and the given programs; what begins with a slash is
// a file in the machine's root.
func newMachine(t *testing.T, programs ...string) *machine {
	t.Helper()
	m := &machine{t, t.TempDir()}
	for _, p := range []string{"sh", "env", "grep", "cut", "cat", "chmod"} {
		path, err := exec.LookPath(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(m.dir, p)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range strings.Fields(everything) {
		if dir := filepath.Dir(name); dir != "." {
			if err := os.MkdirAll(filepath.Join(m.dir, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.script("id", "echo 0")
	for _, p := range programs {
		m.script(p, "exit 0")
	}
	return m
}

func (m *machine) script(name, body string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

// manager adds a package manager whose install makes all of programs appear.
func (m *machine) manager(name, programs string) {
	m.script(name, fmt.Sprintf(`echo "%s $*" >>%[2]s/calls
[ -z "$DEBIAN_FRONTEND" ] || echo "frontend $DEBIAN_FRONTEND" >>%[2]s/calls
for p in %[3]s; do echo '#!/bin/sh' >%[2]s/$p; chmod +x %[2]s/$p; done`, name, m.dir, programs))
}

// setup runs the script and returns its output, its exit status and the calls of
// package managers.
func (m *machine) setup(mode string, env ...string) (out string, status int, calls string) {
	m.t.Helper()
	cmd := exec.Command(filepath.Join(m.dir, "sh"), "setup.sh", mode)
	cmd.Env = append([]string{"PATH=" + m.dir, "ZF_ROOT=" + m.dir}, env...)
	b, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		m.t.Fatal(err)
	}
	c, err := os.ReadFile(filepath.Join(m.dir, "calls"))
	if err != nil && !os.IsNotExist(err) {
		m.t.Fatal(err)
	}
	return string(b), cmd.ProcessState.ExitCode(), string(c)
}

const (
	loaders    = "grub-mkrescue xorriso mformat /usr/lib/grub/i386-pc/multiboot.mod /usr/lib/grub/x86_64-efi/multiboot.mod /usr/share/OVMF/OVMF_CODE.fd"
	everything = loaders + " bochs qemu-system-x86_64 gdb addr2line objdump gcc g++ clang dwz tmux zsh fish debuginfod eu-addr2line chromium llvm-symbolizer-" + symbolizer.Version
)

func TestSetupNothingToDo(t *testing.T) {
	m := newMachine(t, strings.Fields(everything)...)
	m.manager("apt-get", "")
	for _, mode := range []string{"run", "test"} {
		if out, status, calls := m.setup(mode); out != "" || status != 0 || calls != "" {
			t.Errorf("setup %s with everything there = %q, status %d, calls %q; want silence", mode, out, status, calls)
		}
	}
}

func TestSetupManagers(t *testing.T) {
	for _, tt := range []struct{ manager, run, test string }{
		{"apt-get",
			"apt-get update\napt-get install -y --no-install-recommends qemu-system-x86\nfrontend noninteractive\n",
			"apt-get update\napt-get install -y --no-install-recommends qemu-system-x86 grub-common grub-pc-bin grub-efi-amd64-bin xorriso mtools ovmf bochs bochsbios vgabios gdb binutils gcc libc6-dev g++ clang libclang-rt-dev dwz tmux zsh fish debuginfod elfutils chromium llvm-" + symbolizer.Version + "\nfrontend noninteractive\n"},
		{"dnf",
			"dnf install -y qemu-system-x86-core\n",
			"dnf install -y qemu-system-x86-core grub2-tools-extra grub2-pc-modules grub2-efi-x64-modules xorriso mtools edk2-ovmf gdb binutils gcc glibc-static gcc-c++ clang compiler-rt dwz tmux zsh fish elfutils-debuginfod elfutils chromium llvm\n"},
		{"pacman",
			"pacman -Sy\npacman -S --needed --noconfirm qemu-system-x86\n",
			"pacman -Sy\npacman -S --needed --noconfirm qemu-system-x86 grub libisoburn mtools edk2-ovmf gdb binutils gcc clang compiler-rt dwz tmux zsh fish debuginfod elfutils chromium llvm\n"},
		{"zypper",
			"zypper --non-interactive install qemu-x86\n",
			"zypper --non-interactive install qemu-x86 grub2 grub2-i386-pc grub2-x86_64-efi xorriso mtools qemu-ovmf-x86_64 gdb binutils gcc glibc-devel-static gcc-c++ clang dwz tmux zsh fish debuginfod elfutils chromium llvm\n"},
		{"apk",
			"apk add qemu-system-x86_64\n",
			"apk add qemu-system-x86_64 grub grub-bios grub-efi xorriso mtools ovmf gdb binutils gcc musl-dev g++ clang compiler-rt dwz tmux zsh fish elfutils chromium llvm" + symbolizer.Version + "\n"},
		{"brew",
			"brew install qemu\n",
			"brew install qemu grub grub-bios grub-uefi xorriso mtools ovmf gdb binutils gcc llvm dwz tmux zsh fish elfutils chromium llvm@" + symbolizer.Version + "\n"},
	} {
		for mode, want := range map[string]string{"run": tt.run, "test": tt.test} {
			m := newMachine(t)
			m.manager(tt.manager, everything)
			out, status, calls := m.setup(mode)
			if status != 0 || calls != want {
				t.Errorf("setup %s with %s: status %d, calls\n%swant\n%soutput %s", mode, tt.manager, status, calls, want, out)
			}
			// It says what it is about to do.
			for line := range strings.Lines(strings.ReplaceAll(want, "frontend noninteractive\n", "")) {
				if !strings.Contains(out, line) {
					t.Errorf("setup %s with %s does not say %q: %s", mode, tt.manager, line, out)
				}
			}
			if out, status, again := m.setup(mode); out != "" || status != 0 || again != calls {
				t.Errorf("the second setup %s with %s = %q, status %d; want silence", mode, tt.manager, out, status)
			}
		}
	}
}

func TestSetupRights(t *testing.T) {
	m := newMachine(t)
	m.manager("apt-get", everything)
	m.script("id", "echo 1000")
	const plain = "apt-get update && env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends qemu-system-x86\n"
	want := "Run as root:\n  " + plain
	if out, status, calls := m.setup("run"); status != 2 || calls != "" || !strings.HasSuffix(out, want) {
		t.Errorf("setup without sudo = %q, status %d, calls %q; want status 2 and %q", out, status, calls, want)
	}
	m.script("sudo", "exit 1") // it wants a password
	want = "Run:\n  sudo " + strings.ReplaceAll(plain, "&& ", "&& sudo ")
	if out, status, calls := m.setup("run"); status != 2 || calls != "" || !strings.HasSuffix(out, want) {
		t.Errorf("setup without rights = %q, status %d, calls %q; want status 2 and %q", out, status, calls, want)
	}
	m.script("sudo", `[ "$1" = -n ] || "$@"`)
	if out, status, calls := m.setup("run"); status != 0 || !strings.Contains(calls, "apt-get install") || !strings.Contains(out, "sudo apt-get update") {
		t.Errorf("setup with sudo = %q, status %d, calls %q; want it to install", out, status, calls)
	}

	brew := newMachine(t)
	brew.script("id", "echo 1000")
	brew.manager("brew", everything)
	if out, status, calls := brew.setup("run"); status != 0 || calls != "brew install qemu\n" {
		t.Errorf("setup with brew as a user = %q, status %d, calls %q; want no sudo", out, status, calls)
	}
}

func TestSetupFailures(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*machine)
		mode string
		env  string
		says string
	}{
		{"no manager", func(*machine) {}, "run", "", "by hand"},
		{"no mode", func(*machine) {}, "", "", "usage"},
		{"install fails", func(m *machine) { m.script("dnf", "exit 1") }, "run", "", "dnf install -y qemu-system-x86-core failed"},
		{"update fails", func(m *machine) { m.script("apt-get", "exit 100") }, "run", "", "apt-get update failed"},
		{"not in PATH", func(m *machine) { m.manager("brew", "") }, "run", "", "still missing: qemu"},
		{"wrong ZF_QEMU", func(m *machine) { m.manager("dnf", everything) }, "run", "ZF_QEMU=/no/such", "correct it or unset it"},
	} {
		m := newMachine(t)
		tt.set(m)
		if out, status, _ := m.setup(tt.mode, tt.env); status != 2 || !strings.Contains(out, tt.says) {
			t.Errorf("%s: setup = %q, status %d; want status 2 and %q", tt.name, out, status, tt.says)
		}
	}
}

// TestSetupSymbolizer: which llvm-symbolizer counts: that of one version.
func TestSetupSymbolizer(t *testing.T) {
	for _, tt := range []struct {
		name, program, body string
		enough              bool
	}{
		{"versioned", "llvm-symbolizer-" + symbolizer.Version, "", true},
		{"older", "llvm-symbolizer-16", "", false},
		{"newer", "llvm-symbolizer-99", "", false},
		{"plain", "llvm-symbolizer", "echo LLVM version " + symbolizer.Version + ".1.0", true},
		{"plain and another", "llvm-symbolizer", "echo LLVM version 1" + symbolizer.Version + ".0.6", false},
	} {
		m := newMachine(t, append(strings.Fields(loaders), "qemu-system-x86_64", "gdb", "addr2line", "objdump", "gcc", "g++", "clang", "dwz", "tmux", "zsh", "fish", "debuginfod", "eu-addr2line", "chromium")...)
		m.script(tt.program, tt.body)
		m.manager("dnf", "llvm-symbolizer-"+symbolizer.Version)
		_, status, calls := m.setup("test")
		if want := map[bool]string{true: "", false: "dnf install -y llvm\n"}[tt.enough]; status != 0 || calls != want {
			t.Errorf("%s: status %d, calls %q; want %q", tt.name, status, calls, want)
		}
	}
	m := newMachine(t, append(strings.Fields(loaders), "qemu-system-x86_64", "gdb", "addr2line", "objdump", "gcc", "g++", "clang", "dwz", "tmux", "zsh", "fish", "debuginfod", "eu-addr2line", "chromium")...)
	m.manager("dnf", "llvm-symbolizer-19")
	if out, status, _ := m.setup("test"); status != 2 || !strings.Contains(out, "the tests want LLVM "+symbolizer.Version) {
		t.Errorf("dnf has another version: %q, status %d; want status 2", out, status)
	}
}
