package qemu

// Delve on a program that runs in a machine, by zf dlv.

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDelveLive: Delve stops, steps and shows values in a program as it does on Linux, starts it again,
// and knows how it ends.
func TestDelveLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, flags, arguments, commands string
		want                             []string // in this order
	}{
		{"steps", "", "", `break main.main
continue
next
next
break main.sum
continue
print 100+n.v
print 200+n.next.v
next
next
next
next
print 300+total
stepout
next
break square main.worker
condition square i == 2
continue
print 400+i
next
next
next
print 500+square
goroutines
clearall
continue
restart
break main.sum
continue
print n.next.next
clearall
step
continue
exit
`, []string{
			"> [Breakpoint 1] main.main() ./testdata/debugged/main.go:31 (hits goroutine(1):1 total:1)",
			"> main.main() ./testdata/debugged/main.go:32 ", "> main.main() ./testdata/debugged/main.go:33 ",
			"> [Breakpoint 2] main.sum() ./testdata/debugged/main.go:17 (hits goroutine(1):1 total:1)", "\n103\n", "202\n",
			"> main.sum() ./testdata/debugged/main.go:18 ", "> main.sum() ./testdata/debugged/main.go:19 ",
			"> main.sum() ./testdata/debugged/main.go:20 ", "> main.sum() ./testdata/debugged/main.go:19 ", "\n303\n",
			"> main.main() ./testdata/debugged/main.go:36 ", "~r0: 6", "the sum is 6\n", "> main.main() ./testdata/debugged/main.go:37 ",
			"> [square] main.worker() ./testdata/debugged/main.go:25 (hits goroutine(", "\n402\n",
			"> main.worker() ./testdata/debugged/main.go:26 ", "> main.worker() ./testdata/debugged/main.go:27 ",
			"> main.worker() ./testdata/debugged/main.go:28 ", "\n504\n",
			"Goroutine 1 - ", "[force gc (idle)]", "./testdata/debugged/main.go:28 main.worker", "Process 0 has exited with status 5\n",
			"Process restarted with PID 0\n", "main.sum() ./testdata/debugged/main.go:17 (hits goroutine(1):1 total:1)", "v: 1", "v: 0",
			"> main.sum() ./testdata/debugged/main.go:18 ", "the sum is 6\n", "Process 0 has exited with status 5\n",
		}},
		{"optimized", "-gcflags=", "", "break main.sum\ncontinue\nprint n.v\nargs\nclearall\nnext\ncontinue\nexit\n", []string{
			"> [Breakpoint 1] main.sum() ./testdata/debugged/main.go:19 (hits goroutine(1):1 total:1)", "\n3\n", "n = (*main.node)(0x", "> main.sum() ./testdata/debugged/main.go:20 ",
			"the sum is 6\n", "Process 0 has exited with status 5\n",
		}},
		{"changes", "", "", "break main.sum\ncontinue\nset n.v = 9\nclearall\ncall sum(n)\nprint n.v\nnext\nnext\nnext\nnext\nprint total\nrestart\nbreak main.sum\ncontinue\nset n.v = 8\nclearall\ncontinue\nexit\n", []string{
			"> [Breakpoint 1] main.sum()", "~r0: 12\n", "\n9\n", "main.go:18 ", "main.go:19 ", "main.go:20 ", "main.go:19 ", "\n9\n",
			"] main.sum()", "the sum is 11\n", "Process 0 has exited with status 5\n",
		}},
		{"dies", "", "x", "continue\nbt\ncontinue\nexit\n", []string{
			"> [unrecovered-panic] runtime.fatalpanic()", "nil pointer dereference", "main.main", "main.go:45",
			"zf dlv: panic: runtime error: invalid memory address or nil pointer dereference\n", "zf dlv: in main.main at", "main.go:45",
			"zf dlv: `zf last` shows all of it\n", "zf dlv: the whole trace: ~/.cache/zeroframe/deaths/",
			"Process 0 has exited with status 2\n",
		}},
		{"waits", "", "x y", `break main.go:47
continue
clearall
break runtime.retake
continue
clearall
threads
goroutine 1
bt
step-instruction
next
next
exit
`, []string{
			"] main.main() ./testdata/debugged/main.go:47 ", "] runtime.retake()", "\n  Thread 100", "from 0 to 1 (thread 100",
			"in main.main\n   at ./testdata/debugged/main.go:4", "in runtime.main",
			"this thread waits for the CPU: set a breakpoint where it goes on, and continue",
			"> main.main() ./testdata/debugged/main.go:4", "> main.main() ./testdata/debugged/main.go:4",
		}},
		{"signal", "", "x y z", "continue\nexit\n", []string{"zf dlv: ended by signal 15, SIGTERM\n", "Process 0 has exited with status 143\n"}},
		{"status", "", strings.Repeat("x ", 30), "continue\nrestart -noargs\ncontinue\nrestart 'a b' c d e <in\ncontinue\nexit\n", []string{
			"Process 0 has exited with status 155\n", "Process 0 has exited with status 5\n",
			"zf dlv: < and > of restart do nothing", "Process 0 has exited with status 25\n",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var args []string
			if tt.flags != "" {
				args = append(args, tt.flags)
			}
			args = append(args, "./testdata/debugged")
			if tt.arguments != "" {
				args = append(append(args, "--"), strings.Fields(tt.arguments)...)
			}
			askDelve(t, delve(t), tt.commands, tt.want, args...)
		})
	}
}

// askDelve gives commands to zf dlv, and wants texts of what it says, in their order.
func askDelve(t *testing.T, dlv, commands string, wanted []string, args ...string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(script, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), zfCommand(t), append([]string{"dlv", "-dlv", "--init=" + script, "-dlv",
		"--allow-non-terminal-interactive=true"}, args...)...)
	c.Env = append(os.Environ(), "ZF_DLV="+dlv, "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME=",
		"GOCACHE="+goCache(t), "GOMODCACHE="+goEnv(t, "GOMODCACHE"))
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("zf dlv: %v\n%s", err, out)
	}
	all := strings.ReplaceAll(escapes.ReplaceAllString(string(out), ""), "\r\n", "\n")
	rest := regexp.MustCompile(`(?m)^(=>)? *\d+:.*\n`).ReplaceAllString(all, "") // the source
	for _, want := range wanted {
		_, behind, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is not in\n%s\nof\n%s", want, rest, all)
		}
		rest = behind
	}
}

// TestDelveLivePipe: Delve's commands come from a pipe.
func TestDelveLivePipe(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), zfCommand(t), "dlv", "./testdata/debugged")
	c.Env = append(os.Environ(), "ZF_DLV="+delve(t), "XDG_CONFIG_HOME="+t.TempDir())
	c.Stdin = strings.NewReader("break main.sum\ncontinue\nprint 100+n.v\n")
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "\n(dlv) 103\n") {
		t.Errorf("zf dlv: %v, %q; want 103", err, out)
	}
}

// TestDelveLiveEditor: an editor connects to Delve on a machine, stops, steps and sees it end.
func TestDelveLiveEditor(t *testing.T) {
	t.Parallel()
	address := freePort(t, "tcp4")
	e, end := attach(t, address, delve(t), "-listen", address, "./testdata/debugged")
	e.breakAt("main.sum")
	e.send("configurationDone", nil)
	stop := e.event("stopped")
	name, frame := e.top(stop)
	var v struct{ Result string }
	e.ask("evaluate", map[string]any{"expression": "n.v + n.next.v", "frameId": frame}, &v)
	if name != "main.sum" || v.Result != "5" {
		t.Errorf("it has stopped in %s, where the values are %s", name, v.Result)
	}
	e.breakAt()
	e.send("next", map[string]any{"threadId": 1})
	if name, _ := e.top(e.event("stopped")); name != "main.sum" {
		t.Errorf("a line on it has stopped in %s", name)
	}
	e.send("continue", map[string]any{"threadId": 1})
	e.event("terminated")
	e.ask("disconnect", map[string]any{"terminateDebuggee": true}, nil)
	end()
}

// TestDelveLiveWrong: what cannot be is said before a machine starts.
func TestDelveLiveWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-smp", "2", "./testdata/debugged"}, "Delve follows one CPU"},
		{[]string{"./testdata/debugged", "x"}, "the program's arguments behind --"},
		{[]string{"./nosuch"}, "nosuch"},
		{[]string{"nosuch.elf"}, "there is no file nosuch.elf"},
		{[]string{"nosuch.core"}, "nosuch.core"},
		{[]string{"-listen", "x", "./testdata/debugged"}, "-listen x is no address"},
		{nil, "want a main package, an image, a recording or a core"},
	} {
		c := exec.Command(zfCommand(t), append([]string{"dlv"}, tt.args...)...)
		c.Env = append(os.Environ(), "ZF_DLV="+delve(t))
		out, err := c.CombinedOutput()
		if exitCode(t, err) != 2 || !strings.Contains(string(out), tt.want) {
			t.Errorf("zf dlv %q: %v, %q; want status 2 and %q", tt.args, err, out, tt.want)
		}
	}
}
