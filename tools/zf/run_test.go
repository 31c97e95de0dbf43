package main

// `zf run` is tested on the guest of package qemu's tests, which ends in the way
// that the key it receives says. What it does with traces of a real kernel is
// tested end to end, in package qemu.

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// guest returns the path of the guest's image, built once.
func guest(t *testing.T) string {
	t.Helper()
	guestOnce.Do(func() {
		_, guestErr = image.Build(context.Background(), image.BuildOptions{
			Package: ".", Dir: "../../qemu/testdata/guest", Output: filepath.Join(guestDir, "guest.elf"),
			EntrySymbol: "guest/boot.entry", KernelPackage: "guest/kernel", Stderr: os.Stderr,
		})
	})
	if guestErr != nil {
		t.Fatal(guestErr)
	}
	return filepath.Join(guestDir, "guest.elf")
}

var (
	guestOnce sync.Once
	guestErr  error
	guestDir  string
)

// asCommand is set in the environment of a test binary that is to be zf.
const asCommand = "ZF_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	image.RunTool()
	os.Setenv(qemu.AccelVariable, "tcg") // whatever this machine has
	runPprof()
	if os.Getenv(asCommand) != "" { // started by the command under test
		os.Exit(dispatch(calledAs(os.Args[0], os.Args[1:]), os.Stdin, os.Stdout, os.Stderr))
	}
	var err error
	if guestDir, err = os.MkdirTemp("", "zf-guest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(guestDir)
	os.Exit(code)
}

// buffer is a bytes.Buffer that can be read while it is written.
type buffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	grown chan struct{} // closed by the next Write; nil: nobody waits
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.grown != nil {
		close(b.grown)
		b.grown = nil
	}
	return b.buf.Write(p)
}

// until waits until the text is there.
func (b *buffer) until(t *testing.T, want string) {
	t.Helper()
	b.behind(t, 0, want)
}

// behind waits until the text is there behind the first from bytes, and returns where it ends.
func (b *buffer) behind(t *testing.T, from int, want string) (end int) {
	t.Helper()
	hangs := time.After(patience)
	for {
		b.mu.Lock()
		got := b.buf.String()
		if b.grown == nil {
			b.grown = make(chan struct{})
		}
		grown := b.grown
		b.mu.Unlock()
		if i := strings.Index(got[from:], want); i >= 0 {
			return from + i + len(want)
		}
		select {
		case <-grown:
		case <-hangs:
			t.Fatalf("output = %q; want %q in it", got[from:], want)
		}
	}
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// zf runs a command as a shell does.
func zf(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, msg buffer
	code = dispatch(args, stdin, &out, &msg)
	return code, out.String(), msg.String()
}

// zfTo runs a command with its output going where the caller says.
func zfTo(command string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return dispatch(append([]string{command}, args...), stdin, stdout, stderr)
}

// calling returns the call of a command, for its flags.
func calling(command string, args []string, stderr io.Writer) *call {
	return newCall(context.Background(), find(command), args, nil, io.Discard, stderr)
}

func TestRunExitStatus(t *testing.T) {
	elf := guest(t)
	for i, tt := range []struct {
		keys string
		args []string
		want int
		says string
	}{
		{"e", nil, 0, "booting guest.elf"},
		{"t", nil, 1, ""},
		{"p", nil, 69, "the program exited with status 5"},
		{"u", nil, 3, "unknown debug-exit value 0x1"},
		{"h", nil, 3, "the machine halted without an exit status at rip 0x2"},
		{"r", nil, 3, "triple fault or reset at rip 0x2"},
		{"r", nil, 3, " (boot.entry+0x"},
		{"r", nil, 3, " registers:\nEAX=00000072 EBX="},
		{"", []string{"-timeout", "3s"}, 3, "timeout after 3s at rip 0x2"},
		{"", []string{"-machine", "nosuch"}, 3, "unsupported machine type"},
		{"", []string{"-qemu", "-nosuch"}, 3, "QEMU has no option -nosuch"},
		{"e", []string{"-m", "8M", "-machine", "pc", "-cpu", "max", "-append", "a=b"}, 0, "on pc, 8 MiB, with a=b\n"},
	} {
		args := append([]string{"run", "-v", "-timeout", "10m"}, append(tt.args, elf)...)
		if i > 0 && !slices.Contains(tt.args, "-append") {
			args = slices.Insert(args, 1, "-append", "console=com1") // it need not say where it takes its input
		}
		code, stdout, stderr := zf(strings.NewReader(tt.keys), args...)
		for _, limit := range []string{"30s", "5m0s"} {
			if stdout != "" || !strings.HasPrefix(tt.says, "timeout after ") {
				break
			}
			// On a host so busy that the machine had not begun by then it is given more time.
			code, stdout, stderr = zf(nil, append(args[:len(args)-1:len(args)-1], "-timeout", limit, elf)...)
			tt.says = "timeout after " + limit + " at rip 0x2"
		}
		if code != tt.want || !strings.Contains(stderr, tt.says) {
			t.Errorf("zf %q with key %q = %d, %q; want %d with %q", args, tt.keys, code, stderr, tt.want, tt.says)
		}
		if tt.want != 3 && stdout != "M\n" {
			t.Errorf("zf %q: standard output %q; want %q", args, stdout, "M\n")
		}
		most := 3
		if strings.Contains(stderr, "zf run: in QEMU's own words: ") {
			most++
		}
		for line := range strings.Lines(stderr) {
			if strings.HasPrefix(line, "zf run: triple fault") && len(line) > 81 {
				t.Errorf("zf %q: %d columns: %s", args, len(line)-1, line)
			}
		}
		if n := strings.Count(stderr, "zf run: "); n > most {
			t.Errorf("zf %q: %d lines on standard error; want the accelerator, what it boots, one for the end and QEMU's: %s", args, n, stderr)
		}
	}
}

// TestRunQEMUMessages: what QEMU was asked to say is shown.
func TestRunQEMUMessages(t *testing.T) {
	code, _, stderr := zf(strings.NewReader("r"), "run", "-qemu", "-d", "-qemu", "int", guest(t))
	if code != exitMachine || !strings.Contains(stderr, "v=08") { // the double fault
		t.Errorf("zf run -qemu -d -qemu int = %d, %q; want 3 and QEMU's log", code, stderr)
	}
}

func TestRunArguments(t *testing.T) {
	code, _, stderr := zf(strings.NewReader("e"), "run", "-v", "-append", "x=1", guest(t), "--", "-v", "two words", "")
	if want := ", with x=1 -- -v \"two words\" \"\"\n"; code != 0 || !strings.Contains(stderr, want) {
		t.Errorf("zf run with arguments = %d, %q; want %s in it", code, stderr, want)
	}
	for _, tt := range []struct {
		line string
		args []string
		want string
	}{
		{"", nil, ""},
		{"a", nil, "a"},
		{"", []string{"b"}, "-- b"},
		{"a", []string{"b", "c=d"}, "a -- b c=d"},
		{"", []string{`q"b\s`, "'"}, `-- "q\"b\\s" "'"`},
		{"a -- b", []string{"c", "--"}, "a -- b c --"},
		{`env.X="a \" -- b"`, []string{"c"}, `env.X="a \" -- b" -- c`},
	} {
		if got := kernelCommandLine(tt.line, tt.args); got != tt.want {
			t.Errorf("kernelCommandLine(%q, %q) = %s; want %s", tt.line, tt.args, got, tt.want)
		}
	}
}

func TestRunUsage(t *testing.T) {
	linked := filepath.Join(t.TempDir(), "linked.elf")
	file, err := os.ReadFile(guest(t))
	if err != nil {
		t.Fatal(err)
	}
	// Without the two headers it is what the linker wrote.
	at := bytes.Index(file, []byte{0x02, 0xb0, 0xad, 0x1b})
	clear(file[at : at+4])
	xen := bytes.Index(file, []byte("Xen\x00"))
	clear(file[xen : xen+4])
	if err := os.WriteFile(linked, file, 0o644); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.elf")
	if err := os.WriteFile(text, []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(guest(t), link); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{nil, "want a main package or an image"},
		{[]string{"-nosuch", "x"}, "-nosuch"},
		{[]string{"-m", "lots", "x"}, "want a size in MiB"},
		{[]string{"-timeout", "-1s", "x"}, "negative"},
		{[]string{guest(t), "-m", "4"}, "flags go before it"},
		{[]string{"-m", "2", guest(t)}, "too small RAM size"},
		{[]string{"-m", "2", guest(t)}, "give it -m "},
		{[]string{linked}, "make an image with `zf build`"},
		{[]string{text}, "not an amd64 ELF64 file"},
		{[]string{"./nosuch"}, "package not found"},
		{[]string{"../machine/image"}, "not a main package"},
		{[]string{"-initrd", "nosuch", guest(t)}, "-initrd: open nosuch"},
		{[]string{"-initrd", text, guest(t)}, "not a cpio archive"},
		{[]string{"-files", "nosuch", guest(t)}, "-files: stat nosuch"},
		{[]string{"-files", "", guest(t)}, "want a folder"},
		{[]string{"-m", "4", "-files", guest(t), guest(t)}, "KiB of files ends at"},
		{[]string{"-json", "no/such/folder/x", guest(t)}, "no/such/folder/x"},
		{[]string{"-json", guest(t), guest(t)}, "would overwrite"},
		{[]string{"-json", link, guest(t)}, "would overwrite"},
		{[]string{"-net", "rtl8139", "."}, "virtio-mmio, e1000, e1000e"},
		{[]string{"-loaders", "grub", "."}, "use multiboot, pvh"},
	} {
		code, _, stderr := zf(nil, append([]string{"run", "-timeout", "10m"}, tt.args...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.says) {
			t.Errorf("zf run %q = %d, %q; want 2 with %q", tt.args, code, stderr, tt.says)
		}
	}
}

func TestRunWithoutQEMU(t *testing.T) {
	elf := guest(t)
	t.Setenv("ZF_QEMU", "")
	t.Setenv("PATH", t.TempDir())
	if code, _, stderr := zf(nil, "run", elf); code != exitMachine || !strings.Contains(stderr, "QEMU not found") {
		t.Errorf("zf run without QEMU = %d, %q; want 3 and the cause", code, stderr)
	}
	t.Setenv("ZF_QEMU", "/no/such/qemu")
	if code, _, stderr := zf(nil, "run", elf); code != exitMachine || !strings.Contains(stderr, "/no/such/qemu") {
		t.Errorf("zf run with a wrong ZF_QEMU = %d, %q; want 3 and the cause", code, stderr)
	}
	t.Setenv("ZF_QEMU", "/bin/true")
	if code, _, stderr := zf(nil, "run", elf); code != exitMachine {
		t.Errorf("zf run with a QEMU that exits at once = %d, %q; want 3", code, stderr)
	}
}

func TestRunJSON(t *testing.T) {
	code, stdout, stderr := zf(strings.NewReader("e"), "run", "-v", "-json", "-", guest(t))
	if code != 0 || stdout != "" || !strings.Contains(stderr, "M\n") {
		t.Errorf("zf run -json - = %d, %q, %q; want serial output on standard error alone", code, stdout, stderr)
	}
	file := filepath.Join(t.TempDir(), "traces.json")
	code, stdout, _ = zf(strings.NewReader("e"), "run", "-v", "-json", file, guest(t))
	if b, err := os.ReadFile(file); code != 0 || stdout != "M\n" || err != nil || len(b) != 0 {
		t.Errorf("zf run -json FILE = %d, %q, file %q, %v; want an empty file", code, stdout, b, err)
	}
}

// full is a disk that is full after one write.
type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n++; f.n > 1 {
		return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	}
	return len(p), nil
}

// TestRecorder: an error neither stops the text nor is forgotten.
func TestRecorder(t *testing.T) {
	w := &full{}
	r := &recorder{w: w, name: "x"}
	for range 3 {
		if n, err := r.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("Write = %d, %v; want 3, nil", n, err)
		}
	}
	if err := r.close(); err != syscall.ENOSPC || w.n != 2 {
		t.Errorf("close() = %v after %d writes; want %v after 2", err, w.n, syscall.ENOSPC)
	}
	if err := (&recorder{}).close(); err != nil {
		t.Errorf("close() without a file = %v; want nil", err)
	}
}

func TestSummary(t *testing.T) {
	frames := func(n int, c ...lookup.Call) []wire.Frame {
		f := make([]wire.Frame, n)
		f[0] = wire.Frame{Address: 0x287c06, Calls: c}
		return f
	}
	call := lookup.Call{Function: "main.nilWriteC", File: "/src/kernel/faults.go", Line: 57}
	far := lookup.Call{Function: "github.com/zeroframe/zeroframe/arch/amd64.TripleFault", File: "/src/arch/instr.go", Line: 5}
	for _, tt := range []struct {
		t    wire.Trace
		want string
	}{
		{wire.Trace{Reason: "nil pointer dereference", Frames: frames(7, call), End: "zero"},
			"zf run: nil pointer dereference\nzf run: in main.nilWriteC at kernel/faults.go:57 (7 frames, complete)\n"},
		{wire.Trace{Reason: "\x1b[2Jx\xff", Frames: frames(1, far), End: "unreadable"},
			`zf run: \x1b[2Jx\xff` + "\nzf run: in amd64.TripleFault at arch/instr.go:5 (1 frame, walk ended: unreadable)\n"},
		{wire.Trace{Kind: "fault", Frames: frames(2), Damaged: true, Damage: "its CRC is wrong"},
			"zf run: fault trace without a reason\nzf run: at 0x287c06 (2 frames, the trace is damaged: its CRC is wrong)\n"},
		{wire.Trace{Reason: strings.Repeat("é", 100), Damaged: true, Cut: true},
			"zf run: " + strings.Repeat("é", 69) + "...\nzf run: no frames (the trace was cut)\n"},
	} {
		if got := summary("zf run", &tt.t, "/src"); got != tt.want {
			t.Errorf("summary(%q) = %q; want %q", tt.t.Reason, got, tt.want)
		}
	}
	const want = "zf run: trace without a reason\nzf run: in main.nilWriteC at /src/kernel/faults.go:57 (1 frame, complete)\n"
	if got := summary("zf run", &wire.Trace{Frames: frames(1, call), End: "zero"}, ""); got != want {
		t.Errorf("summary without a folder = %q; want %q", got, want)
	}
}

// TestRunQuitBuild: ^\ while it builds is an interrupt, not the end of the process.
func TestRunQuitBuild(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\nkill -QUIT $PPID\nexec sleep 30\n" // a go command that takes long
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	if code, _, stderr := zf(nil, "run", "."); code != exitUsage || !strings.Contains(stderr, "interrupted") {
		t.Errorf("zf run after SIGQUIT in the build = %d, %q; want 2 and interrupted", code, stderr)
	}
}

// TestRunSignals: the signals that a terminal would send reach the right one.
func TestRunSignals(t *testing.T) {
	for _, tt := range []struct {
		sig  syscall.Signal
		says string
		code int
	}{
		{syscall.SIGINT, "zf run: interrupted\n", exitInterrupt},
		{syscall.SIGTERM, "zf run: interrupted\n", exitSignal + int(syscall.SIGTERM)},
		// An NMI, for which the guest has no handler.
		{syscall.SIGQUIT, "triple fault or reset", exitMachine},
	} {
		var out, msg buffer
		done := make(chan int)
		go func() { done <- dispatch([]string{"run", "-v", "-timeout", "10m", guest(t)}, nil, &out, &msg) }()
		out.until(t, "M\n")
		if err := syscall.Kill(os.Getpid(), tt.sig); err != nil {
			t.Fatal(err)
		}
		if code := <-done; code != tt.code || !strings.Contains(msg.String(), tt.says) {
			t.Errorf("zf run after %v = %d, %q; want %d with %q", tt.sig, code, msg.String(), tt.code, tt.says)
		}
	}
}

// TestRunTerminal: keys go to the guest one by one, ^C too, but for a second one;
// line ends are right, and the terminal is given back.
func TestRunTerminal(t *testing.T) {
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	before, err := term.GetState(int(slave.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	var screen buffer
	go io.Copy(&screen, master)
	done := make(chan int)
	go func() { done <- dispatch([]string{"run", "-v", "-timeout", "10m", guest(t)}, slave, slave, slave) }()
	screen.until(t, "M\r\n")
	master.WriteString("x\x1a\x04") // ^Z and ^D are keys like others
	screen.until(t, `x\x1a\x04`)    // as the filter shows them
	master.WriteString("\x03")
	screen.until(t, `x\x1a\x04\x03`)
	master.WriteString("\x03")
	if code := <-done; code != exitInterrupt {
		t.Errorf("zf run after ^C = %d; want 130", code)
	}
	screen.until(t, "zf run: interrupted\r\n")
	if s := screen.String(); strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\n") || strings.Contains(s, "\r\r") {
		t.Errorf("the screen got %q; want each line to end in CR LF", s)
	}
	after, err := term.GetState(int(slave.Fd()))
	if err != nil || *after != *before {
		t.Errorf("the terminal's state = %v, %v; want the one before, %v", after, err, before)
	}
}

func TestMemorySize(t *testing.T) {
	for s, want := range map[string]int{"128": 128, "64M": 64, "64MiB": 64, "1G": 1024, "2gib": 2048, "512m": 512} {
		if got, err := memorySize(s); got != want || err != nil {
			t.Errorf("memorySize(%q) = %d, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"", "0", "-1", "M", "12K", "1.5G", "99999999999"} {
		if got, err := memorySize(s); err == nil {
			t.Errorf("memorySize(%q) = %d; want an error", s, got)
		}
	}
}

// TestRunKernelOptions: what the kernel is told, before the user's own words.
func TestRunKernelOptions(t *testing.T) {
	dir := t.TempDir()
	fake := filepath.Join(dir, "qemu")
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" >" + filepath.Join(dir, "args") + "\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZF_QEMU", fake)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, "arg0=guest console=virtio tty=pipe"},
		{[]string{"-append", "x=1 arg0=other"}, "arg0=guest console=virtio tty=pipe x=1 arg0=other"},
		{[]string{"-append", "tty=raw"}, "arg0=guest console=virtio tty=raw"},
		{[]string{"-console", "com1"}, "arg0=guest tty=pipe"},
		{[]string{"-append", "console=com1"}, "arg0=guest tty=pipe console=com1"},
		{[]string{"-files", dir}, "arg0=guest console=virtio tty=pipe"},
		{[]string{"-core", filepath.Join(dir, "core")}, "arg0=guest console=virtio panic=halt tty=pipe"},
	} {
		zf(nil, append(append([]string{"run"}, tt.args...), guest(t), "--", "-a", "b c")...)
		args, err := os.ReadFile(filepath.Join(dir, "args"))
		if want := "\n-append\n" + tt.want + " -- -a \"b c\"\n"; err != nil || !strings.Contains(string(args), want) {
			t.Errorf("zf run %q starts QEMU with %q, %v; want %q", tt.args, args, err, want)
		}
		if files := len(tt.args) > 0 && tt.args[0] == "-files"; strings.Contains(string(args), "\n-initrd\n") != files {
			t.Errorf("zf run %q starts QEMU with %q; want -initrd: %v", tt.args, args, files)
		}
	}
}

// TestEnding: the death to name is the first one of the last boot.
func TestEnding(t *testing.T) {
	fault := func(seq uint64, reason string) wire.Trace {
		return wire.Trace{Seq: seq, Kind: "fault", Reason: reason}
	}
	asked := wire.Trace{Seq: 1, Kind: "nmi", Reason: "asked for"}
	broken := asked
	broken.Damaged = true
	last := wire.Trace{Kind: "fault", Last: true, Reason: "one line"}
	previous := fault(1, "told")
	previous.Previous = 1
	foreign := wire.Trace{Format: "go", Kind: "go"}
	for _, tt := range []struct {
		name   string
		traces []wire.Trace
		want   string
	}{
		{"nothing", []wire.Trace{asked, foreign, previous}, ""},
		{"the panic path died, too", []wire.Trace{asked, fault(2, "first"), fault(3, "second"), last}, "first"},
		{"one line", []wire.Trace{last, foreign}, "one line"},
		{"another boot", []wire.Trace{fault(1, "first"), fault(2, "second"), fault(1, "again"), fault(2, "second")}, "again"},
		{"another boot that tells", []wire.Trace{fault(1, "first"), previous, asked, fault(2, "again"), last}, "again"},
		{"another boot that lives", []wire.Trace{fault(1, "first"), previous}, ""},
		{"a damaged one", []wire.Trace{broken}, "asked for"},
		{"a damaged one, and a death", []wire.Trace{broken, fault(2, "first"), fault(3, "second")}, "first"},
	} {
		var e ending
		for i := range tt.traces {
			e.take(&tt.traces[i])
		}
		got := ""
		if e.first != nil {
			got = e.first.Reason
		}
		if got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}

// TestWhere: of the traces that an NMI asks for, the one is told that says best where the program
// was.
func TestWhere(t *testing.T) {
	frames := func(function string) []wire.Frame {
		return []wire.Frame{{Calls: []lookup.Call{{Function: function, File: "/src/x.go", Line: 7}}}}
	}
	const zeroframe = "github.com/zeroframe/zeroframe/"
	nmi := &wire.Trace{Kind: "nmi", Reason: "NMI", Frames: frames(zeroframe + "kernel/thread.idle")}
	first := &wire.Trace{Kind: "trace", Reason: "goroutine 1 [sleep]", Goroutine: 1, Frames: frames("main.f")}
	other := &wire.Trace{Kind: "trace", Reason: "goroutine 7 [select]", Goroutine: 7, Frames: frames("main.g")}
	library := &wire.Trace{Kind: "trace", Reason: "goroutine 8 [select]", Goroutine: 8, Frames: []wire.Frame{{Calls: []lookup.Call{{Function: "net/http.f"}}}}}
	runs := &wire.Trace{Kind: "trace", Reason: "stopped", Frames: frames("main.h")}
	locked := &wire.Trace{Kind: "trace", Reason: "stopped", Goroutine: 1, Frames: append(frames(zeroframe+"arch/amd64.WaitForInterrupt"),
		append(frames(zeroframe+"kernel/percpu.(*Record).wait"), frames("main.l")...)...)}
	noCPU := &wire.Trace{Kind: "trace", Reason: "goroutine 9 [running]", Goroutine: 9, Frames: frames("main.k")}
	for _, tt := range []struct {
		traces []*wire.Trace
		want   string
	}{
		{nil, "the program's own place cannot be told"},
		{[]*wire.Trace{nmi, library}, "the program's own place cannot be told"},
		{[]*wire.Trace{nmi, library, other, first}, "in main.f at x.go:7 (goroutine 1 [sleep])"},
		{[]*wire.Trace{nmi, other}, "in main.g at x.go:7 (goroutine 7 [select])"},
		{[]*wire.Trace{nmi, first, runs, other}, "in main.h at x.go:7"},
		{[]*wire.Trace{nmi, first, noCPU}, "in main.k at x.go:7"},
		{[]*wire.Trace{nmi, locked, other}, "in main.l at x.go:7"},
		{[]*wire.Trace{nmi, runs, nmi, first}, "in main.f at x.go:7 (goroutine 1 [sleep])"},
	} {
		var e ending
		for _, tr := range tt.traces {
			e.take(tr)
		}
		if got := e.where("zf run", "/src"); got != "zf run: "+tt.want+"\n" {
			t.Errorf("where() = %q; want %q", got, tt.want)
		}
	}
}
