package qemu

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/creack/pty"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// zf gdb: a machine that waits for the debugger, and the debugger on a terminal.

// TestGDBCommand: zf gdb on a machine that is about to die. Its own walk is the trace's,
// and so is bt as far as gdb can go.
func TestGDBCommand(t *testing.T) {
	t.Parallel()
	need(t, "gdb")
	for _, tt := range []struct {
		kind, stop string
		bt         string // where gdb's bt ends, or goes on to
		says       []string
	}{
		{"early.in-irq", "", "kernel/fault.RaiseInterrupt", []string{`irq .*<- RSP`, `(?m)^boot +0x[0-9a-f]+ +32768 +[1-9]\d* +\d+$`}},
		{"early.leaf", "", "boot.long", []string{`boot .*<- RSP`}},
		{"go.syscall-bug", "", "runtime.goexit", []string{`kernel .*<- RSP`, `\d running +is running \(started as \S+golab.syscallBugA\)`,
			`1 (waiting +waits: .*|runnable +goes on in runtime.block) \(started as runtime.main\)`}},
		{"go.panic", "runtime.exit", "runtime.systemstack", []string{`g0.m0 .*<- RSP`}},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			path, symbols := lab(t, image.AllLoaders)
			_, log, err := boot(t, Config{Kernel: path}, "crash="+tt.kind)
			if err != nil {
				t.Fatal(err)
			}
			tr := onlyTrace(t, traces(t, symbols, log))
			stop := tr.Frames[0].Address
			if tt.stop != "" {
				stop = fmt.Sprintf("%#x", entryOf(t, path, tt.stop))
			}
			serial := filepath.Join(t.TempDir(), "serial")
			args := []string{"gdb", "-serial", serial, "-append", "crash=" + tt.kind}
			for _, a := range []string{"-batch", "-iex", "set width 0", "-ex", "break *" + stop, "-ex", "continue",
				"-ex", "zf-trace", "-ex", "bt", "-ex", "zf-stacks", "-ex", "zf-goroutines", "-ex", "disconnect"} {
				args = append(args, "-gdb", a)
			}
			cmd := exec.Command(zfCommand(t), append(args, path)...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			var got, want []string
			for _, m := range zfTraceLine.FindAllStringSubmatch(string(out), -1) {
				if m[7] != "" {
					got = append(got, m[7])
					continue
				}
				line, _ := strconv.Atoi(m[5])
				got = append(got, fmt.Sprintf("%s %s %s %s:%d", m[1], m[2], m[3], m[4], line))
			}
			at := ""
			for i, f := range tr.Frames {
				if a := f.Kind + f.Address + f.FP; f.Kind == "inferred" || a == at { // or what that is inlined into
					continue
				} else {
					at = a
				}
				if f.Kind == "trap" {
					want = append(want, "trap")
					continue
				}
				if i == 0 && tt.stop != "" { // at its entry
					f.Address, f.Line = stop, symbols.Lookup(entryOf(t, path, tt.stop), false)[0].Line
				}
				want = append(want, fmt.Sprintf("%s %s %s %s:%d", f.Kind, f.Address, f.Function, f.File, f.Line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("zf-trace shows\n%s\nwant\n%s\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
			}
			for _, re := range append(tt.says, `(?m)^#\d+ +(0x[0-9a-f]+ in )?\S*`+regexp.QuoteMeta(tt.bt)+` \(`) {
				if !regexp.MustCompile(re).Match(out) {
					t.Errorf("gdb does not say %s:\n%s", re, out)
				}
			}
			if b, err := os.ReadFile(serial); err != nil || !strings.Contains(string(b), "zeroframe 0.2.0 build "+tr.BuildID) {
				t.Errorf("the machine sent %q, %v; want its boot report", b, err)
			}
		})
	}
}

// TestGDBTerminal: on a terminal ^C is for gdb, which stops the machine; QEMU stays, and
// the terminal comes back to its owner.
func TestGDBTerminal(t *testing.T) {
	t.Parallel()
	need(t, "gdb")
	path, _ := lab(t, image.AllLoaders)
	serial := filepath.Join(t.TempDir(), "serial")
	cmd := exec.Command("/bin/sh", "-c", `"$@"; echo status $?; read -r x; echo "read $x"`, "sh",
		zfCommand(t), "gdb", "-serial", serial, "-append", "crash=early.spin", "-gdb", "-nx", path)
	cmd.Env = append(os.Environ(), "TERM=dumb", "LC_ALL=C")
	tty, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	defer cmd.Process.Kill()
	screen := new(log)
	ended := make(chan struct{})
	go func() { io.Copy(screen, tty); screen.End(); close(ended) }()
	for _, step := range []struct{ wait, keys string }{
		{"(gdb) ", "hbreak main.lab\n"},
		{"breakpoint 1 at", "continue\n"},
		{"Breakpoint 1, ", "continue 7\n"},
		{"Will ignore next 6 crossings", ""},
		{"Continuing.\r\n", "\x03"},
		{"Program received signal SIGINT", "quit\n"},
		{"status 0\r\n", "hello\n"},
		{"read hello\r\n", ""},
	} {
		screen.For(t, step.wait)
		if step.keys == "\x03" {
			await.Poll(t, "the machine spins", func() bool {
				said, err := os.ReadFile(serial)
				return err == nil && bytes.Contains(said, []byte("spinning"))
			})
		}
		io.WriteString(tty, step.keys)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, screen)
	}
	<-ended
}
