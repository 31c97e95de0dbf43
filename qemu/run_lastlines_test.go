package qemu

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLastLines: whatever a program has written to the virtio console before it dies is there,
// before what the kernel says of the death, and nothing else.
func TestLastLines(t *testing.T) {
	t.Parallel()
	elf := program(t, "lastlines")
	kinds := []string{"exit", "return", "panic", "nil", "kill", "deadlock", "overflow", "nmi"}
	random := rand.New(rand.NewPCG(uint64(len(kinds)), 2))
	for i := range 3 * len(kinds) {
		kind, seed := kinds[i%len(kinds)], random.Uint64()
		cfg := Config{Kernel: elf, Port: true, Timeout: limit}
		if i%3 == 1 {
			cfg.Machine = "microvm"
		}
		ends := kind
		if kind == "nmi" {
			ends = "spin" // until it is asked where it is
		}
		cfg.Append = fmt.Sprintf("report=off console=virtio panic=exit -- %d %s", seed, ends)
		vm, out := start(t, cfg, "")
		if kind == "nmi" {
			out.For(t, "without its end")
			if err := vm.InjectNMI(); err != nil {
				t.Fatal(err)
			}
			out.For(t, "zf1 done")
			vm.End()
		}
		vm.Wait()
		got := strings.ReplaceAll(out.String(), "\r\n", "\n")
		r := rand.New(rand.NewPCG(seed, 1))
		var want strings.Builder
		for i := range r.IntN(3000) {
			fmt.Fprintf(&want, "line %d\n", i)
		}
		want.WriteString("the last one without its end")
		switch at := strings.Index(got, "line 0\n"); {
		case at < 0 || !strings.HasPrefix(got[at:], want.String()):
			t.Errorf("%s with seed %d on %q: the text is not what was written:\n%s", kind, seed, cfg.Machine, got)
		case kind != "exit" && kind != "return" && kind != "kill" && !strings.Contains(got[at+want.Len():], "zf1 begin"):
			t.Errorf("%s with seed %d on %q: no trace follows the text:\n%s", kind, seed, cfg.Machine, got[at+want.Len():])
		case strings.Contains(got, "\x1b]zf-"):
			t.Errorf("%s with seed %d: a sequence is left in the text", kind, seed)
		case strings.Contains(got[:at], "zf1"):
			t.Errorf("%s with seed %d: there is a trace before the text", kind, seed)
		}
	}
}

// TestNoVirtioConsole: with a QEMU that has none, the text comes by the serial port, and one
// sentence says so. The fake refuses the device in the words of QEMU 7.2.
func TestNoVirtioConsole(t *testing.T) {
	t.Parallel()
	genuine, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	fake := filepath.Join(t.TempDir(), "qemu")
	script := `#!/bin/sh
for a; do case $a in virtio-serial-*)
	echo "$0: -device $a: '$a' is not a valid device model name" >&2
	exit 1
esac; done
exec ` + genuine + ` "$@"
`
	writeProgram(t, fake, script)
	for _, machine := range []string{"q35", "microvm"} {
		cmd := zfRun(t, "-machine", machine, program(t, "lastlines"), "--", "1", "exit")
		cmd.Env = append(os.Environ(), Variable+"="+fake)
		var out, msg bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &msg
		code := exitCode(t, cmd.Run())
		const says = "\nzf run: QEMU has no virtio console: the program's text comes by the serial port, which is slower, as with -console com1\n"
		if code != 64+5 || !strings.Contains(out.String(), "\nline 0\n") || strings.Contains(out.String(), "console=virtio") || strings.Contains(out.String(), "\nport ") || strings.Count(msg.String(), says) != 1 {
			t.Errorf("%s: status %d, %q\n%s", machine, code, msg.String(), out.String())
		}
	}
}
