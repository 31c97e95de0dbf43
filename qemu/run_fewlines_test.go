package qemu

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// ofSpin is what is said of a goroutine that spins: the frames of the CPU that runs it, or a line.
// Go stops one that spins by a signal each 10 ms, so its CPU may be in the kernel, or at the
// runtime's work. ofBoth is in such a line if it is of both, which counts for two.
var (
	ofSpin = regexp.MustCompile(
		`(?m)^(  main\.spin\(\)|(goroutine \d+|2 goroutines) \[run(ning|nable)\].* main\.spin) `)
	ofBoth = regexp.MustCompile(`(?m)^2 goroutines \[run(ning|nable)\].* main\.spin `)
)

// TestFewLines: zf run shows a death in a few lines, and the program's text as it is; zf last has the
// rest.
func TestFewLines(t *testing.T) {
	t.Parallel()
	elf, zf := program(t, "short"), zfCommand(t)
	for _, tt := range []struct {
		way    string
		flags  string // with a comma for a space in one
		lines  int    // at most
		status int
		out    string // of the program, before the death; a pattern
		want   []string
	}{
		{"nil", "-smp 2", 14, 1, "", []string{
			"panic: runtime error: invalid memory address or nil pointer dereference", "in main.(*node).sum at testdata/short/main.go:21 (",
			`  main.(*node).sum(n=nil, depth=?, note="a note")  testdata/short/main.go:21`, "  main.main()  testdata/short/main.go:52", "  ... 2 frames of the runtime",
			"CPU "}},
		{"map", "-smp 1", 12, 1, "", []string{"zf run: panic: assignment to entry in nil map", "  main.main()  testdata/short/main.go:54"}},
		{"overflow", "-smp 1", 14, 1, "", []string{"stack overflow", "  main.deep(", " times)  testdata/short/main.go:24"}},
		{"mutual", "-smp 1", 18, 1, "", []string{"stack overflow", "  main.walk(", "  main.visit(", "  ... these 2 calls "}},
		{"deadlock", "-smp 2", 12, 1, "", []string{"all goroutines are asleep - deadlock!", "waits for the mutex", "main.deadlock.func1"}},
		{"repanic", "-smp 1", 18, 1, "", []string{"zf run: panic: first", "    of two lines", "    panic: again: first"}},
		{"chatty", "-smp 2", 14, 1, `(working \(ok\) \d+\n)+`, []string{"zf run: panic: boom\n", "in main.main at "}},
		{"spin", "-smp 3", 14, 3, "", []string{"  main.spin()  testdata/short/main.go:", "timeout after ", "zf run: in main.spin at testdata/short/main.go:", "CPU "}},
		{"abort", "-smp 1", 12, 1, "", []string{"zf run: SIGABRT: abort\n", "in main.main at "}},
		{"rows", "-smp 2 -m 48M", 14, 1, "", []string{"out of memory", "in main.main at ", "zf run: the heap has ", " []main.row\n"}},
		{"nodes", "-smp 1 -m 48M", 14, 1, "", []string{"out of memory", " objects of 16 bytes (", " looked at are main.node)\n"}},
		{"hoard", "-smp 1 -m 48M -append env.GOGC=off,env.GOMEMLIMIT=off", 14, 1, "", []string{"out of memory", "in main.main at ", "zf run: the heap has more than 16 GiB "}},
		{"piece", "-smp 1", 14, 1, "", []string{"out of memory", "in main.main at ", "zf run: -m SIZE gives it more memory; "}},
		{"lives", "-smp 1", 0, 0, "panic: not really\nzf1 begin 1 panic goroutine\nand no end of line", nil},
		{"exit 7", "-smp 1", 1, 71, "", []string{"the program exited with status 7"}},
	} {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			cache := t.TempDir()
			run := func(says io.Writer, args ...string) (stdout, stderr string, status int) {
				cmd := exec.Command(zf, args...)
				cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "HOME="+cache)
				var out, msg bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&msg, says)
				cmd.Run()
				return out.String(), msg.String(), cmd.ProcessState.ExitCode()
			}
			flags := strings.Fields(tt.flags)
			for i := range flags {
				flags[i] = strings.ReplaceAll(flags[i], ",", " ")
			}
			flags = append(append(flags, elf, "--"), strings.Fields(tt.way)...)
			var out, msg string
			var status int
			within := func(limit string, says io.Writer) {
				out, msg, status = run(says, append([]string{"run", "-timeout", limit}, flags...)...)
			}
			if tt.status == 3 {
				untilBegun("to standard error\n", within)
			} else {
				within("10m", io.Discard)
			}
			want := regexp.MustCompile(`^to standard output\n` + tt.out + `$`)
			msg, ownErrors := strings.CutPrefix(msg, "to standard error\n")
			if !ownErrors {
				t.Errorf("standard error does not begin with the program's:\n%s", msg)
			}
			if status != tt.status || !want.MatchString(out) || strings.Count(msg, "\n") > tt.lines {
				t.Errorf("status %d, standard output %q, standard error:\n%s\nwant status %d, %v, and %d lines", status, out, msg, tt.status, want, tt.lines)
			}
			for _, w := range tt.want {
				if !strings.Contains(msg, w) {
					t.Errorf("standard error has no %q:\n%s", w, msg)
				}
			}
			n := len(ofSpin.FindAllString(msg, -1)) + len(ofBoth.FindAllString(msg, -1))
			if tt.way == "spin" && n != 2 {
				t.Errorf("%d goroutines spin; want 2:\n%s", n, msg)
			}
			for line := range strings.Lines(msg) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 && !strings.Contains(line, "the whole trace: ") && !strings.HasPrefix(line, "zf run: in ") && strings.Count(line, " ") > 4 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			logs, _ := filepath.Glob(filepath.Join(cache, "zeroframe", "deaths", "short-*.txt"))
			if tt.status == 71 || tt.status == 0 {
				if len(logs) != 0 {
					t.Errorf("there are logs of a program that has not died: %q", logs)
				}
				return
			}
			whole, _, _ := run(io.Discard, "last")
			for _, w := range []string{"zeroframe ", "stack        size", "to standard output\n", "zf1 begin 1 ", "zf1 stop ", "zf1 done ", "runtime."} {
				if !strings.Contains(whole, w) {
					t.Errorf("zf last has no %q:\n%.2000s", w, whole)
				}
			}
			if strings.Contains(msg, "zf1") || strings.Contains(out, "zf1") {
				t.Errorf("a line of the trace is shown:\n%s%s", out, msg)
			}
		})
	}
}

// TestTwoOutputs: both outputs of a program are those of zf run, byte for byte, as on Linux.
func TestTwoOutputs(t *testing.T) {
	t.Parallel()
	elf, zf := program(t, "short"), zfCommand(t)
	outputs := func(name string, args ...string) (stdout, stderr []byte) {
		t.Helper()
		cmd := exec.Command(name, append(args, "both")...)
		var out, msg bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &msg
		if err := cmd.Run(); err != nil {
			t.Errorf("%s %q: %v", name, args, err)
		}
		return out.Bytes(), msg.Bytes()
	}
	wantOut, wantErrors := outputs(elf)
	if len(wantOut) < 1000 || len(wantErrors) < 100_000 {
		t.Fatalf("on Linux there are %d and %d bytes", len(wantOut), len(wantErrors))
	}
	for _, flags := range []string{"-smp 1", "-smp 3", "-machine microvm"} {
		out, msg := outputs(zf, append(append([]string{"run", "-timeout", "10m"}, strings.Fields(flags)...), elf, "--")...)
		if !bytes.Equal(out, wantOut) || !bytes.Equal(msg, wantErrors) {
			t.Errorf("%s: standard output %q\nstandard error %.5000q", flags, out, msg)
		}
	}
	out, msg := outputs(zf, "run", "-timeout", "10m", "-console", "com1", elf, "--")
	if want := len(wantOut) + len(wantErrors); len(out) != want || len(msg) != 0 {
		t.Errorf("by COM1: %d bytes, want %d; standard error %q", len(out), want, msg)
	}
}

// TestShortLog: zf symbolize -short says of the log of a death what zf run says of it, and the same
// if the log was saved resolved, or by Windows' tools.
func TestShortLog(t *testing.T) {
	t.Parallel()
	elf := program(t, "short")
	said := func(text string) (frames string) {
		for line := range strings.Lines(text) {
			if _, after, ok := strings.Cut(line, ": in main."); ok {
				line = after
			} else if !strings.HasPrefix(line, "  main.") && !strings.HasPrefix(line, "  ... ") {
				continue
			}
			frames += regexp.MustCompile(`0x[0-9a-f]+|\d+ (times|frames)`).ReplaceAllString(line, "N")
		}
		return frames
	}
	run := func(stdin string, args ...string) string {
		cmd := exec.Command(zfCommand(t), args...)
		cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
		cmd.Stdin = strings.NewReader(stdin)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	for _, way := range []string{"nil", "map", "deadlock", "overflow", "mutual"} {
		_, serial, err := boot(t, Config{Kernel: elf}, "-- "+way)
		if err != nil {
			t.Fatal(err)
		}
		got := run(serial, "symbolize", "-short", "-e", elf)
		want := run("", "run", "-smp", "1", "-timeout", "10m", elf, "--", way)
		if said(got) != said(want) || said(want) == "" || strings.Contains(got, "zf1 ") || strings.Count(got, "to standard output") != 1 {
			t.Errorf("%s: zf symbolize -short says\n%s\nzf run\n%s", way, got, want)
		}
		resolved := run(serial, "symbolize", "-e", elf)
		if again := run("\ufeff"+resolved, "symbolize", "-short", "-e", elf); again != got {
			t.Errorf("%s: of a log that is resolved zf symbolize -short says\n%s\nof the log\n%s", way, again, got)
		}
	}
}

// TestLargeStatus: zf run returns the program's status, and says it, as long as it fits into a status.
func TestLargeStatus(t *testing.T) {
	t.Parallel()
	elf := program(t, "short")
	for _, tt := range []struct {
		console, status string
		want            int
		says            string
	}{
		{"virtio", "62", 126, "62"}, {"virtio", "63", 127, "63"}, {"virtio", "64", 128, "64"}, {"virtio", "128", 192, "128"},
		{"virtio", "191", 255, "191"}, {"virtio", "255", 255, "255"}, {"virtio", "256", 0, ""}, {"virtio", "-1", 255, "255"},
		{"com1", "62", 126, "62"}, {"com1", "200", 127, "63"},
	} {
		cmd := exec.Command(zfCommand(t), "run", "-smp", "1", "-timeout", "10m", "-console", tt.console, elf, "--", "exit", tt.status)
		var msg bytes.Buffer
		cmd.Stderr = &msg
		cmd.Run()
		said := ""
		if tt.says != "" {
			said = "zf run: the program exited with status " + tt.says + "\n"
		}
		if got := cmd.ProcessState.ExitCode(); got != tt.want || !strings.HasSuffix(msg.String(), said) || said == "" && strings.Contains(msg.String(), "zf run:") {
			t.Errorf("-console %s, status %s: zf's is %d, want %d; it says %q", tt.console, tt.status, got, tt.want, &msg)
		}
	}
}

// TestInterruptKey: ^C ends a program as on Linux, without a trace; ^\ asks for one.
func TestInterruptKey(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-q", "-v"} {
		s := inTmux(t, "env", "XDG_CACHE_HOME="+t.TempDir(), zfCommand(t), "run", flag, "-smp", "2", "-timeout", "10m", program(t, "short"), "--", "spin")
		s.until(`(?m)^to standard error$`, 1)
		// Go stops a goroutine that spins by a signal each 10 ms: the key may find a CPU in the kernel.
		both := regexp.MustCompile(`(?s)main\.spin.*main\.go:.*main\.spin.*main\.go:`)
		for n := 1; ; n++ {
			s.key(`C-\`)
			if both.MatchString(s.until(`(?m)the whole trace:|^goroutines: \d+ in all`, n)) {
				break
			}
		}
		s.key("C-c")
		text := s.until(`(?m)^STATUS 130$`, 1)
		if strings.Contains(text, "SIGINT") != (flag == "-v") || strings.Contains(text, "died") {
			t.Errorf("%s: after ^C there is\n%s", flag, text)
		}
	}
}

// TestInterruptSleeping: also one that waits, which the kernel's trace says is no goroutine that runs.
func TestInterruptSleeping(t *testing.T) {
	t.Parallel()
	s := inTmux(t, "env", "XDG_CACHE_HOME="+t.TempDir(), zfCommand(t), "run", "-smp", "1", "-timeout", "10m", program(t, "short"), "--", "sleep")
	s.until(`(?m)^to standard error$`, 1)
	s.key("C-c")
	if text := s.until(`(?m)^STATUS \d+$`, 1); !strings.Contains(text, "STATUS 130") || strings.Contains(text, "SIGINT") {
		t.Errorf("after ^C there is\n%s", text)
	}
}

// TestFewLinesMonitor: of a death that opens the monitor the few lines come first, and bt answers
// with frames. What is typed before the monitor asks is the program's.
func TestFewLinesMonitor(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), zfCommand(t), "run", "-smp", "1", "-timeout", "10m", "-append", "panic=monitor", program(t, "short"), "--", "nil")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said := new(await.Log)
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The echo of a command is the kernel's, its answer zf's own.
	said.For(t, "monitor> ")
	io.WriteString(in, "bt\n")
	said.Times(t, "monitor> ", 2)
	io.WriteString(in, "continue\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("zf run: %v; want status 1", err)
	}
	const frame = "  main.(*node).sum(n=nil, depth=?, note=\"a note\")  testdata/short/main.go:21\n"
	rest := said.String()
	for _, want := range []string{"zf run: panic: runtime error: invalid memory address", frame, "zf run: the whole trace:",
		"monitor: the kernel has died", "monitor> bt", frame, "monitor> continue"} {
		_, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("there is no %q in\n%s\nof\n%s", want, rest, said)
		}
		rest = after
	}
}
