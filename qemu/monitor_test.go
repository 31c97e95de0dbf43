package qemu

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/await"
)

// The monitor, as a person types at it: in a terminal of tmux, at zf run.

// TestMonitorStuck looks at a program whose runtime is stuck: a goroutine that cannot be
// preempted has the only processor and a lock.
func TestMonitorStuck(t *testing.T) {
	t.Parallel()
	s := inTmux(t, zfCommand(t), "run", "-v", "-q", "-smp", "1", "-timeout", "10m", program(t, "monitor"), "--", "stuck")
	s.until(`(?m)^stuck$`, 1)
	s.key("C-]")
	head := s.until(monitorPrompt, 1)
	if !regexp.MustCompile(`monitor: stopped at \d+\.\d{3} s, `).MatchString(head) {
		t.Errorf("the prompt does not say when the machine was stopped")
	}

	if a := s.ask("help"); !strings.Contains(a, "\n  bt [all]  ") || !strings.Contains(a, "\n  reboot  ") {
		t.Errorf("help says %q", a)
	}
	list := s.ask("goroutines")
	for _, want := range []string{
		`(?m)^[* ] +1 \[running\] main\.turn\+0x[0-9a-f]+ turn_amd64\.s:\d+$`,
		`(?m)^  +\d+ \[sync\.Mutex\.Lock.*\] main\.waiter\+0x[0-9a-f]+ `,
	} {
		if !regexp.MustCompile(want).MatchString(list) {
			t.Errorf("goroutines says\n%s\nwithout %s", list, want)
		}
	}
	turning := regexp.MustCompile(`(\d+) \[running\] main\.turn`).FindStringSubmatch(list)
	if turning == nil {
		t.FailNow()
	}
	// zf resolves the trace: file and line with their folder.
	trace := s.ask("goroutine " + turning[1])
	for _, want := range []string{`main\.turn`, `testdata/monitor/turn_amd64\.s:\d+`, `main\.holder\+0x`, `testdata/monitor/main\.go:\d+`, `zf1 stop .*\(complete\)`} {
		if !regexp.MustCompile(want).MatchString(trace) {
			t.Errorf("the trace of goroutine %s lacks %s", turning[1], want)
		}
	}
	waiting := regexp.MustCompile(`(\d+) \[sync\.Mutex\.Lock`).FindStringSubmatch(list)
	if trace := s.ask("goroutine " + waiting[1]); !strings.Contains(trace, "main.waiter+0x") {
		t.Error("the trace of the goroutine that waits does not show where")
	}
	if a := s.ask("goroutine 99999"); !strings.Contains(a, "no such goroutine") {
		t.Errorf("an unknown goroutine: %q", a)
	}

	// What was interrupted, in three ways.
	trace = s.ask("bt")
	m := regexp.MustCompile(`#0 pc 0x([0-9a-f]+) sp 0x([0-9a-f]+)`).FindStringSubmatch(trace)
	if m == nil || !strings.Contains(trace, "zf1 reason monitor") {
		t.Fatalf("bt says\n%s", trace)
	}
	regs := s.ask("regs")
	for name, digits := range map[string]string{"rip": m[1], "rsp": m[2]} {
		v, _ := strconv.ParseUint(digits, 16, 64)
		if want := fmt.Sprintf("%s %016x", name, v); !strings.Contains(regs, want) {
			t.Errorf("regs says\n%s\nthe trace has %s", regs, want)
		}
	}
	words := regexp.MustCompile(`zf1 mem 0x` + m[2] + `: ([0-9a-f]+) ([0-9a-f]+) ([0-9a-f]+)`).FindStringSubmatch(trace)
	memory := regexp.MustCompile(`0x([0-9a-f]{16})\b[^:]`).FindAllStringSubmatch(s.ask("x/3gx rsp")+"\n", -1)
	if words == nil || len(memory) != 3 {
		t.Fatalf("x/3gx rsp shows %q; the trace %q", memory, words)
	}
	for i := range memory {
		a, _ := strconv.ParseUint(memory[i][1], 16, 64)
		b, _ := strconv.ParseUint(words[i+1], 16, 64)
		if a != b {
			t.Errorf("word %d at rsp: x shows %#x, the trace %#x", i, a, b)
		}
	}

	if a := s.ask("x 0x10"); !strings.Contains(a, "cannot be read: nothing is mapped at 0x10") {
		t.Errorf("x 0x10: %q", a)
	}
	if a := s.ask("x 0x1000000000000000"); !strings.Contains(a, "cannot be read") {
		t.Errorf("x of an address that is none: %q", a)
	}
	if a := s.ask("x/2xb main.turn"); !regexp.MustCompile(`0x0000000000[0-9a-f]{6}: 0xb8 0x01`).MatchString(a) { // MOVL $1, AX
		t.Errorf("x/2xb main.turn: %q", a)
	}
	if a := s.ask("sym main.holder"); !regexp.MustCompile(`^0x[0-9a-f]+ to 0x[0-9a-f]+ main\.holder$`).MatchString(strings.TrimSpace(a)) {
		t.Errorf("sym main.holder: %q", a)
	}
	if a := s.ask("sym main.turn+2"); !strings.HasPrefix(a, "main.turn+0x2 turn_amd64.s:") {
		t.Errorf("sym main.turn+2: %q", a)
	}
	// The key may have come while another thread ran, such as the runtime's sysmon.
	at := s.ask("sym 0x" + m[1])
	if a := s.ask("sym rip"); a != at || strings.Contains(list, "\n* ") && !strings.HasPrefix(a, "main.turn+0x") {
		t.Errorf("sym rip: %q; sym of the trace's first pc: %q", a, at)
	}
	if a := s.ask("threads"); !regexp.MustCompile(`(?m)^\* +\d+ +\d+\.\d{3} s  running: `).MatchString(a) || strings.Count(a, "\n") < 2 {
		t.Errorf("threads says\n%s", a)
	}
	if a := s.ask("thread 1"); !regexp.MustCompile(`thread=1 .*\n(.*\n)*zf1 reason thread 1: `).MatchString(a) {
		t.Errorf("thread 1 says\n%s", a)
	}
	stacks := s.ask("stacks")
	for _, name := range []string{"boot", "pf", "exc", "irq", "df", "nmi", "mc", "debug", "panic", "nested", "kernel"} {
		if !regexp.MustCompile(`(?m)^` + name + ` +\d+ +\d+ +\d+  [#.]{32}`).MatchString(stacks) {
			t.Errorf("stacks says\n%s\nwithout %s", stacks, name)
		}
	}

	// The line: corrected, dropped, brought back.
	s.run("send-keys", "-l", "xxrew")
	s.key("BSpace", "BSpace", "C-u")
	if a := s.ask("sym main.holder"); !strings.Contains(a, "main.holder") {
		t.Errorf("after ^U: %q", a)
	}
	s.key("Up", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace", "BSpace")
	if a := s.ask("turn"); !strings.Contains(a, "main.turn") {
		t.Errorf("after the upward arrow: %q", a)
	}
	s.run("send-keys", "-l", "reboo")
	s.key("C-c")
	s.until(`(?m)^monitor> reboo\^C\n+monitor>$`, 1)
	if a := s.ask("bogus"); !strings.Contains(a, "bogus: no such command") {
		t.Errorf("an unknown command: %q", a)
	}

	// The machine goes on, and is stopped again.
	n := strings.Count(s.text(), "monitor: stopped at")
	s.typed("continue")
	s.key("C-]")
	s.until(`monitor: stopped at`, n+1)
	s.until(monitorPrompt+`$`, 1)
	s.typed("crash panic")
	text := s.until(`STATUS \d+`, 1)
	if !strings.Contains(text, "reason crash panic was typed at the monitor") || !strings.Contains(text, "STATUS 1") {
		t.Error("crash panic did not end in a trace, with status 1")
	}
}

// monitored starts testdata/monitor, and returns what types at it and the screen.
func monitored(t *testing.T, options, mode string) (keys io.Writer, out *log, vm *VM) {
	t.Helper()
	return startTyped(t, Config{Kernel: program(t, "monitor"), Append: options + " -- " + mode})
}

// TestMonitorClock: while the monitor is open the clock stands still, but that of the
// day, and the watchdog does not bark.
func TestMonitorClock(t *testing.T) {
	t.Parallel()
	const open = 4 * time.Second
	begin := time.Now()
	keys, out, vm := monitored(t, "watchdog=3 profile=on", "clock")
	out.For(t, "sleeping\r\n")
	for idle := false; !idle; {
		waitIdle(t, vm)
		io.WriteString(keys, "\x1d")
		out.For(t, "monitor> ")
		if idle = strings.Contains(out.String(), "s, idle: all threads wait"); !idle { // the runtime has looked after itself just then
			io.WriteString(keys, "continue\r")
		}
	}
	io.WriteString(keys, "threads\r")
	out.For(t, "thread     CPU  does")
	io.WriteString(keys, "thread 1\r")
	out.For(t, "zf1 done")
	opened := rtc(t, vm)
	await.Poll(t, "the machine's clock goes on", func() bool { return rtc(t, vm).Sub(opened) >= open+time.Second }) // it counts whole ones
	io.WriteString(keys, "profile\rcontinue\r")
	res, err := vm.Wait()
	without := time.Since(begin) - open // what the program may have had, at most
	m := regexp.MustCompile(`slept (\d+) ms, wall (\d+) ms`).FindStringSubmatch(out.String())
	if err != nil || res.Outcome != Exited || m == nil {
		t.Fatalf("the machine: %v, %v; want the program's end", res.Outcome, err)
	}
	slept, _ := strconv.Atoi(m[1])
	wall, _ := strconv.Atoi(m[2])
	if slept < 1500 || slept > int(without.Milliseconds()) {
		t.Errorf("a sleep of 1500 ms took %d with the monitor open for %v, and all without that %v", slept, open, without)
	}
	// The running time that is profiled goes on, too, not the time in the monitor.
	m = regexp.MustCompile(`taken, over (\d+\.\d+) s`).FindStringSubmatch(out.String())
	if m == nil {
		t.Fatal("the profiler does not say over what time")
	}
	if over, _ := strconv.ParseFloat(m[1], 64); over > without.Seconds() {
		t.Errorf("the profiler says %v; want less than %v", over, without)
	}
	if wall < 1500+int(open.Milliseconds())-10 {
		t.Errorf("by the time of day it took %d ms; want the monitor's %v in it", wall, open)
	}
}

// rtc is the time of day of the machine's clock.
func rtc(t *testing.T, vm *VM) time.Time {
	t.Helper()
	raw, err := vm.QMP("qom-get", map[string]string{"path": "/machine", "property": "rtc-time"})
	var tm struct {
		Year  int `json:"tm_year"`
		Month int `json:"tm_mon"`
		Day   int `json:"tm_mday"`
		Hour  int `json:"tm_hour"`
		Min   int `json:"tm_min"`
		Sec   int `json:"tm_sec"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &tm)
	}
	if err != nil {
		t.Fatalf("the machine's clock: %v", err)
	}
	return time.Date(1900+tm.Year, time.Month(1+tm.Month), tm.Day, tm.Hour, tm.Min, tm.Sec, 0, time.UTC)
}

// TestMonitorKey: to whom ^] goes.
func TestMonitorKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, options string
		keys          []string // each is typed when the one before has been answered
		want          []string
	}{
		{"at the empty prompt it is the program's", "", []string{"a", "\x1d", "\x1d", "b\r"}, []string{"a", "monitor> ", "^]", `got "a\x1db\n"`}},
		{"behind it nothing is lost", "", []string{"ab", "\x1dhelp bt\rcontinue\rcd\r"}, []string{"ab", `got "abcd\n"`}},
		{"monitor=off", "monitor=off", []string{"\x1d\r"}, []string{`got "\x1d\n"`}},
		{"a pipe's bytes are the program's", "tty=pipe", []string{"a\x1db\n"}, []string{`got "a\x1db\n"`}},
		{"a pipe's escape", "tty=pipe", []string{"a\x10\x1d", "continue\r", "b\n"}, []string{"monitor> ", "continue", `got "ab\n"`}},
		{"raw", "tty=raw", []string{"a\x1db\n"}, []string{`got "a\x1db\n"`}},
		{"raw, monitor=on", "tty=raw monitor=on", []string{"a\x1d", "\x04", "b\n"}, []string{"monitor> ", "", `got "ab\n"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			keys, out, vm := monitored(t, tt.options, "echo")
			out.For(t, "ready")
			for i, k := range tt.keys {
				io.WriteString(keys, k)
				out.For(t, tt.want[i])
			}
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
				t.Errorf("the machine: %v, %v", res.Outcome, err)
			}
		})
	}
}

// TestMonitorElsewhere: before the program, and after a death.
func TestMonitorElsewhere(t *testing.T) {
	t.Parallel()
	keys, out, vm := monitored(t, "monitor panic=monitor", "echo")
	out.For(t, "monitor> ")
	if s := out.String(); !strings.Contains(s, "monitor: the program has not started") || strings.Contains(s, "ready") {
		t.Error("the monitor did not open before the program")
	}
	io.WriteString(keys, "bt\r")
	out.For(t, "zf1 done")
	io.WriteString(keys, "goroutines\r")
	out.For(t, "there are none before the program starts")
	io.WriteString(keys, "continue\r")
	out.For(t, "ready\r\n")
	io.WriteString(keys, "\x1d")
	out.For(t, "monitor: stopped at")
	io.WriteString(keys, "crash nil\r")
	out.For(t, "monitor: the kernel has died")
	io.WriteString(keys, "goroutines\r")
	out.For(t, "] main.main+0x")
	io.WriteString(keys, "continue\r")
	res, err := vm.Wait()
	if err != nil || res.Outcome != Traced {
		t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
	}
	if !strings.Contains(out.String(), "nil pointer dereference, read of 0x8") {
		t.Error("there is no trace of the nil pointer")
	}
}

// TestMonitorCrashes: each kind kills as it says.
func TestMonitorCrashes(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"gp": "general protection fault", "divide": "integer divide by zero", "bounds": "index out of range",
		"overflow": "stack overflow", "quit": "SIGQUIT",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			keys, out, vm := monitored(t, "", "echo")
			out.For(t, "ready\r\n")
			io.WriteString(keys, "\x1d")
			out.For(t, "monitor> ")
			io.WriteString(keys, "crash "+kind+"\rcontinue\r")
			if res, err := vm.Wait(); err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("no trace says %q", want)
			}
		})
	}
}

// TestMonitorRecords: what is recorded is told and sent at the prompt.
func TestMonitorRecords(t *testing.T) {
	t.Parallel()
	keys, out, vm := monitored(t, "profile=on record=fds", "echo")
	out.For(t, "ready\r\n")
	io.WriteString(keys, "\x1d")
	out.For(t, "monitor> ")
	for _, q := range []struct{ command, want string }{
		{"profile", "samples are taken, over "},
		{"profile off", "no samples are taken now; they were over "},
		{"profile dump", "sent\r\n"},
		{"profile sideways", "want on, off or dump"},
		{"probe", "nothing is probed"},
		{"handles", "kind "},
		{"handles fd", " since "},
		{"handles send", "monitor> "},
	} {
		before := len(out.String())
		io.WriteString(keys, q.command+"\r")
		out.Until(t, func(sent string) bool {
			return strings.HasSuffix(sent, "monitor> ") && strings.Contains(sent[before:], q.want)
		}, "%q as the answer to %q", q.want, q.command)
	}
	r := read([]byte(out.String()), nil)
	if len(r.records) != 2 || len(r.damages) != 0 {
		t.Errorf("%d records and %q; want the profile and the snapshot", len(r.records), r.damages)
	}
	io.WriteString(keys, "continue\rx\r")
	if res, err := vm.Wait(); err != nil || res.Outcome != Exited {
		t.Errorf("the machine: %v, %v", res.Outcome, err)
	}
}

// TestMonitorReboot: the machine boots again, wherever its input comes.
func TestMonitorReboot(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, option string
		port         bool
	}{{"com1", "", false}, {"virtio", "console=virtio ", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, w := io.Pipe()
			out := new(log)
			vm, err := Start(t.Context(), Config{Kernel: program(t, "monitor"), Timeout: limit, Append: tt.option + "report=off -- echo", Port: tt.port, Stdin: r, Stdout: out, Reboots: 1})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { w.Close(); vm.Kill(); vm.Wait() })
			out.For(t, "ready")
			if tt.port {
				inputByPort(t, vm)
			}
			io.WriteString(w, "\x1dreboot\r")
			out.For(t, "reboot\r\nzeroframe ")
			out.Times(t, "ready", 2)
			io.WriteString(w, "\x1dcontinue\rx\r") // together: the monitor leaves the last two alone
			if res, err := vm.Wait(); err != nil || res.Outcome != Exited || !strings.Contains(out.String(), `got "x\n"`) {
				t.Errorf("the machine: %v, %v; serial port:\n%s", res.Outcome, err, out)
			}
		})
	}
}

// inputByPort cuts the way to the machine's serial port: what is typed then comes by the virtio
// console or not at all.
func inputByPort(t *testing.T, vm *VM) {
	t.Helper()
	if err := vm.streams.serial.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
}
