package qemu

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/handle"
)

// The log of resources, seen by zf: programs that leak, close twice and wait for each
// other, with the stacks of who did, and counts against the program's own.

// recorded is a run of testdata/resources.
type recorded struct {
	said      string // by the program
	errors    string // by zf
	status    int    // of zf
	files     string // of -handles
	snapshots []*handle.Snapshot
}

// recordRun runs testdata/resources with a mode and the log's options.
func recordRun(t *testing.T, mode, options string) (r recorded) {
	t.Helper()
	r = recordRunWithin(t, io.Discard, "10m", mode, options)
	r.wantSnapshot(t)
	return r
}

// recordRunWithin has a limit, too. Of a program that had not begun by then there may be no snapshot.
func recordRunWithin(t *testing.T, says io.Writer, limit, mode, options string) (r recorded) {
	t.Helper()
	r.files = filepath.Join(t.TempDir(), "out")
	cmd := zfRun(t, "-q", "-handles", r.files, "-append", options, "-timeout", limit, program(t, "resources"), "--", mode)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, says), &msg
	r.status = exitCode(t, cmd.Run())
	r.said, r.errors = out.String(), msg.String()
	for i := 1; ; i++ {
		data, err := os.ReadFile(fmt.Sprintf("%s.%d", r.files, i))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := handle.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		r.snapshots = append(r.snapshots, s)
	}
	return r
}

func (r *recorded) wantSnapshot(t *testing.T) {
	t.Helper()
	if len(r.snapshots) == 0 {
		t.Fatalf("there is no snapshot; zf run said\n%s%s", r.said, r.errors)
	}
}

// zfSays runs zf and returns what it writes.
func zfSays(t *testing.T, status int, args ...string) string {
	t.Helper()
	cmd := exec.Command(zfCommand(t), args...)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if got := exitCode(t, cmd.Run()); got != status {
		t.Errorf("zf %q: status %d; want %d\n%s", args, got, status, msg.String())
	}
	for l := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimRight(l, "\n")) > handle.Columns && !strings.Contains(l, "[...]") {
			t.Errorf("zf %s: a line of %d columns: %q", args[0], len(l)-1, l)
		}
	}
	return out.String()
}

// functions are the names of a stack's functions, innermost first, with lines for those of
// the program.
func functions(s *handle.Snapshot, id uint32) string {
	var names []string
	frames, complete := s.Stack(id)
	return functionsOf(frames, complete, names)
}

func functionsOf(frames []handle.Frame, complete bool, names []string) string {
	for _, f := range frames {
		for _, c := range f.Calls {
			names = append(names, c.Function)
		}
	}
	if !complete {
		names = append(names, "...")
	}
	return strings.Join(names, " ")
}

// id returns the number of a kind in a snapshot.
func kindID(t *testing.T, s *handle.Snapshot, name string) uint64 {
	t.Helper()
	for _, k := range s.Kinds {
		if k.Name == name {
			return k.ID
		}
	}
	t.Fatalf("the snapshot has no kind %q", name)
	return 0
}

// TestResourceLeaks: between two snapshots a program leaks some of each kind; zf leaks
// finds each with its number, its bytes and its stack, and nothing else of the program's.
func TestResourceLeaks(t *testing.T) {
	t.Parallel()
	r := recordRun(t, "leak", "record=all")
	if r.status != 0 || len(r.snapshots) != 3 || r.snapshots[2].Reason != "exit" {
		t.Fatalf("status %d, %d snapshots", r.status, len(r.snapshots))
	}
	syscalls := "internal/runtime/syscall/linux.Syscall6 syscall.RawSyscall6 syscall.Syscall6 "
	end := " main.leak main.main runtime.main runtime.goexit"
	raw := strings.TrimSuffix(syscalls, "syscall.Syscall6 ")
	want := map[string]string{
		"main.openOne main.leakFDs +5 +0": "fd: " + syscalls + "syscall.openat syscall.Open main.openOne main.leakFDs" + end,
		"main.leakMap +1 +65536":          "map: " + syscalls + "syscall.mmap syscall.(*mmapper).Mmap syscall.Mmap main.leakMap" + end,
		"main.touch +16 +65536":           "page: main.touch" + end,
		"main.leakConns +7 +700":          "conn: main.leakConns" + end,
		"main.setTimer +1 +0":             "timer: " + raw + "syscall.RawSyscall main.setTimer" + end,
		"main.createTimer +1 +0":          "timer: " + raw + "main.createTimer" + end,
	}
	got := map[string]string{}
	threads := int64(0)
	for _, u := range handle.Grown(r.snapshots[0].Uses(), r.snapshots[1].Uses()) {
		chain := functionsOf(u.Frames, u.Whole, nil)
		if u.Kind == "thread" {
			threads += u.Count
		}
		// The runtime may get memory for itself, such as a new thread's, at any call.
		if strings.Contains(chain, "main.") && !strings.HasPrefix(chain, "runtime.") && u.Grown() && u.Kind != "thread" && (u.Kind != "page" || strings.Contains(chain, "touch")) {
			what, _, _ := strings.Cut(chain[strings.Index(chain, "main."):], " main.leak ")
			got[fmt.Sprintf("%s %+d %+d", what, u.Count, u.Bytes)] = u.Kind + ": " + chain
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("leaks: %q\nwant %q", got, want)
	}
	if threads < 3 {
		t.Errorf("%d threads more; want 3 at least", threads)
	}
	text := zfSays(t, 1, "leaks", r.files+".1", r.files+".2")
	for _, want := range []string{"\n+5 fds (0, now 5)\n", "\n+1 map (0, now 1), +65536 B\n", "\n+16 pages (0, now 16), +65536 B\n", "\n+7 conns (0, now 7), +700 B\n", "    main.leakFDs "} {
		if !strings.Contains(strings.ReplaceAll(text, "64 KiB", "65536 B"), want) {
			t.Errorf("zf leaks does not say %q:\n%s", want, text)
		}
	}
	if text := zfSays(t, 0, "leaks", r.files+".1", r.files+".1"); text != "nothing has grown or shrunk\n" {
		t.Errorf("zf leaks of one snapshot with itself:\n%s", text)
	}
	checkKinds(t, r.snapshots[2])
}

// checkKinds compares the sums of each kind with what is listed.
func checkKinds(t *testing.T, s *handle.Snapshot) {
	t.Helper()
	open, bytes := map[uint64]uint64{}, map[uint64]uint64{}
	for _, h := range s.Open {
		open[h.Kind]++
		bytes[h.Kind] += h.Size
		if h.Stack == 0 {
			t.Errorf("kind %d, key %#x has no stack", h.Kind, h.Key)
		}
		if h.Time > s.Now {
			t.Errorf("kind %d, key %#x was opened at %v; it is %v", h.Kind, h.Key, h.Time, s.Now)
		}
	}
	for _, k := range s.Kinds {
		if open[k.ID] != k.Open || bytes[k.ID] != k.Bytes || k.Most < k.Open {
			t.Errorf("%s: %d are listed, of %d bytes; the sums say %d of %d, at most %d", k.Name, open[k.ID], bytes[k.ID], k.Open, k.Bytes, k.Most)
		}
	}
	if s.Overflow != 0 || s.Stacks.Full != 0 {
		t.Errorf("%d things and %d stacks had no room", s.Overflow, s.Stacks.Full)
	}
}

// TestResourceTwice: what was closed twice is told with all three stacks, by a snapshot
// that a death has left.
func TestResourceTwice(t *testing.T) {
	t.Parallel()
	r := recordRun(t, "twice", "record=fds,maps")
	s := r.snapshots[len(r.snapshots)-1]
	if r.status != 1 || len(r.snapshots) != 1 || s.Reason != "death" {
		t.Fatalf("status %d, %d snapshots, the last for %s; want 1, 1, death", r.status, len(r.snapshots), s.Reason)
	}
	var fd, addr uint64
	if m := regexp.MustCompile(`twice .*`).FindString(r.said); m == "" {
		t.Fatalf("the program said %q", r.said)
	} else if _, err := fmt.Sscanf(m, "twice fd %d map %v", &fd, &addr); err != nil {
		t.Fatal(err)
	}
	if len(s.Doubles) != 2 {
		t.Fatalf("%d doubles; want 2", len(s.Doubles))
	}
	for i, want := range []struct {
		kind               string
		key                uint64
		open, first, again string
	}{
		{"fd", fd, "main.openOne", "main.closeFirst", "main.closeAgain"},
		{"map", addr, "main.leakMap", "main.unmapFirst", "main.unmapAgain"},
	} {
		d := s.Doubles[i]
		if d.Kind != kindID(t, s, want.kind) || d.Key != want.key || d.Opened.Time > d.First.Time || d.First.Time > d.Second.Time {
			t.Errorf("double %+v; want %s %#x", d, want.kind, want.key)
		}
		for _, x := range []struct {
			at   handle.Place
			want string
		}{{d.Opened, want.open}, {d.First, want.first}, {d.Second, want.again}} {
			chain := " " + functions(s, x.at.Stack)
			if !strings.HasSuffix(chain, " main.twice main.main runtime.main runtime.goexit") || !strings.Contains(chain, " "+x.want+" ") {
				t.Errorf("%s: stack %q; want %s", want.kind, chain, x.want)
			}
		}
	}
	text := zfSays(t, 0, "handles", r.files)
	for _, want := range []string{fmt.Sprintf("\nfd %d was closed twice\n", fd), "main.closeFirst", "main.closeAgain", "main.unmapAgain", "\n2 fds, open since "} {
		if !strings.Contains(text, want) {
			t.Errorf("zf handles does not say %q:\n%s", want, text)
		}
	}
	// leakFDs has opened the number once more.
	text = zfSays(t, 0, "handles", "-key", fmt.Sprintf("fd:%d", fd), r.files)
	for _, want := range []string{fmt.Sprintf("\nfd %d: open since ", fd), "main.leakFDs", "\n4 events, the latest last:\n", " s second close, thread "} {
		if !strings.Contains(text, want) {
			t.Errorf("zf handles -key does not say %q:\n%s", want, text)
		}
	}
	// The same from a log of the serial port, with names by -e.
	log := filepath.Join(t.TempDir(), "log")
	vm, out := start(t, Config{Kernel: program(t, "resources"), Append: "record=fds -- twice"}, "")
	vm.Wait()
	if err := os.WriteFile(log, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := zfSays(t, 0, "handles", "-e", program(t, "resources"), log); !strings.Contains(text, "main.closeAgain") {
		t.Errorf("zf handles of a log:\n%s", text)
	}
	zfSays(t, 2, "handles", "-e", zfCommand(t), log)
}

// TestResourceDeadlock: a machine that hangs is asked by an NMI, and says who waits for
// what since when.
func TestResourceDeadlock(t *testing.T) {
	t.Parallel()
	var r recorded
	untilBegun("deadlock ", func(limit string, says io.Writer) {
		r = recordRunWithin(t, says, limit, "deadlock", "record=futexes")
	})
	r.wantSnapshot(t)
	s := r.snapshots[len(r.snapshots)-1]
	if r.status != 3 || s.Reason != "nmi" {
		t.Fatalf("status %d, reason %s; want 3, nmi", r.status, s.Reason)
	}
	var a, b uint64
	if m := regexp.MustCompile(`deadlock .*`).FindString(r.said); m == "" {
		t.Fatalf("the program said %q", r.said)
	} else if _, err := fmt.Sscanf(m, "deadlock %v %v", &a, &b); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[uint64]string{a: "main.futex main.waitForA main.deadlock.func2 runtime.goexit", b: "main.futex main.waitForB main.deadlock.func1 runtime.goexit"} {
		i := slices.IndexFunc(s.Open, func(h handle.Handle) bool { return h.Key == key })
		if i < 0 {
			t.Errorf("nobody waits for %#x", key)
			continue
		}
		if h := s.Open[i]; !strings.HasSuffix(functions(s, h.Stack), want) || h.Owner == 0 || h.Owner != h.Thread || h.Time == 0 {
			t.Errorf("%+v waits in %s; want %s", h, functions(s, h.Stack), want)
		}
	}
}

var openLine = regexp.MustCompile(`(?m)^open (fd|map|conn) (\d+)(?: (\d+))?\r?$`)

// TestResourceCounts: what is open by the log is what is open by the program's own
// bookkeeping, whatever has been opened and closed before, more than the ring holds.
func TestResourceCounts(t *testing.T) {
	t.Parallel()
	r := recordRun(t, "count", "record=fds,maps,user record.ring=4096")
	if r.status != 0 || len(r.snapshots) != 3 {
		t.Fatalf("status %d, %d snapshots", r.status, len(r.snapshots))
	}
	before, s := r.snapshots[0], r.snapshots[1]
	checkKinds(t, s)
	if s.Events <= uint64(len(s.Log)) || len(s.Log) != 4096/32 {
		t.Errorf("%d events, %d in the ring; want more than its 128", s.Events, len(s.Log))
	}
	want := map[string]bool{}
	for _, m := range openLine.FindAllStringSubmatch(r.said, -1) {
		want[strings.TrimRight(fmt.Sprint(m[1], " ", m[2], " ", m[3]), " ")] = true
	}
	if len(want) < 50 {
		t.Fatalf("the program said that %d are open:\n%s", len(want), r.said)
	}
	old := map[[2]uint64]bool{}
	for _, h := range before.Open {
		old[[2]uint64{h.Kind, h.Key}] = true
	}
	got := map[string]bool{}
	for _, h := range s.Open {
		// The runtime maps memory, too.
		if chain := functions(s, h.Stack); old[[2]uint64{h.Kind, h.Key}] || !strings.Contains(chain, "main.count") || strings.Contains(chain, "runtime.mmap") {
			continue
		}
		switch h.Kind {
		case kindID(t, s, "fd"):
			got[fmt.Sprint("fd ", h.Key)] = true
		case kindID(t, s, "map"):
			got[fmt.Sprint("map ", h.Key, " ", h.Size)] = true
		default:
			got[fmt.Sprint("conn ", h.Key, " ", h.Size)] = true
		}
	}
	for k := range want {
		if !got[k] {
			t.Errorf("%s is open by the program's own count, and not by the log", k)
		}
	}
	for k := range got {
		if !want[k] {
			t.Errorf("%s is open by the log, and not by the program's own count", k)
		}
	}
	for _, d := range s.Doubles {
		t.Errorf("something was closed twice: %+v", d)
	}
}

// TestResourceOff: without record= nothing is logged, and no record leaves.
func TestResourceOff(t *testing.T) {
	t.Parallel()
	vm, out := start(t, Config{Kernel: program(t, "resources"), Append: "-- leak"}, "")
	if res, err := vm.Wait(); err != nil || res.Program != 0 {
		t.Fatalf("%+v, %v", res, err)
	}
	if strings.Contains(out.String(), "\x1ezfr") {
		t.Error("the kernel has sent a record")
	}
	for _, tt := range []struct{ options, want string }{
		{"record=fish", "record=fish is ignored: want pages,"},
		{"record=fds record.ring=7", "record.ring is ignored: want a number from"},
		{"record=all depot=1000000000", "not enough RAM"},
	} {
		vm, out := start(t, Config{Kernel: program(t, "resources"), Append: tt.options + " -- leak"}, "")
		if res, err := vm.Wait(); err != nil || res.Program != 0 {
			t.Fatalf("%s: %+v, %v", tt.options, res, err)
		}
		if !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: the kernel did not say %q:\n%s", tt.options, tt.want, out.String()[:min(3000, len(out.String()))])
		}
	}
}

// TestResourceMonitor: the monitor's command handles lists what is open, and sends a
// snapshot that zf run keeps.
func TestResourceMonitor(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out")
	s := inTmux(t, zfCommand(t), "run", "-q", "-smp", "1", "-timeout", "10m", "-handles", file, "-append", "record=fds", program(t, "resources"), "--", "spin")
	s.until(`(?m)^spinning$`, 1)
	s.key("C-]")
	s.until(monitorPrompt, 1)
	if a := s.ask("handles"); !regexp.MustCompile(`(?m)^fd +\d+ +\d+ +\d+ +0$`).MatchString(a) {
		t.Errorf("handles says %q", a)
	}
	if a := s.ask("handles fd"); !regexp.MustCompile(`(?m)^  \d+ since \d+\.\d+ s, thread \d+, main\.openOne\+0x[0-9a-f]+ main\.go:\d+$`).MatchString(a) {
		t.Errorf("handles fd says %q", a)
	}
	if a := s.ask("handles fish"); !strings.Contains(a, "want a kind") {
		t.Errorf("handles fish says %q", a)
	}
	s.ask("handles send")
	text := zfSays(t, 0, "handles", file)
	if !strings.Contains(text, "snapshot (monitor) at ") || !strings.Contains(text, "main.openOne ") {
		t.Errorf("zf handles:\n%s", text)
	}
	s.typed("reboot")
	s.until(`(?m)^STATUS \d+$`, 1)
}
