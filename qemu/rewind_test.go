package qemu

// Debuggers that go backwards in a recording: gdb by zf replay -reverse, Delve by zf dlv, as a
// command and for an editor, which speaks DAP (https://microsoft.github.io/debug-adapter-protocol).

import (
	"bufio"
	"bytes"
	hexadecimal "encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// reversed serves a recording backwards, and returns where, what it says after that, and its end.
func reversed(t *testing.T, path string) (address string, said io.Reader, wait func() error) {
	t.Helper()
	replay := exec.Command(zfCommand(t), "replay", "-gdb", "127.0.0.1:0", "-reverse", path)
	out, err := replay.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := replay.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { replay.Process.Kill() })
	r := bufio.NewReader(out)
	line, _ := r.ReadString('\n')
	_, address, ok := strings.Cut(strings.TrimSpace(line), "target remote ")
	if !ok {
		t.Fatalf("zf replay -reverse says %q", line)
	}
	return address, r, replay.Wait
}

// TestReverseHalt: ^C ends a run backwards where the machine is by then, and the session goes on.
func TestReverseHalt(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	address, said, wait := reversed(t, path)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fatalf := func(format string, args ...any) {
		t.Helper()
		conn.Close() // zf ends then, and has said all
		text, _ := io.ReadAll(said)
		t.Fatalf(format+"; zf says %q", append(args, text)...)
	}
	r := bufio.NewReader(conn)
	tell := func(packet, behind string) {
		sum := byte(0)
		for i := range len(packet) {
			sum += packet[i]
		}
		fmt.Fprintf(conn, "$%s#%02x%s", packet, sum, behind)
	}
	hear := func() string {
		if _, err := r.ReadString('$'); err != nil {
			fatalf("hear: %v", err)
		}
		text, err := r.ReadString('#')
		if err != nil {
			fatalf("hear: %v", err)
		}
		return strings.TrimSuffix(text, "#")
	}
	when := func() (n uint64) {
		tell("qRRCmd:"+hexadecimal.EncodeToString([]byte("when")), "")
		text, err := hexadecimal.DecodeString(hear())
		if _, serr := fmt.Sscanf(string(text), "Current instruction: %d", &n); err != nil || serr != nil {
			fatalf("where: %q, %v", text, err)
		}
		return n
	}
	tell("QStartNoAckMode", "")
	hear()
	begin := when()
	tell("c", "")
	if got := hear(); !strings.Contains(got, "replaylog:end") {
		fatalf("forwards it comes to %s", got)
	}
	end := when()
	tell("bc", "")
	if got := hear(); !strings.Contains(got, "replaylog:begin") || when() != begin {
		fatalf("back from the end it comes to %s", got)
	}
	tell("c", "")
	if got := hear(); !strings.Contains(got, "replaylog:end") || when() != end {
		fatalf("forwards again it comes to %s", got)
	}
	tell("bc", "\x03")
	if got := hear(); !strings.HasPrefix(got, "T02") {
		fatalf("^C on the way back: %s", got)
	}
	if n := when(); n < begin || n >= end {
		fatalf("it is at instruction %d, which is not between %d and %d", n, begin, end)
	}
	tell("c", "\x03") // forwards it may be at a stop already
	if got := hear(); !strings.HasPrefix(got, "T0") {
		fatalf("^C on the way: %s", got)
	}
	tell("bc", "")
	if got := hear(); !strings.Contains(got, "replaylog:begin") || when() != begin {
		fatalf("without it, it comes to %s", got)
	}
	busy, err := exec.Command(zfCommand(t), "replay", "-gdb", address, "-reverse", path).CombinedOutput()
	if exitCode(t, err) != 3 || !strings.Contains(string(busy), "another program has that port: take another one, or 127.0.0.1:0") {
		t.Errorf("at the same address: %v, %s", err, busy)
	}
	tell("k", "")
	hear()
	if err := wait(); err != nil {
		t.Errorf("zf replay -reverse: %v", err)
	}
}

// TestReverseEarly: of a machine that dies before its Go runtime begins, it is said that there is
// nothing to look at.
func TestReverseEarly(t *testing.T) {
	t.Parallel()
	elf, _ := lab(t, image.AllLoaders)
	path, _, _ := makeRecording(t, nil, "-q", "-append", "crash=early.nil-write", elf)
	address, said, wait := reversed(t, path)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text, err := io.ReadAll(said)
	if err != nil {
		t.Fatal(err)
	}
	if code := exitCode(t, wait()); code != 3 || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), "does not come to where a debugger begins, the Go runtime's first instruction; zf why") {
		t.Errorf("zf replay -reverse: status %d, %s", code, text)
	}
	out, err := exec.Command(zfCommand(t), "why", "-waits", path).CombinedOutput()
	if exitCode(t, err) != 1 || string(out) != "zf why: nobody waits: there is no goroutine yet: the machine has not come to the Go runtime; without -waits it says what the machine died of\n" {
		t.Errorf("zf why -waits: %v, %s", err, out)
	}
}

// TestReverseGDB: gdb goes back from the death to the last call of a function, one instruction
// further, and to the beginning.
func TestReverseGDB(t *testing.T) {
	t.Parallel()
	address, _, wait := reversed(t, recordObserved(t))
	cmd := []string{"-nx", "-q", "-batch", program(t, "observed")}
	for _, c := range []string{
		"set pagination off", "set confirm off", "set remotetimeout 600", "target remote " + address,
		"break main.die", "continue", "delete", "break main.handle", "reverse-continue",
		`printf "n is %d\n", n`, "set $there = $pc", "reverse-stepi", `printf "before: %d\n", $pc < $there`,
		"delete", "stepi", `printf "again: %d\n", $pc == $there`, "reverse-continue", "continue", "kill",
	} {
		cmd = append(cmd, "-ex", c)
	}
	out, err := exec.Command("gdb", cmd...).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	rest := string(out)
	for _, want := range []string{
		"runtime.rt0_go", "Breakpoint 1, main.die", "Breakpoint 2, main.handle", "n is 2\n", "before: 1\n", "again: 1\n",
		"No more reverse-execution history", "runtime.rt0_go", "No more reverse-execution history",
	} {
		_, behind, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q is not in\n%s\nof\n%s", want, rest, out)
		}
		rest = behind
	}
	if err := wait(); err != nil {
		t.Errorf("zf replay -reverse: %v", err)
	}
}

// TestDelveRecording: Delve as it is takes a recording: breakpoints, steps, goroutines, values.
func TestDelveRecording(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	script := filepath.Join(t.TempDir(), "commands")
	commands := "break main.(*conn).close\ncontinue\nprint closed\nprint c.name\nnext\nprint closed\ngoroutines\nclear 1\nbreak main.die\ncontinue\nprint closed\nexit\n"
	if err := os.WriteFile(script, []byte(commands), 0o600); err != nil {
		t.Fatal(err)
	}
	out := delveOn(t, delve(t), path, "--init="+script, "--allow-non-terminal-interactive=true")
	m := regexp.MustCompile(`(?s)\n0\n"worker ([012])"\n.*\n1([012])\n.*Goroutine 1 - User: .*sync\.runtime_SemacquireWaitGroup.*> \[Breakpoint 2\] main\.die\(\).*\n33\n`).FindStringSubmatch(out)
	if m == nil || m[1] != m[2] {
		t.Errorf("dlv says\n%s\nof it: %q", out, m)
	}
}

// delveOn runs Delve by zf dlv on a recording and returns what it says.
func delveOn(t *testing.T, dlv, path string, flags ...string) string {
	t.Helper()
	args := []string{"dlv"}
	for _, f := range flags {
		args = append(args, "-dlv", f)
	}
	c := exec.Command(zfCommand(t), append(args, path)...)
	c.Env = append(os.Environ(), "ZF_DLV="+dlv, "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("zf dlv: %v\n%s", err, out)
	}
	return escapes.ReplaceAllString(string(out), "")
}

// bold returns the path of a Delve that does not ask whether rr would work on this host.
func bold(t *testing.T) string {
	t.Helper()
	return builds.get(t, "bold delve", "dlv", func(path string) error {
		list := exec.Command("go", "mod", "download", "-json", "github.com/go-delve/delve@"+delveVersion)
		out, err := list.Output()
		if err != nil {
			return err
		}
		var module struct{ Dir string }
		if err := json.Unmarshal(out, &module); err != nil {
			return err
		}
		source := filepath.Join(filepath.Dir(path), "source")
		if err := os.CopyFS(source, os.DirFS(module.Dir)); err != nil {
			return err
		}
		file := filepath.Join(source, "pkg/proc/gdbserial/rr.go")
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		const asked = "/proc/sys/kernel/perf_event_paranoid"
		if !bytes.Contains(b, []byte(`"`+asked+`"`)) {
			return errors.New("this Delve asks in another way")
		}
		if err := errors.Join(os.Chmod(file, 0o600), os.WriteFile(file, bytes.ReplaceAll(b, []byte(asked), []byte("/nothing/there")), 0o600)); err != nil {
			return err
		}
		c := exec.Command("go", "build", "-o", path, "./cmd/dlv")
		c.Dir, c.Env = source, append(testEnv(), "GOFLAGS=-mod=mod", "GOOS=", "GOARCH=")
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go build Delve: %w\n%s", err, out)
		}
		return nil
	})
}

// editor is an editor that speaks DAP.
type editor struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
	seq  int
}

// message is one of DAP's.
type message struct {
	Type, Event, Command, Message string
	RequestSeq                    int `json:"request_seq"`
	Success                       bool
	Body                          json.RawMessage
}

func (e *editor) read() (m message) {
	e.t.Helper()
	size := 0
	for {
		line, err := e.r.ReadString('\n')
		if err != nil {
			e.t.Fatalf("Delve is gone: %v", err)
		}
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		if n, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			size, _ = strconv.Atoi(n)
		}
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(e.r, b); err != nil {
		e.t.Fatal(err)
	}
	if err := json.Unmarshal(b, &m); err != nil {
		e.t.Fatalf("%v: %s", err, b)
	}
	return m
}

func (e *editor) send(command string, arguments any) {
	e.t.Helper()
	e.seq++
	b, err := json.Marshal(map[string]any{"seq": e.seq, "type": "request", "command": command, "arguments": arguments})
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(e.conn, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		e.t.Fatal(err)
	}
}

// event waits for one.
func (e *editor) event(name string) message {
	e.t.Helper()
	for {
		m := e.read()
		if m.Type == "response" && !m.Success {
			e.t.Fatalf("%s: %s %s", m.Command, m.Message, m.Body)
		}
		if m.Event == "terminated" && name != "terminated" {
			e.t.Fatalf("the session has ended before %s", name)
		}
		if m.Event == name {
			return m
		}
	}
}

// ask sends a request and has its answer in body.
func (e *editor) ask(command string, arguments, body any) {
	e.t.Helper()
	e.send(command, arguments)
	for {
		m := e.read()
		if m.Type != "response" || m.RequestSeq != e.seq {
			continue
		}
		if !m.Success {
			e.t.Fatalf("%s: %s %s", command, m.Message, m.Body)
		}
		if body != nil {
			if err := json.Unmarshal(m.Body, body); err != nil {
				e.t.Fatal(err)
			}
		}
		return
	}
}

// breakAt sets the breakpoints.
func (e *editor) breakAt(functions ...string) {
	e.t.Helper()
	all := []map[string]string{}
	for _, f := range functions {
		all = append(all, map[string]string{"name": f})
	}
	e.ask("setFunctionBreakpoints", map[string]any{"breakpoints": all}, nil)
}

// top returns the innermost frame of the goroutine that has stopped.
func (e *editor) top(stop message) (name string, id int) {
	e.t.Helper()
	var at struct{ ThreadID int }
	if err := json.Unmarshal(stop.Body, &at); err != nil {
		e.t.Fatal(err)
	}
	var stack struct {
		StackFrames []struct {
			ID   int
			Name string
		}
	}
	e.ask("stackTrace", map[string]any{"threadId": at.ThreadID, "levels": 1}, &stack)
	if len(stack.StackFrames) == 0 {
		e.t.Fatalf("no frames where %s", stop.Body)
	}
	return stack.StackFrames[0].Name, stack.StackFrames[0].ID
}

// attach has zf dlv wait for an editor at an address, and an editor connect. end waits for zf's end.
func attach(t *testing.T, address, dlv string, args ...string) (e *editor, end func()) {
	t.Helper()
	c := exec.Command(zfCommand(t), append([]string{"dlv"}, args...)...)
	c.Env = append(os.Environ(), "ZF_DLV="+dlv, "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	var said await.Log
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Wait()
		said.End()
		ended <- err
	}()
	t.Cleanup(func() { c.Process.Kill() })
	said.For(t, "listening at")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	e = &editor{t: t, conn: conn, r: bufio.NewReader(conn)}
	e.ask("initialize", map[string]any{"adapterID": "go", "linesStartAt1": true}, nil)
	e.send("attach", map[string]any{"request": "attach", "mode": "remote"})
	e.event("initialized")
	return e, func() {
		t.Helper()
		if err := <-ended; err != nil {
			t.Errorf("zf dlv: %v\n%s", err, &said)
		}
	}
}

// TestReverseEditor: an editor connects to Delve on a recording, and goes back from the death.
func TestReverseEditor(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	address := freePort(t, "tcp4")
	e, end := attach(t, address, bold(t), "-reverse", "-listen", address, path)
	e.breakAt("main.die")
	e.send("configurationDone", nil)
	stop := e.event("stopped")
	if name, _ := e.top(stop); name != "main.die" {
		t.Fatalf("it has stopped in %s: %s", name, stop.Body)
	}
	e.breakAt("main.(*conn).close")
	e.send("reverseContinue", map[string]any{"threadId": 1})
	stop = e.event("stopped")
	name, frame := e.top(stop)
	if !strings.HasSuffix(name, "main.(*conn).close") {
		t.Fatalf("going back it has stopped in %s: %s", name, stop.Body)
	}
	// It is the last worker's.
	var v struct{ Result string }
	e.ask("evaluate", map[string]any{"expression": "closed + c.id", "frameId": frame}, &v)
	if v.Result != "33" {
		t.Errorf("closed + c.id is %q", v.Result)
	}
	e.ask("disconnect", map[string]any{"terminateDebuggee": true}, nil)
	end()
}

// TestDelveRestart: a recording begins anew in Delve behind its end, as often as it is wanted, be we rr
// to it or a debugserver.
func TestDelveRestart(t *testing.T) {
	t.Parallel()
	path := recordObserved(t)
	const exited, again = "Process 0 has exited with status 0\n", "> [Breakpoint 1] main.die()"
	for name, flags := range map[string][]string{"forwards": nil, "rr": {"-reverse"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			askDelve(t, bold(t), "break main.die\ncontinue\nclear unrecovered-panic\ncontinue\nprint 1\nrestart\ncontinue\ncontinue\ncontinue\nrestart\ncontinue\nprint 41+1\nexit\n",
				[]string{again, exited, exited, again, exited, again, "42"}, append(flags, path)...)
		})
	}
}
