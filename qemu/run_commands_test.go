package qemu

// u-root's commands, unmodified, booted by `zf run` as users boot them: what they write
// and how they end is what they do on the host with the same arguments and input.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// commandFiles are the files that the commands find in their working directory.
var commandFiles = map[string]string{
	"empty":       "",
	"fruit":       "pear\napple\nbanana\nApple\n\n  fig\napple\n10\n9\n",
	"no-newline":  "first\nlast",
	"text":        "The quick brown fox\njumps over the lazy dog.\n\tZwölf Boxkämpfer\n",
	"bad-utf8":    "a\xffb\xc3(\n",
	"sub/inner":   "a fox in a folder\n",
	"sub/x/inner": "no animal\n",
}

// allBytes is every byte, with a few that mean something on a serial line once more.
func allBytes() string {
	var b strings.Builder
	for i := range 256 {
		b.WriteByte(byte(i))
	}
	return b.String() + "\x10\x04\x10\x10\x03\x1c\r\n\r\x00"
}

type commandCase struct {
	args  []string
	stdin string
}

func in(stdin string, args ...string) commandCase { return commandCase{args, stdin} }

var commandCases = map[string][]commandCase{
	"seq": {
		in("", "1", "10"), in("", "5"), in("", "-w", "1", "5", "101"), in("", "-s", ", ", "1", "3"),
		in("", "-f", "%.3f", "0", "0.25", "1"), in("", "1", "100000"), in("", "a"), in("", "1", "0", "2"),
		in(""), in("", "-nosuch"), in("", "-h"),
	},
	"echo": {
		in("", "hello", "world"), in(""), in("", "-n", "no line end"), in("", `tab\there`, `\x41`), in("", "-E", `tab\there`),
		in("", "ü", "a b", `"`, "'"), in("", ""), in("", `bad\q`), in("", "-nosuch"),
	},
	"sort": {
		in("b\na\nc"), in(""), in("\n"), in(commandFiles["fruit"], "-r"), in(commandFiles["fruit"], "-u"), in(commandFiles["fruit"], "-n"),
		in(commandFiles["fruit"], "-f", "-b"), in("", "fruit", "no-newline", "text"), in("b\na\n", "-C"), in("a\nb\n", "-C"),
		in("x\n", "-o", "/nosuch/x"), in("", "nosuch"), in("", "sub"), in("", "-nosuch"),
		in(strings.Repeat("zebra\nyak\nantelope\n", 20_000)),
	},
	"base64": {
		in("hello\n"), in(""), in(allBytes()), in("aGVsbG8K", "-d"), in("AAECAxAEEBADHA0KDQD/", "-d"), in("not base64!", "-d"),
		in("", "text"), in("", "nosuch"), in("", "-nosuch"), in("", "text", "fruit"),
	},
	"wc": {
		in("one two\nthree\n"), in(""), in(allBytes()), in("", "text"), in("", "-l", "text", "fruit"), in("", "-r", "-b", "bad-utf8", "text"),
		in("", "-w", "-c", "empty", "no-newline"), in("", "nosuch", "text"), in("", "sub"), in("", "-nosuch"),
		in(strings.Repeat("line of text\n", 30_000)),
	},
	"shasum": {
		in("abc"), in(""), in("abc", "-a", "256"), in("abc", "-a", "512"), in("abc", "-a", "7"), in(allBytes()),
		in("", "text", "fruit"), in("", "-a", "256", "sub/inner"), in("", "nosuch"), in("", "sub"), in("", "-nosuch"),
	},
	"hexdump": {
		in("hello\n"), in(""), in(allBytes()), in("", "text", "bad-utf8"), in("", "nosuch"), in("", "text", "nosuch"), in("", "sub"), in("", "-nosuch"),
	},
	"grep": {
		in(commandFiles["text"], "fox"), in(commandFiles["text"], "nothing"), in(commandFiles["text"], "-v", "fox"),
		in(commandFiles["fruit"], "-i", "-n", "APPLE"), in(commandFiles["fruit"], "-c", "a.*e"), in("a.b\naxb\n", "-F", "a.b"),
		in(commandFiles["fruit"], "-q", "fig"), in(commandFiles["fruit"], "-q", "kiwi"), in("", "fox", "text", "sub/inner"),
		in("", "-r", "fox", "."), in("", "-l", "-r", "a", "sub", "fruit"), in("", "-h", "a", "text", "fruit"),
		in("", "fox", "nosuch", "text"), in("", "fox", "sub", "text"), in("x\n"), in("", "-nosuch"), in("", "-e"),
	},
}

// An outcome is what is seen of a command.
type outcome struct {
	text   string // its standard output and error, as they were written
	status int
}

// logDate is how package log begins a line.
var logDate = regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `)

// native runs a program of the host.
func native(t testing.TB, path, dir string, c commandCase) outcome {
	t.Helper()
	cmd := exec.Command(path, c.args...)
	cmd.Args[0] = filepath.Base(path)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.stdin)
	out, err := cmd.CombinedOutput()
	return outcome{logDate.ReplaceAllString(string(out), "DATE "), exitCode(t, err)}
}

func exitCode(t testing.TB, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// bootReport matches what the kernel says before the program starts. Its last line is
// that of the kernel's own stack.
var bootReport = regexp.MustCompile(`(?s)^.*\nkernel +\d+ +\d+ +\d+ % +\d+ +\d+\r?\n`)

// booted runs zf and returns what the program wrote, and its status.
func booted(t testing.TB, stdin io.Reader, args ...string) (o outcome, stderr string) {
	t.Helper()
	cmd := zfRun(t, args...)
	var out, msg bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &msg
	o.status = programStatus(exitCode(t, cmd.Run()))
	report := bootReport.FindString(out.String())
	if report == "" {
		t.Fatalf("zf run %q has no boot report: %s%s", args, out.String(), msg.String())
	}
	o.text = logDate.ReplaceAllString(out.String()[len(report):], "DATE ")
	return o, msg.String()
}

// programStatus is the program's exit status as that of zf tells it; statuses of zf
// itself are made negative.
func programStatus(zf int) int {
	switch {
	case zf == 0:
		return 0
	case zf < 64:
		return -zf
	}
	return zf - 64
}

// core returns one of u-root's commands for the host, and its image.
func core(t testing.TB, name string) (pkg, path, elf string) {
	t.Helper()
	pkg = "github.com/u-root/u-root/cmds/core/" + name
	return pkg, hostCommand(t, pkg), built(t, image.BuildOptions{Package: pkg})
}

// TestCommands: with input from a pipe.
func TestCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range commandFiles {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, cases := range commandCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkg, path, elf := core(t, name)
			for i, c := range cases {
				want := native(t, path, dir, c)
				what := elf
				if i == 0 {
					what = pkg
				}
				args := append([]string{"-files", dir + ":/data", "-append", "cwd=/data", what, "--"}, c.args...)
				got, stderr := booted(t, strings.NewReader(c.stdin), args...)
				if got != want {
					t.Errorf("%s %.200q with input %.80q: %.2000q, status %d, %s; want %.2000q, status %d",
						name, c.args, c.stdin, got.text, got.status, stderr, want.text, want.status)
				}
			}
		})
	}
}

// TestCommandsTerminal: with a terminal as input and output, on which the same keys are
// typed.
func TestCommandsTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		keys string
	}{
		{"seq", []string{"1", "12"}, ""},
		{"sort", nil, "pear\nfig\n\x04"},
		{"sort", nil, "pear\nfif\x7fg\n\x15apple\nunwanted\x15kiwi\ntwo words\x17one\n\x04"},
		{"sort", nil, "no line end\x04\x04"},
		{"sort", []string{"-r"}, "ä\nöü\x7f\tx\n\x04"},
		{"base64", nil, "a\rb\n\x01\x1b[A\n\x04"},
		{"wc", nil, "one two\nthree\n\x04"},
		{"shasum", nil, "abc\x04\x04"},
		{"hexdump", nil, "\x10\x04\x10\x10\n\x04"},
		{"grep", []string{"-v", "a"}, "abc\ndef\n\x04"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, path, elf := core(t, tt.name)
			cmd := exec.Command(path, tt.args...)
			cmd.Args[0] = tt.name
			want := onTerminal(t, cmd, nil, tt.keys)
			zf := zfRun(t, append([]string{elf, "--"}, tt.args...)...)
			got := onTerminal(t, zf, bootReport, tt.keys)
			got.status = programStatus(got.status)
			if got != want {
				t.Errorf("%s %q with %q typed: %q, status %d; want %q, status %d",
					tt.name, tt.args, tt.keys, got.text, got.status, want.text, want.status)
			}
		})
	}
}

// TestCommandQuiet: with -q a command in a pipe says what it says on Linux, and no more.
func TestCommandQuiet(t *testing.T) {
	t.Parallel()
	cmd := zfRun(t, "-q", "github.com/u-root/u-root/cmds/core/sort")
	var out, msg bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("b\nc\na\n"), &out, &msg
	if err := cmd.Run(); err != nil || out.String() != "a\nb\nc\n" || msg.Len() > 0 {
		t.Errorf("zf run -q sort: %v, %q and on standard error %q; want a, b and c, and nothing", err, &out, &msg)
	}
}

// TestCommandDies: where a command dies on the host of a panic or of ^C, there is a
// trace, below what the Go runtime says itself.
func TestCommandDies(t *testing.T) {
	t.Parallel()
	_, path, elf := core(t, "grep")
	want := native(t, path, "", in("", "(x"))
	says, _, _ := strings.Cut(want.text, "\n")
	got, stderr := booted(t, nil, elf, "--", "(x")
	if want.status != 2 || got.status != -1 || !strings.HasPrefix(got.text, says+"\n") || !strings.Contains(stderr, "zf run: "+says[:40]) {
		t.Errorf("grep of a bad pattern: status %d, %.200q, %s; want %q and a trace of it", got.status, got.text, stderr, says)
	}
	cmd := zfRun(t, elf, "--", "x")
	got = onTerminal(t, cmd, bootReport, "no match\nabc\x03")
	if got.status != 130 || !strings.HasPrefix(got.text, "no match\r\nabc^C") || !strings.Contains(got.text, "ended by signal 2, SIGINT") {
		t.Errorf("grep after ^C: status %d, %q; want 130, and with -v a trace that says SIGINT", got.status, got.text)
	}
}

// onTerminal runs a command with a terminal as its input and output, types keys once
// what comes first has come, and returns what is on the screen behind that. Without
// first, the terminal is its standard error, too.
func onTerminal(t *testing.T, cmd *exec.Cmd, first *regexp.Regexp, keys string) (o outcome) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	// As terminals are set up: a character of several bytes is erased as one.
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err == nil {
		settings.Iflag |= unix.IUTF8
		err = unix.IoctlSetTermios(int(slave.Fd()), unix.TCSETS, settings)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	var stderr bytes.Buffer
	if first != nil {
		cmd.Stderr = &stderr
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	slave.Close()
	screen := new(log)
	ended := make(chan struct{})
	go func() { io.Copy(screen, master); screen.End(); close(ended) }()
	begin := 0
	if first != nil {
		screen.Until(t, func(shown string) bool { begin = len(first.FindString(shown)); return begin > 0 }, "%v", first)
	}
	io.WriteString(master, keys)
	o.status = exitCode(t, cmd.Wait())
	<-ended
	o.text = logDate.ReplaceAllString(screen.String()[begin:], "DATE ")
	return o
}

// TestCommandElsewhere: in a module that requires no more than the command's, a command
// boots, and neither the module nor the command's folder is changed.
func TestCommandElsewhere(t *testing.T) {
	t.Parallel()
	list := func(args ...string) string {
		out, err := exec.Command("go", append([]string{"list", "-f"}, args...)...).Output()
		if err != nil {
			t.Fatalf("go list %q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	const pkg = "github.com/u-root/u-root/cmds/core/echo"
	require := list("{{.Path}} {{.Version}}", "-m", "github.com/u-root/u-root")
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	ours := ""
	for l := range strings.Lines(string(sums)) {
		if strings.HasPrefix(l, require) {
			ours += l
		}
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/elsewhere\n\ngo 1.26.0\n\nrequire " + require + "\n",
		"go.sum": ours,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folders := []string{dir, list("{{.Dir}}", pkg), list("{{.Dir}}", "-m", "github.com/u-root/u-root")}
	before := fingerprint(t, folders)
	cmd := zfRun(t, pkg, "--", "from", "elsewhere")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "\nfrom elsewhere\n") {
		t.Errorf("zf run %s: %v\n%s", pkg, err, out)
	}
	if after := fingerprint(t, folders); after != before {
		t.Errorf("the folders were\n%s\nand are\n%s", before, after)
	}
}

// fingerprint says what is directly in some folders, by name, size and time.
func fingerprint(t *testing.T, folders []string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, dir, e.Name(), info.Mode(), info.Size(), info.ModTime())
		}
	}
	return b.String()
}
