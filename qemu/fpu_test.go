package qemu

// The XMM registers in a full core, in gdb and by Delve's packages.

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/go-delve/delve/pkg/proc"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/postmortem/inspect"
)

// xmmOf returns an XMM register of a thread, as hexadecimal digits in the order of memory; "": it
// is not known.
func xmmOf(t *testing.T, th proc.Thread, number int) string {
	t.Helper()
	regs, err := th.Registers()
	if err != nil {
		t.Fatal(err)
	}
	all, err := regs.Slice(true)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Name == fmt.Sprintf("XMM%d", number) {
			return fmt.Sprintf("%x", r.Reg.Bytes[:16])
		}
	}
	return ""
}

// TestFullCoreFloats: a thread that was running on another CPU, or had lost the only one, has its
// XMM registers.
func TestFullCoreFloats(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	for _, cpus := range []string{"1", "2"} {
		t.Run(cpus, func(t *testing.T) {
			t.Parallel()
			elf := built(t, image.BuildOptions{Package: "./testdata/floats", Env: testEnv()})
			core, _, _ := coreOfRun(t, elf, 1, "-smp", cpus)
			p, err := inspect.Open(core, elf, false)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			found := false
			for _, th := range p.Target().ThreadList() {
				frames, err := proc.ThreadStacktrace(p.Target(), th, 3)
				if err != nil || len(frames) == 0 || frames[0].Call.Fn == nil || frames[0].Call.Fn.Name != "main.spin" {
					continue
				}
				found = true
				for n, want := range map[int]string{
					0: "00000000000004400000000000000000", 7: "000000000000c0bf0000000000000000", 14: "88776655443322118877665544332211",
				} {
					if got := xmmOf(t, th, n); got != want {
						t.Errorf("XMM%d = %q; want %q", n, got, want)
					}
				}
			}
			if !found {
				t.Fatal("no thread is in main.spin")
			}
			out, err := exec.Command(gdb, "-nx", "-q", "-batch", "-iex", "set auto-load off",
				"-ex", "thread apply all -s p $xmm0.v2_double[0]", "-ex", "thread apply all -s p $xmm7.v2_double[0]",
				"-ex", "thread apply all -s p/x $xmm14.v2_int64[1]", "-ex", "info registers xmm0", elf, core).CombinedOutput()
			for _, want := range []string{"2.5", "-0.125", "0x1122334455667788", "<unavailable>"} {
				if err != nil || !regexp.MustCompile(`(?m)^(\$\d+ = |xmm0 .*)`+regexp.QuoteMeta(want)).Match(out) {
					t.Errorf("gdb does not say %q: %v\n%s", want, err, out)
				}
			}
			if bytes.Contains(out, []byte("warning")) {
				t.Errorf("gdb warns:\n%s", out)
			}
		})
	}
}

// TestFullCoreFloatsOfDeath: a CPU that died by a trap has its XMM registers, one that died by a
// call has none that are known.
func TestFullCoreFloatsOfDeath(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	elf, _ := lab(t, image.AllLoaders)
	for kind, want := range map[string]string{"early.nil-write": "$1 = 0x1f80\n", "early.panic": "$1 = <unavailable>\n"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			core, _, _ := coreOfRun(t, elf, 1, "-smp", "1", "-append", "crash="+kind)
			out, err := exec.Command(gdb, "-nx", "-q", "-batch", "-iex", "set auto-load off", "-ex", "p/x $mxcsr", elf, core).CombinedOutput()
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("gdb: %v, want %q\n%s", err, want, out)
			}
		})
	}
}
