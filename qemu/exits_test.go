package qemu

import (
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// exitCallers are the callers of each function of the tree that the crash lab runs with
// hooks on returns. The thunk and the functions behind it come after a return.
var exitCallers = map[string]string{
	"main.onReturnA": "main.lab", "main.exitOuter": "main.onReturnA", "main.exitInner": "main.exitOuter",
	"main.stepLeaf": "main.exitInner", "main.exitHook": "tracer.exited", "tracer.exited": "tracer.exitBody",
	"tracer.exitBody": "main.exitOuter|main.onReturnA", "tracer.exitThunk": "main.exitOuter|main.onReturnA",
	"tracer.OnReturn": "main.exitOuter|main.exitInner", "tracer.OnReturnAt": "tracer.OnReturn",
	"main.lab": "kernel.early", "kernel.early": "boot.start", "boot.start": "boot.long",
}

// TestOnReturn: exit thunks. A tree of calls with hooks is traced at each instruction,
// and none of the traces shows that a return address was replaced; nor does the trace of a
// panic in a hook, with another hook on a function further up.
func TestOnReturn(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	res, console, err := boot(t, Config{Kernel: path, Timeout: 3 * limit}, "crash=early.on-return trace=compact")
	if err != nil {
		t.Fatal(err)
	}
	traces := traces(t, symbols, console)
	want := "on-return: result 22, hooks ran in the order 321, called from onReturnA\n"
	if !strings.Contains(strings.ReplaceAll(console, "\r\n", "\n"), want) {
		t.Errorf("the console does not have %q", want)
	}
	for _, line := range []string{"main.onReturnA+0x", "main.lab+0x", "kernel.early+0x", "boot.start+0x", "boot.long+0x"} {
		if !strings.Contains(console, line) {
			t.Errorf("Dump has not written %s", line)
		}
	}
	if res.Outcome != Traced {
		t.Errorf("the machine ended with %v; want a trace", res.Outcome)
	}
	if len(traces) < 300 {
		t.Fatalf("%d traces; want one for each instruction, at least 300", len(traces))
	}
	hooks := 0
	for i, tr := range traces[:len(traces)-1] {
		if !tr.Complete || tr.Damaged {
			t.Errorf("trace %d is not complete: %s, in %s", i, tr.End, tr.chain())
		}
		// The thunk's caller may be one that the call before the return address proves:
		// the hooked function, as if it had ended in a jump to the thunk.
		tr.Frames = slices.DeleteFunc(tr.Frames, func(f labFrame) bool { return f.Kind == "inferred" })
		for k := 0; k+1 < len(tr.Frames); k++ {
			f := strings.TrimPrefix(tr.Frames[k].Function, module)
			caller := strings.TrimPrefix(tr.Frames[k+1].Function, module)
			switch {
			case k > 0 && f == "tracer.exitThunk":
				t.Fatalf("trace %d has the thunk as a caller: %s", i, tr.chain())
			case k == 0 && strings.HasPrefix(f, "tracer.exit"):
				hooks++
			}
			if want, ok := exitCallers[f]; ok && f != caller && !strings.Contains("|"+want+"|", "|"+caller+"|") {
				t.Fatalf("trace %d at %s: the caller of %s is %s; want %s; %s", i, tr.Frames[0].Address, f, caller, want, tr.chain())
			}
		}
	}
	if hooks < 100 {
		t.Errorf("%d traces were in the thunk; want at least 100", hooks)
	}
	// The call before the return address proves that exitPanicking was there.
	const chain = "boot: main.exitPanics tracer.exited*2 tracer.exitBody main.exitPanicking main.exitPanic main.onReturnA main.lab kernel.early boot.start boot.long"
	last := traces[len(traces)-1]
	if got := last.chain(); got != chain || !last.Complete || last.Kind != "panic" {
		t.Errorf("the panic in a hook: %s, complete %v\n%s\nwant\n%s", last.Kind, last.Complete, got, chain)
	}
}
