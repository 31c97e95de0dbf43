package qemu

// zf run -record, and zf replay: what was recorded is done again, on a busy host, with nobody at
// the other end of the network; a recording that is cut is of use, and a replay of something else
// is found out.

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
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

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/record"
)

// busyHost keeps a processor of this host busy until the test has ended.
func busyHost(t *testing.T) {
	t.Helper()
	busy := exec.Command("/bin/sh", "-c", "while kill -0 $PPID; do :; done") // until the tests have ended, however
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { busy.Process.Kill(); busy.Wait() })
}

// makeRecording runs zf run -record with arguments and input, and returns the recording, what was
// said on the standard output, and the exit status.
func makeRecording(t *testing.T, stdin io.Reader, args ...string) (path, stdout string, status int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run.zfr")
	cmd := exec.Command(zfCommand(t), append([]string{"run", "-v", "-timeout", "10m", "-record", path}, args...)...)
	var out, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if cmd.ProcessState.ExitCode() == 3 {
		t.Fatalf("zf run -record: %v\n%s%s", err, &out, &stderr)
	}
	return path, out.String(), cmd.ProcessState.ExitCode()
}

// replayed replays a recording and returns what zf replay has said.
func replayed(t *testing.T, path string, flags ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(zfCommand(t), append(append([]string{"replay"}, flags...), path)...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), said.String(), cmd.ProcessState.ExitCode()
}

// sameReplays replays a recording n times, which must be what was said when it was made.
func sameReplays(t *testing.T, path, stdout string, n int) {
	t.Helper()
	for i := range n {
		out, stderr, status := replayed(t, path)
		if status != 0 || out != stdout || !strings.Contains(stderr, "zf replay: the same as recorded: ") {
			t.Fatalf("replay %d has status %d and says\n%s\n%s\nrecorded was\n%s", i+1, status, out, stderr, stdout)
		}
	}
}

// recordings are programs with what they are given.
var recordings = []struct {
	name  string
	flags []string
	args  []string
	lines int // of input
	want  string
	code  int
}{
	{"goroutines", nil, []string{"work", "1"}, 0, "work 1 is done", 0},
	{"input", nil, []string{"echo"}, 12, "12 lines", 0},
	{"dies", nil, []string{"die", "2"}, 0, "main.die", 1},
	{"exits", nil, []string{"exit", "7"}, 0, "", 64 + 7},
	{"without sleep", []string{"-icount"}, []string{"work", "3"}, 0, "work 3 is done", 0},
	{"pc", []string{"-machine", "pc"}, []string{"work", "4"}, 0, "work 4 is done", 0},
	{"microvm", []string{"-machine", "microvm"}, []string{"work", "5"}, 0, "work 5 is done", 0},
}

func input(lines int) io.Reader {
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "this is line %d of the input\n", i)
	}
	return strings.NewReader(b.String())
}

// TestReplay: a recording of each kind is replayed three times, the last time on a busy host.
func TestReplay(t *testing.T) {
	t.Parallel()
	elf := program(t, "replayed")
	for _, tt := range recordings {
		t.Run(tt.name, func(t *testing.T) {
			args := append(append(append([]string{"-q"}, tt.flags...), elf, "--"), tt.args...)
			path, stdout, status := makeRecording(t, input(tt.lines), args...)
			if status != tt.code || !strings.Contains(stdout, tt.want) {
				t.Fatalf("the run has status %d, and says\n%s\nwant %d, %q", status, stdout, tt.code, tt.want)
			}
			sameReplays(t, path, stdout, 2)
			busyHost(t)
			sameReplays(t, path, stdout, 1)
		})
	}
}

// TestReplayNetwork: the frames are in the recording: nobody is there when it is replayed.
func TestReplayNetwork(t *testing.T) {
	t.Parallel()
	for _, card := range []string{"e1000", "e1000e"} {
		t.Run(card, func(t *testing.T) {
			var path, stdout string
			t.Run("record", func(t *testing.T) { // its server ends with it
				port := strconv.Itoa(echoServer(t))
				p, out, status := makeRecording(t, nil, "-q", "-net", card, program(t, "nic"), "--", port)
				if status != 0 || !strings.Contains(out, "finished") {
					t.Fatalf("the run has status %d, and says\n%s", status, out)
				}
				b, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				path, stdout = filepath.Join(guestDir, "replay-"+card+".zfr"), out
				if err := os.WriteFile(path, b, 0o600); err != nil {
					t.Fatal(err)
				}
			})
			if path != "" {
				sameReplays(t, path, stdout, 3)
				if out, _, _ := replayed(t, path, "-info"); !regexp.MustCompile(`(?m)^network +` + card + `, \d\d+ frames$`).MatchString(out) {
					t.Errorf("-info says\n%s", out)
				}
			}
		})
	}
}

// TestReplayISO: an ISO image boots by its own loader, from a disc that answers when the log says
// so.
func TestReplayISO(t *testing.T) {
	t.Parallel()
	iso := filepath.Join(t.TempDir(), "r.iso")
	if out, err := exec.Command(zfCommand(t), "iso", "-o", iso, program(t, "replayed"), "--", "work", "1").CombinedOutput(); err != nil {
		t.Fatalf("zf iso: %v\n%s", err, out)
	}
	path, stdout, status := makeRecording(t, nil, "-q", iso)
	if status != 0 || !strings.Contains(stdout, "work 1 is done") {
		t.Fatalf("the run has status %d, and says\n%s", status, stdout)
	}
	sameReplays(t, path, stdout, 1)
}

// TestRecordNoInput: a recorded machine that does not sleep gets no input. The program finds its
// end, and the user is told.
func TestRecordNoInput(t *testing.T) {
	t.Parallel()
	cmd := zfRun(t, "-q", "-icount", "-record", filepath.Join(t.TempDir(), "r.zfr"), program(t, "replayed"), "--", "echo")
	var out, said strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = input(2), &out, &said
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "0 lines") || !strings.Contains(said.String(), "gets no input; leave -icount out") {
		t.Errorf("%v, %q, %q", err, &out, &said)
	}
}

var replays = flag.Int("replays", 12, "how many recordings TestManyReplays makes")

// TestManyReplays: recordings of programs that do something else each time, every second one on
// a busy host.
func TestManyReplays(t *testing.T) {
	t.Parallel()
	elf := program(t, "replayed")
	for i := range *replays {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			if i%2 == 1 {
				busyHost(t)
			}
			args, lines := []string{"-q", elf, "--", "work", strconv.Itoa(100 + i)}, 0
			switch {
			case i%5 == 1:
				args, lines = []string{"-q", elf, "--", "echo"}, 3+i/2
			case i%10 == 2:
				args[3] = "die"
			case i%10 == 7:
				args = append([]string{"-icount"}, args...)
			case i%10 == 3:
				args, lines = []string{"-q", "-net", "e1000", program(t, "nic"), "--", strconv.Itoa(echoServer(t))}, 0
			}
			path, stdout, _ := makeRecording(t, input(lines), args...)
			sameReplays(t, path, stdout, 3)
		})
	}
}

// TestReplayParts: another image with the same log is found out, at a point that is said; and
// another QEMU.
func TestReplayParts(t *testing.T) {
	t.Parallel()
	path, _, _ := makeRecording(t, nil, "-q", program(t, "replayed"), "--", "work", "1")
	dir := t.TempDir()
	r, err := record.Open(path, dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*record.Meta), image string, serial []byte) string {
		t.Helper()
		meta, path := r.Meta, filepath.Join(t.TempDir(), "changed.zfr")
		change(&meta)
		w, err := record.Create(path, meta, map[string]string{record.Image: image})
		if err != nil {
			t.Fatal(err)
		}
		w.Log().Write(log)
		w.Serial().Write(serial)
		if err := w.Close(r.End); err != nil {
			t.Fatal(err)
		}
		return path
	}
	nothing := func(*record.Meta) {}
	serial := bytes.Clone(r.Serial)
	serial[len(serial)-10] ^= 1
	for _, tt := range []struct {
		name, path string
		status     int
		says       string
	}{
		{"the same", changed(nothing, r.Path(record.Image), r.Serial), 0, "the same as recorded"},
		{"another build", changed(nothing, program(t, "nic"), r.Serial), 4, "the replay parts from its recording: "},
		{"another line", changed(func(m *record.Meta) { m.Append = strings.Replace(m.Append, "work 1", "work 2", 1) }, r.Path(record.Image), r.Serial), 4, "last seen at instruction "},
		{"less RAM", changed(func(m *record.Meta) { m.MemoryMiB-- }, r.Path(record.Image), r.Serial), 4, "the replay parts from its recording: "},
		{"a byte", changed(nothing, r.Path(record.Image), serial), 4, fmt.Sprintf("at byte %d of its output: ", len(serial)-10)},
		{"another QEMU", changed(func(m *record.Meta) { m.QEMU = "7.0.0" }, r.Path(record.Image), r.Serial), 2, "was recorded by QEMU 7.0.0"},
		{"no recording", program(t, "replayed"), 2, "no recording"},
	} {
		if _, stderr, status := replayed(t, tt.path, "-q"); status != tt.status || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: status %d, says\n%s\nwant %d, %q", tt.name, status, stderr, tt.status, tt.says)
		}
	}
}

// TestCutReplay: a recording that is cut or damaged is replayed up to there, and one whose maker is
// killed as the machine runs.
func TestCutReplay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "killed.zfr")
	cmd := exec.Command(zfCommand(t), "run", "-v", "-q", "-record", path, program(t, "replayed"), "--", "forever")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var said strings.Builder
	for n := 0; n < 400 && lines.Scan(); n++ {
		said.WriteString(lines.Text() + "\n")
	}
	cmd.Process.Kill()
	cmd.Wait()
	again, stderr, status := replayed(t, path)
	if status != 0 || !strings.Contains(stderr, "the recording is cut short") || strings.Count(again, "\n") < 100 {
		t.Fatalf("the replay has status %d and says\n%s\n%s", status, again, stderr)
	}
	if again := strings.TrimSuffix(again, again[strings.LastIndex(again, "\n")+1:]); !strings.HasPrefix(said.String(), again) && !strings.HasPrefix(again, said.String()) {
		t.Errorf("the replay says\n%s\nrecorded was\n%s", again, &said)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.zfr")
	for _, tt := range []struct {
		name   string
		b      []byte
		status int
		says   string
	}{
		{"cut", whole[:len(whole)-3], 0, "cut short at byte"},
		{"damaged", append(append(bytes.Clone(whole[:len(whole)-3]), whole[len(whole)-3]^1), whole[len(whole)-2:]...), 2, "damaged at byte"},
		{"cut early", whole[:len(whole)/2], 2, "before the machine started"},
		{"empty", nil, 2, "no recording"},
	} {
		if err := os.WriteFile(bad, tt.b, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, stderr, status := replayed(t, bad, "-q"); status != tt.status || !strings.Contains(stderr, tt.says) {
			t.Errorf("%s: status %d, says\n%s\nwant %d, %q", tt.name, status, stderr, tt.status, tt.says)
		}
	}
}

// TestReplayUntil: a replay stops at an instruction or a time, the same one each time, for a core
// or gdb.
func TestReplayUntil(t *testing.T) {
	t.Parallel()
	need(t, "gdb")
	path, stdout, _ := makeRecording(t, nil, "-q", program(t, "replayed"), "--", "work", "1")
	at := regexp.MustCompile(`stopped at instruction (\d+) \(([0-9.]+m?s)\), rip (0x[0-9a-f]+)`)
	var first []string
	for _, until := range []string{"end-1ms", "end-1ms", "", ""} {
		if until == "" {
			until = first[1]
		}
		_, stderr, status := replayed(t, path, "-q", "-until", until)
		m := at.FindStringSubmatch(stderr)
		if status != 0 || m == nil {
			t.Fatalf("-until %s: status %d, says\n%s", until, status, stderr)
		}
		if first == nil {
			first = m
		}
		if m[0] != first[0] {
			t.Errorf("-until %s: %s; want %s", until, m[0], first[0])
		}
	}
	// What the program has said 60 ms before its end is the beginning of all.
	out, stderr, status := replayed(t, path, "-until", "end-60ms")
	if status != 0 || len(out) == 0 || len(out) >= len(stdout) || !strings.HasPrefix(stdout, out) {
		t.Errorf("-until end-60ms: status %d, says\n%s\n%s", status, out, stderr)
	}
	core := filepath.Join(t.TempDir(), "c.core")
	if _, stderr, status := replayed(t, path, "-q", "-core", core); status != 0 || !strings.Contains(stderr, "the same as recorded") {
		t.Fatalf("-core: status %d, says\n%s", status, stderr)
	}
	if b, err := exec.Command(zfCommand(t), "goroutines", "-e", core+".elf", core).CombinedOutput(); err != nil || !strings.Contains(string(b), "goroutine 1 [running]:\n#0 runtime.exit(") {
		t.Errorf("zf goroutines of the core: %v\n%s", err, b)
	}
	for _, until := range []string{"1h", "99999999999", "x", "end+1"} {
		if _, stderr, status := replayed(t, path, "-q", "-until", until); status != 2 {
			t.Errorf("-until %s: status %d, says\n%s", until, status, stderr)
		}
	}
	address := freePort(t, "tcp4")
	image := filepath.Join(t.TempDir(), "i.elf")
	cmd := exec.Command(zfCommand(t), "replay", "-gdb", address, "-image", image, path)
	log := new(await.Log)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	log.For(t, "waits for gdb")
	gdb := exec.Command("gdb", "-q", "-batch", "-nx", "-ex", "target remote "+address, "-ex", "break main.done", "-ex", "continue",
		"-ex", "set language c", "-ex", "print/d *(long*)&'main.rounds'", "-ex", "delete", "-ex", "detach", image)
	b, err := gdb.CombinedOutput()
	if err != nil || !strings.Contains(string(b), "$1 = 40\n") {
		t.Errorf("gdb: %v\n%s", err, b)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("zf replay -gdb: %v\n%s", err, log)
	}
}

// TestRecordRefuses: what cannot be recorded is said before anything runs, with the reason.
func TestRecordRefuses(t *testing.T) {
	t.Parallel()
	elf, path := program(t, "replayed"), filepath.Join(t.TempDir(), "r.zfr")
	for _, tt := range []struct {
		flags []string
		says  string
	}{
		{[]string{"-smp", "2"}, "-record records one CPU, not 2"},
		{[]string{"-net", "virtio"}, "take -net e1000"},
		{[]string{"-net", "e1000", "-icount"}, "leave -icount out"},
		{[]string{"-core", "c.core"}, "zf replay -core"},
		{[]string{"-reboots", "1"}, "-reboots does not go with -record"},
		{[]string{"-mount", ".:rw"}, "does not go with -record"},
		{[]string{"-accel", "kvm"}, "leave out -accel kvm"},
		{[]string{"-append", "record.port=com2"}, "one serial port"},
		{[]string{"-qemu", "-drive", "-qemu", "file=x"}, "-qemu -drive does not go with -record"},
	} {
		out, err := exec.Command(zfCommand(t), append(append([]string{"run", "-v", "-record", path}, tt.flags...), elf)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), tt.says) {
			t.Errorf("%q: %v\n%s\nwant status 2, %q", tt.flags, err, out, tt.says)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%q: there is a recording", tt.flags)
		}
	}
	for _, cfg := range []Config{{CPUs: 2}, {Accel: "kvm"}, {Port: true}, {Records: io.Discard}, {Net: "virtio"}, {Shares: []Share{{}}}, {Reboots: 1}, {UEFI: true}, {Stick: true}} {
		cfg.Kernel, cfg.Record = elf, io.Discard
		if _, err := Start(t.Context(), cfg); !errors.Is(err, ErrRecord) {
			t.Errorf("%+v: %v; want %v", cfg, err, ErrRecord)
		}
	}
}

// TestReplayStranger: a command in a recording is run with -trust-qemu-args, and not without; what
// is harmless is replayed as it is, in QEMU's sandbox.
func TestReplayStranger(t *testing.T) {
	t.Parallel()
	harmless := []string{"-chardev", "null,id=sink", "-device", "isa-debugcon,iobase=0xe9,chardev=sink"}
	var flags []string
	for _, arg := range harmless {
		flags = append(flags, "-qemu", arg)
	}
	path, stdout, _ := makeRecording(t, input(3), append(flags, program(t, "replayed"))...)
	sameReplays(t, path, stdout, 1)
	r, err := record.Open(path, t.TempDir())
	if err != nil || !slices.Equal(r.Extra, harmless) {
		t.Fatalf("%v, %q; want %q", err, r.Extra, harmless)
	}
	dir := t.TempDir()
	hostile, done := filepath.Join(dir, "hostile.zfr"), filepath.Join(dir, "done")
	r.Extra = []string{"-incoming", "exec:echo >" + done}
	w, err := record.Create(hostile, r.Meta, map[string]string{record.Image: r.Path(record.Image), record.Initrd: r.Path(record.Initrd)})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(&record.End{Outcome: Traced.String()}); err != nil {
		t.Fatal(err)
	}
	if _, said, status := replayed(t, hostile); status != 2 || !strings.Contains(said, `"-incoming" for QEMU, before "exec:`) {
		t.Errorf("status %d\n%s\nwant 2, and what is refused", status, said)
	}
	if _, err := os.Stat(done); err == nil {
		t.Error("the command was run")
	}
	cfg := Config{Kernel: r.Path(record.Image), Extra: []string{"-incoming", "exec:echo >" + done}}
	if cfg.confine(t.Context()); cfg.confined {
		t.Error("whoever trusts such an argument gets a sandbox, in which it does not work")
	}
	cfg = Config{Kernel: r.Path(record.Image), Extra: harmless}
	if cfg.Program, err = Find(); err != nil {
		t.Fatal(err)
	}
	if cfg.confine(t.Context()); cfg.confined != strings.Contains(strings.Join(cfg.args(), " "), " -sandbox on,") {
		t.Errorf("%q; want a sandbox where QEMU has one", cfg.args())
	}
}
