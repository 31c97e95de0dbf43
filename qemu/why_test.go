package qemu

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestWhy: zf why names the line that is to blame, of programs that die of what another place has
// done. testdata/culprits has the lines, each with the program's name.
func TestWhy(t *testing.T) {
	t.Parallel()
	whyAll(t, "culprits", 30, nil)
}

// TestWhyMore: the same of testdata/culprits2: of what assembly, the kernel and a device have done,
// and on ways through more of the standard library.
func TestWhyMore(t *testing.T) {
	t.Parallel()
	// What a device has written is its own doing. The story goes on with who gave it the buffer.
	whyAll(t, "culprits2", 18, map[string]string{"dma": "a device (virtio-rng, queue 0)"})
}

// TestWhyMissing: the same of testdata/culprits3: of what is not there any more, and of what was
// asked for.
func TestWhyMissing(t *testing.T) {
	t.Parallel()
	whyAll(t, "culprits3", 15, nil)
}

// TestWhyOperands: the same of testdata/culprits5: of one operand of several, of what was copied in
// large pieces, of words that were counted, and of what a comparison has left undone.
func TestWhyOperands(t *testing.T) {
	t.Parallel()
	whyAll(t, "culprits5", 42, nil)
}

// whyEach is set by `make why`. The other commands ask about a sample, for a minute's sake each.
var whyEach = flag.Bool("why.each", false, "ask zf why about each program, not about every eighth one")

// whyAll asks why of each kind of a program, whose marks are in its source. Those in devices are
// not of a line.
func whyAll(t *testing.T, name string, kinds int, devices map[string]string) {
	folder := filepath.Join("testdata", name)
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	image := program(t, name)
	found := 0
	var answers [3]atomic.Int32
	t.Cleanup(func() {
		t.Logf("%s: %d right, %d short, %d wrong", name, answers[right].Load(), answers[short].Load(), answers[wrong].Load())
	})
	for _, file := range files {
		source, err := os.ReadFile(filepath.Join(folder, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(source), "\n") {
			_, kind, ok := strings.Cut(line, "// culprit ")
			if !ok {
				continue
			}
			if found++; found%8 != 0 && !*whyEach {
				continue
			}
			t.Run(kind, func(t *testing.T) {
				t.Parallel()
				story, seconds := whyDied(t, image, kind)
				text, _ := json.MarshalIndent(story, "", " ")
				answer := wrong
				defer func() { answers[answer].Add(1) }()
				here := func(p *whyPlace) bool {
					return p.Line == i+1 && filepath.Base(p.File) == file.Name() && strings.HasPrefix(p.Function, "main.")
				}
				switch c := story.Culprit; {
				case c != nil && len(story.OneOf) > 0:
					t.Errorf("%-12s names one, and several: %s", kind, text)
				case c == nil && whyShort[kind] != "" && strings.Contains(string(text), whyShort[kind]) && (len(story.OneOf) == 0 || slices.ContainsFunc(story.OneOf, func(p whyPlace) bool { return here(&p) })):
					answer = short
					t.Logf("%-12s short, %5.1f s: %s: one of %d", kind, seconds, story.Death, len(story.OneOf))
				case c == nil:
					answer = short
					t.Errorf("%-12s cannot tell, %5.1f s: %s", kind, seconds, text)
				case devices[kind] != "" && c.Function == devices[kind]:
					answer = right
					if !slices.ContainsFunc(story.Causes[0].Hops, func(p whyPlace) bool { return here(&p) }) {
						t.Errorf("%-12s right, %5.1f s, but not that the buffer comes from line %d: %s", kind, seconds, i+1, text)
					}
					t.Logf("%-12s right, %5.1f s: %s: %s", kind, seconds, story.Death, c.Function)
				case devices[kind] != "" || !here(c):
					t.Errorf("%-12s wrong, %5.1f s: line %d, not %d: %s", kind, seconds, c.Line, i+1, text)
				default:
					answer = right
					t.Logf("%-12s right, %5.1f s: %s: %s", kind, seconds, story.Death, c.Source)
				}
			})
		}
	}
	if found != kinds {
		t.Errorf("%d kinds", found)
	}
}

// What an answer is: short is one that names nobody, or several of whom one is to blame.
const (
	right = iota
	short
	wrong
)

// whyShort are the kinds of which it cannot be told who is to blame: naming somebody else would be
// wrong.
// The story has this.
var whyShort = map[string]string{
	"truncated": "nothing else wrote it; the branch at main.(*reader).room (main.go:",
	"limited":   "nothing else wrote it; the branch at main.(*grid).allowed (main.go:",
	"delayed":   "nothing else wrote it; the branch at main.(*grid).later (main.go:",
	"swapped":   `"one_of": [`,
	"first":     `"one_of": [`,
	"over":      `"one_of": [`,
	"drained":   "nothing has set it anew; the branch at main.drained (main.go:",
	"stuck":     "nothing has set it anew; the branch at main.(*meter).rewind (main.go:",
	"spare":     "nothing else wrote it; the branch at main.(*grid).enough (main.go:",
}

// whyStory is what zf why -json says.
type whyStory struct {
	Death   string
	Culprit *whyPlace
	OneOf   []whyPlace `json:"one_of"`
	Causes  []struct {
		What string
		Hops []whyPlace
		End  string
	}
}

// whyPlace is a place in a program.
type whyPlace struct {
	Function, File, Source string
	Line                   int
}

// whyMachines are the arguments of zf run for kinds that want more than the program.
var whyMachines = map[string][]string{
	"repeated": {"-qemu", "-cpu", "-qemu", "max,-avx,-avx2"},
	"dma":      {"-machine", "q35", "-qemu", "-device", "-qemu", "virtio-rng-pci,ioeventfd=off"},
}

// whyStatus are the statuses of zf run for kinds that end themselves.
var whyStatus = map[string]int{"logfatal": 65, "exit": 67}

// whyDied records a kind's death and asks why.
func whyDied(t *testing.T, image, kind string) (s whyStory, seconds float64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "death.zfr")
	out, err := zfRun(t, append(append([]string{"-q", "-record", file}, whyMachines[kind]...), image, "--", kind)...).CombinedOutput()
	if exitCode(t, err) != max(1, whyStatus[kind]) {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	began := time.Now()
	cmd := exec.Command(zfCommand(t), "why", "-json", "-trust-qemu-args", file)
	var msg bytes.Buffer
	cmd.Stderr = &msg
	js, err := cmd.Output()
	if err != nil {
		t.Fatalf("zf why: %v, %s", err, msg.String())
	}
	if err := json.Unmarshal(js, &s); err != nil {
		t.Fatalf("zf why -json: %v, %s", err, js)
	}
	return s, time.Since(began).Seconds()
}

// TestWhyWriters: zf why -var says who has written a variable, all of them and the last one.
func TestWhyWriters(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "death.zfr")
	if out, err := zfRun(t, "-q", "-record", file, program(t, "culprits"), "--", "nilmap").CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	ask := func(status int, args ...string) string {
		t.Helper()
		out, err := exec.Command(zfCommand(t), append(append([]string{"why"}, args...), file)...).CombinedOutput()
		if got := exitCode(t, err); got != status {
			t.Errorf("zf why %q: status %d, %s", args, got, out)
		}
		return unwrapped(out)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if out, err := exec.Command(zfCommand(t), "report", "-o", page, file).CombinedOutput(); err != nil {
		t.Errorf("zf report: %v, %s", err, out)
	}
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"Why it died", "It was made so by <code>main.resetMap (main.go:", "panic: assignment to entry in nil map"} {
		if !bytes.Contains(html, []byte(w)) {
			t.Errorf("the page of the recording does not have %q", w)
		}
	}
	last := ask(0, "-var", "main.table")
	if strings.Count(last, "\n") != 1 || !strings.HasPrefix(last, "0x0 at instruction ") || !strings.Contains(last, "main.resetMap (main.go:") || !strings.Contains(last, ", goroutine 1: func resetMap()") {
		t.Errorf("the last writer: %s", last)
	}
	all := ask(0, "-var", "main.table", "-all")
	if lines := strings.Split(all, "\n"); len(lines) != 3 || lines[0]+"\n" != last || !strings.Contains(lines[1], " main.init (main.go:") {
		t.Errorf("all writers: %s", all)
	}
	if got := ask(0, "-json", "-var", "main.table"); !strings.Contains(strings.Join(strings.Fields(got), " "), `"main.resetMap", "main.nilMap",`) {
		t.Errorf("the stack of a writer that has no frame of its own: %s", got)
	}
	if got := ask(1, "-var", "main.numbers+16"); !strings.HasPrefix(got, "nothing has written the 8 bytes at 0x") {
		t.Errorf("a word that nobody writes: %s", got)
	}
	if got := ask(1, "-json", "-var", "main.numbers+16"); got != "[]\n" {
		t.Errorf("a word that nobody writes, as JSON: %s", got)
	}
	if got := ask(2, "-var", "main.nothing"); !strings.Contains(got, "the image has no variable main.nothing") {
		t.Errorf("a variable that is not there: %s", got)
	}
	if got := ask(2, "-var", "main.tabel"); !strings.Contains(got, "no variable main.tabel; zf print lists them (did you mean main.table?)") {
		t.Errorf("a variable that is nearly there: %s", got)
	}
	if got := ask(2, "-addr", "0x123", "-size", "3"); !strings.Contains(got, "want 1, 2, 4 or 8") {
		t.Errorf("a size that cannot be watched: %s", got)
	}
}

// TestWhyDevice: zf why -addr and -var say that a device has written a word, if it was the last one
// to do so, and not who wrote there before it, or that nobody did.
func TestWhyDevice(t *testing.T) {
	t.Parallel()
	image, file := program(t, "culprits2"), filepath.Join(t.TempDir(), "death.zfr")
	args := append([]string{"-q", "-record", file}, whyMachines["dma"]...)
	if out, err := zfRun(t, append(args, image, "--", "dma")...).CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	e, err := elf.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	symbols, _ := e.Symbols()
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == "main.area" })
	order := (symbols[i].Value+4095)&^4095 + 4096 // as main.roomFor has it
	const device = "0x[0-9a-f]+ at about instruction [0-9]+: a device \\(virtio-rng, queue 0\\)\n"
	for _, tt := range []struct {
		status int
		args   []string
		want   string
	}{
		{0, []string{"-addr", fmt.Sprint(order), "-all"},
			device + "0x0 at instruction [0-9]+: main.dma .*\n"},
		{0, []string{"-var", fmt.Sprintf("main.area+%d", order+64-symbols[i].Value)},
			"0x0 at instruction [0-9]+: main.dma .*\n"}, // the buffer has 64 bytes
		{1, []string{"-var", "main.area+8"}, "nothing has written .*\n"},
	} {
		out, err := exec.Command(zfCommand(t), append(append([]string{"why", "-trust-qemu-args"}, tt.args...), file)...).CombinedOutput()
		if exitCode(t, err) != tt.status || !regexp.MustCompile("^"+tt.want+"$").MatchString(unwrapped(out)) {
			t.Errorf("zf why %q: %v, %s, want %s", tt.args, err, out, tt.want)
		}
	}
}

// unwrapped undoes the breaks between words in what zf why says, of which no line is longer than 80
// columns.
func unwrapped(out []byte) string { return strings.ReplaceAll(string(out), "\n    ", " ") }

// TestWhyPlaces: zf why -var asks about fields and elements of a package's variable, about what
// pointers lead to in the end, and about what a function had that a goroutine was in.
func TestWhyPlaces(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "death.zfr")
	if out, err := zfRun(t, "-q", "-record", file, program(t, "culprits6")).CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	for _, tt := range []struct {
		args   string
		status int
		says   string
	}{
		{"-var main.st.in.m", 0, "0x3 at instruction N: main.setM (main.go:"},
		{"-var st.row[2]", 0, "0x7 at instruction N: main.setRow (main.go:"},
		{"-var list.next.n", 0, "0xa at instruction N: main.bump (main.go:"},
		{"-goroutine 1 -var c.n", 0, "is main.die:"},
		{"-goroutine 1 -var c.n", 0, "0xa at instruction N: main.bump (main.go:"},
		{"-goroutine 1 -frame 0 -var c.n", 2, "has the name c"},
		{"-goroutine 99 -var c.n", 2, "no goroutine 99"},
		{"-var st.name", 1, "st.name has 16 bytes; its first 8 are asked for"},
		{"-var st.q", 2, "main.st has no member q"},
		{"-var list.next.q", 2, "no field q, only n"},
		{"-var st.row[4]", 2, "index out of bounds"},
		{"-var len(list)", 2, "is no place in memory"},
		{"-frame 2 -var st.n", 2, "give -goroutine N and -var, too"},
		{"-goroutine 1 -addr 0x1000", 2, "-goroutine is about -waits and -var"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			args := append(append([]string{"why"}, strings.Fields(tt.args)...), file)
			out, err := exec.Command(zfCommand(t), args...).CombinedOutput()
			text := regexp.MustCompile("instruction [0-9]+").ReplaceAllString(unwrapped(out), "instruction N")
			if exitCode(t, err) != tt.status || !strings.Contains(text, tt.says) {
				t.Errorf("%v, %s; want status %d, %q", err, out, tt.status, tt.says)
			}
			for line := range strings.Lines(string(out)) {
				if len(line) > 81 && !strings.HasPrefix(line, "zf why: ") {
					t.Errorf("a line of %d bytes: %s", len(line)-1, line)
				}
			}
		})
	}
}

// TestWhyPlain: where nothing has led to a panic but the way of the program, no more than its last
// instructions are looked at.
func TestWhyPlain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "death.zfr")
	if out, err := zfRun(t, "-q", "-record", file, program(t, "culprits2"), "--", "plain").CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	out, err := exec.Command(zfCommand(t), "why", "-progress", file).CombinedOutput()
	if exitCode(t, err) != 1 || !strings.Contains(unwrapped(out), "a panic in main.plain (main.go:") || !strings.Contains(unwrapped(out), "nothing that was compared has led to it") {
		t.Errorf("zf why: %v, %s", err, out)
	}
	if strings.Contains(string(out), "replay 3:") {
		t.Errorf("it looks farther: %s", out)
	}
}

// TestWhyWaits: zf why -waits says for what goroutines wait, and with -goroutine who has made that
// so.
func TestWhyWaits(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("testdata/culprits2/waits.go")
	if err != nil {
		t.Fatal(err)
	}
	type act struct {
		What, Function string
		Line, Times    int
	}
	want := map[string][]act{}
	for i, line := range strings.Split(string(source), "\n") {
		if _, mark, ok := strings.Cut(line, " // wait"); ok {
			who, what, _ := strings.Cut("wait"+mark, ": ")
			want[who] = append(want[who], act{What: what, Line: i + 1})
		}
	}
	if len(want) != 6 {
		t.Fatalf("%d goroutines in the source", len(want))
	}
	file := filepath.Join(t.TempDir(), "death.zfr")
	if out, err := zfRun(t, "-q", "-record", file, program(t, "culprits2"), "--", "waiting").CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	type answer struct {
		Goroutine int64
		Function  string
		Acts      []act
	}
	ask := func(args ...string) (all []answer) {
		t.Helper()
		cmd := exec.Command(zfCommand(t), append(append([]string{"why", "-waits", "-json"}, args...), file)...)
		var msg bytes.Buffer
		cmd.Stderr = &msg
		out, err := cmd.Output()
		if err != nil || json.Unmarshal(out, &all) != nil {
			t.Fatalf("zf why -waits %q: %v, %s, %s", args, err, out, msg.String())
		}
		return all
	}
	for _, g := range ask() {
		who := strings.TrimPrefix(g.Function, "main.")
		if want[who] == nil {
			continue
		}
		all := ask("-goroutine", strconv.FormatInt(g.Goroutine, 10))
		if len(all) != 1 {
			t.Errorf("goroutine %d: %+v", g.Goroutine, all)
			continue
		}
		got := all[0].Acts
		for _, a := range want[who] {
			if !slices.ContainsFunc(got, func(b act) bool {
				return b.What == a.What && b.Line == a.Line && strings.HasPrefix(b.Function, "main.")
			}) {
				t.Errorf("%s: %+v; want line %d, %s", who, got, a.Line, a.What)
			}
		}
		if len(got) != len(want[who]) {
			t.Errorf("%s: %+v; want %d acts", who, got, len(want[who]))
		}
		delete(want, who)
	}
	if len(want) > 0 {
		t.Errorf("they do not wait: %v", want)
	}
}

// TestWhyEnded: a recorded machine that was ended from outside has not died.
func TestWhyEnded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "spins.zfr")
	// On a busy host the machine may not have come to main by then.
	for _, timeout := range []string{"3s", "20s", "2m"} {
		if out, err := zfRun(t, "-q", "-timeout", timeout, "-record", file, cored(t), "--", "spin").CombinedOutput(); exitCode(t, err) != 3 {
			t.Fatalf("zf run -record: %v, %s", err, out)
		}
		out, _ := exec.Command(zfCommand(t), "why", "-var", "main.list", file).CombinedOutput()
		if !strings.Contains(string(out), "nothing has written") {
			break
		}
	}
	for _, tt := range []struct {
		flags  []string
		status int
		says   string
	}{
		{nil, 1, "the recorded machine has not died"},
		{[]string{"-var", "main.list"}, 0, "main.main"},
	} {
		out, err := exec.Command(zfCommand(t), append(append([]string{"why"}, tt.flags...), file)...).CombinedOutput()
		if exitCode(t, err) != tt.status || !strings.Contains(unwrapped(out), tt.says) {
			t.Errorf("zf why %v: %v, %s; want status %d, %q", tt.flags, err, out, tt.status, tt.says)
		}
	}
	if _, stderr, status := replayed(t, file, "-q"); status != 0 || !strings.Contains(stderr, ": timeout after ") {
		t.Errorf("zf replay: status %d, %s", status, stderr)
	}
}

// TestWhyInterrupted: an interrupt ends zf why with status 3, and without a word that could be
// wrong.
func TestWhyInterrupted(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "death.zfr")
	if out, err := zfRun(t, "-q", "-record", file, program(t, "culprits2"), "--", "lostupdate").CombinedOutput(); exitCode(t, err) != 1 {
		t.Fatalf("zf run -record: %v, %s", err, out)
	}
	whole, err := exec.Command(zfCommand(t), "why", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	death, _, _ := strings.Cut(string(whole), " (") // in which line is found out later
	for replays := 2; replays < 5; replays++ {
		// Its replays are told apart by what a terminal shows of them.
		cmd := exec.Command(zfCommand(t), "why", "-progress", file)
		var out bytes.Buffer
		cmd.Stdout = &out
		progress, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var msg strings.Builder
		for s := bufio.NewScanner(progress); s.Scan(); {
			msg.WriteString(s.Text() + "\n")
			if strings.Contains(s.Text(), "replay "+strconv.Itoa(replays)+":") {
				cmd.Process.Signal(os.Interrupt)
			}
		}
		if code := exitCode(t, cmd.Wait()); code != 130 || !strings.Contains(msg.String(), "zf why: interrupted") {
			t.Errorf("interrupted in replay %d: status %d, %s", replays, code, msg.String())
		}
		if strings.Contains(out.String(), "made so by") {
			t.Errorf("interrupted in replay %d, it names who is to blame: %s", replays, out.String())
		}
		if text := out.String(); text != "" && (!strings.HasPrefix(text, death) || !strings.Contains(msg.String(), "known by then")) {
			t.Errorf("interrupted in replay %d: %s, %s; the whole: %s", replays, text, msg.String(), whole)
		}
	}
}
