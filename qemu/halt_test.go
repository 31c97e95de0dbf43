package qemu

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// haltScript stops in front of the HLT of an idle CPU, sends an NMI, which comes in between STI and
// HLT, and says in front of which of the two instructions the CPU arrives behind it: the HLT or the
// next one.
const haltScript = `
import gdb
halt, vector = %#x, %#x
def rip(): return int(gdb.parse_and_eval("(long)$rip"))
def to(*at):
    for a in at: gdb.execute("hbreak *%%#x" %% a)
    gdb.execute("continue", to_string=True)
    gdb.execute("delete")
    return rip()
to(halt)
gdb.execute("monitor nmi")
at = to(vector)
print("nmi at +%%d" %% (int(gdb.parse_and_eval("*(long*)$rsp")) - halt))
print("goes on at +%%d" %% (to(halt, halt + 1) - halt))
`

// TestNMIBeforeHalt: an NMI that comes between STI and HLT leaves the HLT out. Interrupts that came
// while it was handled come in front of that, and none might follow.
func TestNMIBeforeHalt(t *testing.T) {
	t.Parallel()
	gdb := need(t, "gdb")
	path, symbols := lab(t, image.AllLoaders)
	halt := instructions(t, path, module+"arch/amd64.WaitForInterrupt", 0)[1]
	dir := t.TempDir()
	socket, script := filepath.Join(dir, "gdb"), filepath.Join(dir, "halt.py")
	text := fmt.Sprintf(haltScript, halt, entryOf(t, path, module+"arch/amd64.vectors")+2*12)
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	vm, out := start(t, Config{
		Kernel: path, Append: "crash=go.driver-fault trace=compact", GDB: "unix:" + socket + ",server=on,wait=off", Paused: true, Icount: true,
	}, "")
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	said, err := exec.CommandContext(ctx, gdb, "-nx", "-batch", "-iex", "set auto-load no", "-ex", "set pagination off", "-ex", "set language c",
		"-ex", "target remote "+socket, "-x", script, path).CombinedOutput()
	if res, werr := vm.Wait(); werr != nil || res.Outcome != Traced {
		t.Fatalf("after gdb: %v, %v; gdb: %v, it said\n%.2000s", res.Outcome, werr, err, said)
	}
	if !strings.Contains(string(said), "\nnmi at +0\n") || !strings.Contains(string(said), "\ngoes on at +1\n") {
		t.Errorf("gdb says\n%s", said)
	}
	if all := traces(t, symbols, out.String()); len(all) < 2 || all[len(all)-1].Kind != "panic" || all[0].Kind != "nmi" || !strings.Contains(all[0].chain(), "WaitForInterrupt") {
		for _, tr := range all {
			t.Errorf("%s: %s", tr.Kind, tr.chain())
		}
	}
}
