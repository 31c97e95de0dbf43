package qemu

// The memory of a machine that has died, kept in RAM over a warm reset (core=ram): what the next boot sends
// is what the machine had when it died, page for page, and what is not there any more is said.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/await"
)

// ramOf writes the memory of a machine that has halted, and returns it.
func ramOf(t *testing.T, vm *VM, mib int) []byte {
	t.Helper()
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	file := filepath.Join(t.TempDir(), "ram")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0, "size": mib << 20, "filename": file}); err != nil {
		t.Fatal(err)
	}
	ram, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ram
}

func reset(t *testing.T, vm *VM) {
	t.Helper()
	if _, err := vm.QMP("system_reset", nil); err != nil {
		t.Fatal(err)
	}
}

const keptInRAM = "what is left of them" // what the line ends with that says so

// TestDumpKept: the program dies, the machine is reset, and the next boot sends what the first had: what Delve
// finds in it is whole.
func TestDumpKept(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	for _, machine := range []string{"q35", "pc", "microvm"} {
		t.Run(machine, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			r := startReceiver(t, "-store", filepath.Join(t.TempDir(), "crashes"), "-cores", folder, "-lines", "never", "-e", image)
			vm, out := start(t, Config{Kernel: image, Machine: machine, CPUs: 2, Net: "virtio", Reboots: 1,
				Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=ram panic=halt"}, "")
			out.For(t, keptInRAM)
			ram := ramOf(t, vm, 128)
			reset(t, vm)
			out.For(t, " pages sent in ")
			d := openDump(t, dumpOf(t, r, folder))
			d.checkNumbers(t, image)
			d.compareWith(t, ram, image)
			t.Log(regexp.MustCompile(`core: .*`).FindAllString(out.String(), -1), r.errs.String(), d.text)
			r.end(t)
		})
	}
}

var _ = []any{bytes.Equal, binary.LittleEndian, fmt.Sprint, exec.Command, strings.Cut}
