package qemu

// What a process finds around itself, on the kernel and on the Linux that the tests run on.

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// around compares what parts of testdata/around say, on Linux in a folder of its own in memory.
func around(t *testing.T, env []string, parts ...string) {
	t.Helper()
	elf := program(t, "around")
	dir, err := os.MkdirTemp("/dev/shm", "around") // a tmpfs, as the kernel's files are
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	onLinux := exec.Command(elf, parts...)
	onLinux.Env = append([]string{"HOME=/root", "LOGNAME=root", "USER=root", "PWD=/", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "AROUND=" + dir}, env...)
	onLinux.Dir = "/"
	want, err := onLinux.CombinedOutput()
	if err != nil {
		t.Fatalf("on Linux: %v\n%s", err, want)
	}
	line := ""
	for _, v := range env {
		line += " env." + v
	}
	got, stderr := booted(t, strings.NewReader(""), append([]string{"-append", "env.AROUND=/tmp" + line, elf, "--"}, parts...)...)
	sameLines(t, got.text, string(want))
	if got.status != 0 {
		t.Errorf("status %d, %s", got.status, stderr)
	}
}

// sameLines says which lines of a text differ from those that are wanted.
func sameLines(t *testing.T, text, wanted string) {
	t.Helper()
	got, want := strings.Split(text, "\n"), strings.Split(wanted, "\n")
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("line %d\n on Linux %s\n here     %s", i+1, w, g)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	around(t, nil, "names")
}

// TestZones: a program that loads time zones has them, and finds that of TZ.
func TestZones(t *testing.T) {
	t.Parallel()
	around(t, nil, "zones")
	around(t, []string{"TZ=Asia/Tokyo"}, "zones")
}

// TestOtherProgram: the log says, once each, why there are no other programs, machines and names.
func TestOtherProgram(t *testing.T) {
	t.Parallel()
	got, stderr := booted(t, strings.NewReader(""), "-append", "env.START=1", program(t, "around"), "--", "names")
	const unreachable = "other machine: dial tcp 192.0.2.1:80: connect: network is unreachable\n"
	const want = "no other program can be started (ENOSYS): there is one address space, and one program in it\r\n" +
		"other program: fork/exec /bin/true: function not implemented\n" +
		"other program: fork/exec /bin/true: function not implemented\n" +
		"no way to other machines (ENETUNREACH): sockets reach this one alone; " +
		"zf run -net virtio gives a program a network\r\n" + unreachable +
		"no name server (ECONNREFUSED): names are those of /etc/hosts; zf run -net virtio gives a program a network with one\r\n" +
		"name server: true\n" + unreachable + "name server: true\n" +
		"this program: function not implemented\n" +
		"no debugger within the machine (ENOSYS): zf dlv and zf gdb look at the program from outside\r\n" +
		"debugger: function not implemented\n"
	if n := strings.Count(got.text, "no other program"); n != 1 || !strings.HasSuffix(got.text, want) || got.status != 0 {
		t.Errorf("%s\nstatus %d, %s; want at the end\n%s", got.text, got.status, stderr, want)
	}
}

// TestProc: /proc and /sys are as on Linux, as far as programs in Go read them.
func TestProc(t *testing.T) {
	t.Parallel()
	around(t, nil, "proc")
}

// TestMachineLine: /proc/cmdline has what the loader gave, quotes and all, which the kernel takes
// off where it reads them.
func TestMachineLine(t *testing.T) {
	t.Parallel()
	const option = `env.A="two \"words\""`
	got, stderr := booted(t, strings.NewReader(""), "-append", option, program(t, "around"), "--", "line")
	if !strings.HasPrefix(got.text, "line: ") || !strings.HasSuffix(got.text, " "+option+" -- line\n two \"words\"\n") {
		t.Errorf("%q, %s", got.text, stderr)
	}
}

// TestWatches: who watches files and directories is told the same as on Linux.
func TestWatches(t *testing.T) {
	t.Parallel()
	around(t, nil, "watches")
}
