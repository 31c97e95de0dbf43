package qemu

// The serial port as a program's standard input and output: nothing is lost or changed
// on its way, reading takes no thread, and the line discipline is a terminal's.

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/creack/pty"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// A session is a running program and who sits at its terminal.
type session struct {
	keys   io.Writer
	screen *log
	wait   func() error
}

// startTyped starts a machine, and returns what types at it and the screen.
func startTyped(t *testing.T, cfg Config) (keys io.WriteCloser, screen *log, vm *VM) {
	t.Helper()
	r, w := io.Pipe()
	screen = new(log)
	cfg.Timeout, cfg.Stdin, cfg.Stdout = limit, r, screen
	vm, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	watched(t, vm, screen)
	return w, screen, vm
}

// boots starts testdata/streams on the machine.
func boots(t *testing.T, options string, args ...string) (*session, *VM) {
	t.Helper()
	keys, screen, vm := startTyped(t, Config{Kernel: program(t, "streams"), Append: options + " -- " + strings.Join(args, " ")})
	wait := func() error {
		res, err := vm.Wait()
		if err == nil && (res.Outcome != Exited || res.Program != 0) {
			err = fmt.Errorf("%v, status %d; want status 0", res.Outcome, res.Program)
		}
		return err
	}
	return &session{keys, screen, wait}, vm
}

// TestParkedReads: a read that waits is a goroutine that waits, not a thread, on pipes
// and on the terminal, and others run meanwhile.
func TestParkedReads(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cooked", "raw", "pipe"} {
		s, _ := boots(t, "tty="+mode, "park")
		counted := regexp.MustCompile(`counted to 20 with (\d+) more threads`)
		s.screen.For(t, " more threads")
		io.WriteString(s.keys, "hello\n")
		if err := s.wait(); err != nil {
			t.Fatalf("tty=%s: %v", mode, err)
		}
		read := regexp.MustCompile(`read "hello\\n" with (\d+) more threads`)
		for _, m := range []*regexp.Regexp{counted, read} {
			f := m.FindStringSubmatch(s.screen.String())
			if f == nil {
				t.Fatalf("tty=%s: the program did not say %q", mode, m)
			}
			if n, _ := strconv.Atoi(f[1]); n > 8 {
				t.Errorf("tty=%s: 201 blocked reads and a sleeper have made %d threads; want few", mode, n)
			}
		}
	}
}

// TestLineDiscipline types at the program, here and on a terminal of the host. What the
// screen shows must be the same.
func TestLineDiscipline(t *testing.T) {
	t.Parallel()
	steps := []struct{ keys, until string }{
		{"hello\r", `read "hello\n"`},
		{"line feed\n", `read "line feed\n"`},
		{"\r", `read "\n"`},
		{"abx\x7fc\r", `read "abc\n"`},
		{"\x7f\x7fab\x7f\x7f\x7fc\r", `read "c\n"`},
		{"unwanted\x15wanted\r", `read "wanted\n"`},
		{"\x15\r", `read "\n"`},
		{"two words  \x17three\r", `read "two three\n"`},
		{"aü€\x7fx\r", `read "aüx\n"`},
		{"tab\there\x7f\x7f\x7f\x7f\x7fx\r", `read "tabx\n"`},
		{"\x01\x02\x1b[A\x7f\r", `read "\x01\x02\x1b[\n"`},
		{"part\x04", `read "part"`},
		{"more\x04\x04", "end of file"},
		{"\x04", "end of file"},
		{"after it\r", `read "after it\n"`},
		{"dropped", "dropped"},
		{"\x03", "^Csignal: interrupt"},
		{"kept\r", `read "kept\n"`},
		{"\x03", "^Csignal: interrupt"},
		{strings.Repeat("long", 1000) + "\r", "read 4001 bytes"},
		{strings.Repeat("x", 300) + "\x15short\r", `read "short\n"`},
		{"exit\r", "read \"exit\\n\"\r\n"},
	}
	play := func(s *session) string {
		s.screen.For(t, "ready\r\n")
		for _, st := range steps {
			from := len(s.screen.String())
			io.WriteString(s.keys, st.keys)
			// What the program says comes in pieces, and ends its line.
			s.screen.Until(t, func(shown string) bool {
				shown = shown[from:]
				return strings.Contains(shown, st.until) && (st.until == st.keys || strings.HasSuffix(shown, "\n"))
			}, "%q with %.100q typed", st.until, st.keys)
		}
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(s.screen.String(), "ready\r\n")
		return shown
	}

	cmd := exec.Command(program(t, "streams"), "keys")
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	inUTF8(t, slave)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	screen, ended := new(log), make(chan struct{})
	go func() { io.Copy(screen, master); screen.End(); close(ended) }()
	want := play(&session{master, screen, func() error { err := cmd.Wait(); <-ended; return err }})

	// On Linux, no backspace goes over the edge of a row (TestEditedScreen in kernel/tty).
	s, _ := boots(t, "tty.columns=0", "keys")
	got := play(s)
	for want != "" && got != "" {
		w, wrest, _ := strings.Cut(want, "\n")
		g, grest, _ := strings.Cut(got, "\n")
		if w != g {
			t.Errorf("the screen shows %.300q; want %.300q", g, w)
		}
		want, got = wrest, grest
	}
	if want != got {
		t.Errorf("the screen shows %q at the end; want %q", got, want)
	}
}

// inUTF8 tells a terminal that characters may be several bytes, as terminal programs do.
func inUTF8(t *testing.T, terminal *os.File) {
	t.Helper()
	var set syscall.Termios
	for _, op := range []uintptr{syscall.TCGETS, syscall.TCSETS} {
		if _, _, e := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), op, uintptr(unsafe.Pointer(&set))); e != 0 {
			t.Fatal(e)
		}
		set.Iflag |= syscall.IUTF8
	}
}

// TestInterrupt: ^C and ^\ end a program that does not ask for them, with a trace that
// says why, whatever it does: wait for a key or for time. That of ^C is of the program, not of
// the runtime's handler, and short: nothing is broken.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	_, file, err := programSymbols(t, "streams")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ mode, key, want string }{
		{"wait", "\x03", "ended by signal 2, SIGINT"},
		{"hash 0", "\x03", "ended by signal 2, SIGINT"},
		{"keys", "\x1c", "SIGQUIT: quit"},
	} {
		s, vm := boots(t, "", tt.mode)
		s.screen.For(t, "ready\r\n")
		io.WriteString(s.keys, tt.key)
		res, err := vm.Wait()
		if err != nil || res.Outcome != Traced {
			t.Errorf("%s: %q: %v, %v; want a trace", tt.mode, tt.key, res.Outcome, err)
			continue
		}
		all := traces(t, file, s.screen.String())
		if len(all) != 1 || all[0].Kind != "panic" || !strings.Contains(all[0].Reason, tt.want) {
			t.Errorf("%s: %q: %d traces, the first %+v; want one of %q", tt.mode, tt.key, len(all), all[0], tt.want)
		}
		_, said, _ := strings.Cut(s.screen.String(), "^C")
		if tt.key == "\x03" && (strings.Count(said, "\n") > 22 || strings.Contains(said, "zf1 stack") || !all[0].Complete ||
			strings.Contains(all[0].chain(), "sigtramp") || !strings.HasSuffix(all[0].chain(), "main.main runtime.main runtime.goexit")) {
			t.Errorf("%s: ^C says %s\nwant a few lines of what the program did", tt.mode, said)
		}
	}
}

func programSymbols(t *testing.T, pkg string) (path string, file *symbol.File, err error) {
	path = program(t, pkg)
	file, err = symbol.Open(path)
	return path, file, err
}

// escaped is input for tty=pipe, with its end.
func escaped(b []byte) []byte {
	return append(bytes.ReplaceAll(b, []byte{0x10}, []byte{0x10, 0x10}), 0x10, 0x04)
}

// TestEveryByte: all 256 bytes pass unchanged in both directions in raw mode, and in
// pipe mode but for the escape on their way in.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	all := []byte(allBytes() + allBytes())
	for _, tt := range []struct {
		mode       string
		sent, want []byte
	}{
		{"raw", all, all},
		{"pipe", escaped(all), all},
	} {
		s, _ := boots(t, "tty="+tt.mode, "echo", strconv.Itoa(len(all)))
		s.screen.For(t, "ready")
		go s.keys.Write(tt.sent)
		if err := s.wait(); err != nil {
			t.Fatalf("tty=%s: %v", tt.mode, err)
		}
		_, got, _ := strings.Cut(s.screen.String(), "ready")
		got = strings.TrimLeft(got[:2], "\r\n") + got[2:]
		same := 0
		for same < min(len(got), len(tt.want)) && got[same] == tt.want[same] {
			same++
		}
		if same < max(len(got), len(tt.want)) {
			t.Errorf("tty=%s: %d bytes; want %d; behind the first %d is %.20q; want %.20q",
				tt.mode, len(got), len(tt.want), same, got[same:], tt.want[same:])
		}
	}
}

// TestMuchInput: more comes at once than the kernel keeps, to a reader who is late, and
// none of it is lost.
func TestMuchInput(t *testing.T) {
	t.Parallel()
	const size = 100 << 10
	random := make([]byte, size)
	rnd := rand.NewChaCha8([32]byte{1})
	rnd.Read(random)
	var lines bytes.Buffer
	for i := 0; lines.Len() < size; i++ {
		fmt.Fprintf(&lines, "line %d: %x\n", i, random[i%size:i%size+20])
	}
	for _, tt := range []struct {
		options    string
		sent, want []byte
		count      int // that the program reads; 0: to the end
	}{
		{"tty=raw", random, random, size},
		{"tty=pipe", escaped(random), random, 0},
		{"tty=cooked", append(lines.Bytes()[:lines.Len():lines.Len()], 0x04), lines.Bytes(), 0},
	} {
		for _, machine := range []string{"q35", "microvm", "q35 console=virtio", "microvm console=virtio"} {
			t.Run(machine+"-"+tt.options, func(t *testing.T) {
				t.Parallel()
				machine, console, port := strings.Cut(machine, " ")
				r, w := io.Pipe()
				defer w.Close()
				screen := new(log)
				vm, err := Start(t.Context(), Config{
					Kernel: program(t, "streams"), Machine: machine, Timeout: limit, Stdin: r, Stdout: screen,
					Append: console + " " + tt.options + " -- hash " + strconv.Itoa(tt.count), Port: port,
				})
				if err != nil {
					t.Fatal(err)
				}
				watched(t, vm, screen)
				screen.For(t, "ready")
				if port && machine == "q35" { // microvm's has no interrupt
					inputByPort(t, vm)
				}
				go w.Write(tt.sent)
				res, err := vm.Wait()
				want := fmt.Sprintf("%d bytes, <nil>, %x", len(tt.want), sha256.Sum256(tt.want))
				if err != nil || res.Outcome != Exited || !strings.Contains(screen.String(), want) {
					t.Errorf("%v, %v, the program says %q; want %q", res.Outcome, err, endOf(screen.String(), 150), want)
				}
			})
		}
	}
}

// TestMuchOutput: all that a program has written is seen, however it ends right after.
func TestMuchOutput(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for i := 0; b.Len() < 200<<10; i++ {
		fmt.Fprintln(&b, "line", i)
	}
	text := bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n"))
	want := sha256.Sum256(text)
	for _, tt := range []struct {
		end     string
		outcome Outcome
		status  int
		says    string // behind it
	}{
		{"return", Exited, 0, `^$`},
		{"exit", Exited, 3, `^$`},
		{"syscall", Exited, 4, `^$`},
		{"panic", Traced, 0, `^panic: the end\r\n(?s:.*)zf1 begin 1 panic goroutine (?s:.*)zf1 done `},
		{"goroutine", Traced, 0, `^panic: the end\r\n(?s:.*)zf1 done `},
		{"fault", Traced, 0, `^panic: runtime error: invalid memory address or nil pointer dereference\r\n(?s:.*)zf1 done `},
		{"throw", Traced, 0, `^fatal error: concurrent map writes\r\n(?s:.*)zf1 done `},
		{"deadlock", Traced, 0, `^fatal error: all goroutines are asleep - deadlock!\r\n(?s:.*)zf1 done `},
		{"signal", Traced, 0, `(?s:.*)SIGTERM(?s:.*)zf1 done `},
	} {
		t.Run(tt.end, func(t *testing.T) {
			t.Parallel()
			s, vm := boots(t, "", "write", tt.end)
			res, err := vm.Wait()
			if err != nil || res.Outcome != tt.outcome || res.Program != tt.status {
				t.Errorf("%v, status %d, %v; want %v, %d", res.Outcome, res.Program, err, tt.outcome, tt.status)
			}
			serial := s.screen.String()
			serial = serial[len(bootReport.FindString(serial)):]
			if len(serial) < len(text) || sha256.Sum256([]byte(serial[:len(text)])) != want {
				t.Fatalf("the output of %d bytes is not all there, unchanged: %.100q", len(text), serial)
			}
			if rest := serial[len(text):]; !regexp.MustCompile(tt.says).MatchString(rest) {
				t.Errorf("behind its output is %.300q; want %q", rest, tt.says)
			}
		})
	}
}
