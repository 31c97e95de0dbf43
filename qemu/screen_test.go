package qemu

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/iso"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
)

// The screen, looked at: pictures of it are read glyph by glyph, and what stands there is
// typed. The shapes of the characters are learnt from a picture whose text is known.

// withVGA is a machine with a screen and without a serial port.
var withVGA = Config{NoSerial: true, Extra: []string{"-vga", "std"}, Timeout: 4 * time.Minute}

// patience is how long a test waits for a picture.
const patience = 3 * time.Minute

// vgaText reads the text of a VGA.
func vgaText(t *testing.T, vm *VM) []string {
	t.Helper()
	const columns, lines = 80, 25
	file := filepath.Join(t.TempDir(), "text")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0xb8000, "size": columns * lines * 2, "filename": file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for r := range lines {
		row := make([]byte, columns)
		for c := range columns {
			row[c] = b[(r*columns+c)*2]
		}
		rows = append(rows, string(row))
	}
	return rows
}

// waitText waits until the text of a VGA has words in it, and returns it.
func waitText(t *testing.T, vm *VM, words string) []string {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		rows := vgaText(t, vm)
		if strings.Contains(strings.Join(rows, "\n"), words) {
			return rows
		}
		if time.Now().After(end) {
			t.Fatalf("the screen has\n%s\nwant %q in it", strings.Join(rows, "\n"), words)
		}
	}
}

// A picture is a screendump.
type picture struct {
	width, height int
	rgb           []byte
}

func shoot(t *testing.T, vm *VM) (p picture) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "screen.ppm")
	if _, err := vm.QMP("screendump", map[string]any{"filename": file}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Fscanf(bytes.NewReader(b), "P6\n%d %d\n%d\n", &p.width, &p.height, &most); err != nil || most != 255 {
		t.Fatalf("a screendump that begins %q: %v", b[:min(len(b), 20)], err)
	}
	p.rgb = b[len(b)-p.width*p.height*3:]
	return p
}

// cell returns the shape of a character: which pixels differ from the one in the corner.
func (p *picture) cell(row, col, width, height int) string {
	pixel := func(x, y int) []byte {
		at := ((row*height+y)*p.width + col*width + x) * 3
		return p.rgb[at : at+3]
	}
	shape := make([]byte, 0, width*height)
	for y := range height {
		for x := range width {
			if bytes.Equal(pixel(x, y), pixel(0, 0)) {
				shape = append(shape, '.')
			} else {
				shape = append(shape, '#')
			}
		}
	}
	return string(shape)
}

// letters are characters by their shapes.
type letters map[string]byte

// learn compares a picture with the text that it should have: each character must have one
// shape everywhere, which no other has.
func (l letters) learn(p *picture, rows []string, width, height int) error {
	shapes := map[byte]string{}
	for shape, c := range l {
		shapes[c] = shape
	}
	for r, row := range rows {
		for c := range len(row) {
			if (r+1)*height > p.height || (c+1)*width > p.width {
				return fmt.Errorf("the picture is %dx%d, too small for %d rows", p.width, p.height, len(rows))
			}
			shape := p.cell(r, c, width, height)
			if was, ok := shapes[row[c]]; ok && was != shape {
				return fmt.Errorf("row %d, column %d: %q has another shape than before", r, c, row[c])
			}
			if was, ok := l[shape]; ok && was != row[c] {
				return fmt.Errorf("row %d, column %d: %q looks like %q", r, c, row[c], was)
			}
			shapes[row[c]], l[shape] = shape, row[c]
		}
	}
	return nil
}

// read reads a picture.
func (l letters) read(p *picture, width, height int) (rows []string) {
	for r := range p.height / height {
		var row []byte
		for c := range p.width / width {
			b, ok := l[p.cell(r, c, width, height)]
			if !ok {
				b = '?'
			}
			row = append(row, b)
		}
		rows = append(rows, strings.TrimRight(string(row), " "))
	}
	return rows
}

// typeIn types what is on a screen, and returns the traces and what was said of it.
func typeIn(t *testing.T, symbols *symbol.File, rows []string) (all []*trace.Trace, said string, stats trace.TypedStats) {
	t.Helper()
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *trace.Trace) { all = append(all, t) }})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	in := trace.NewTyped(f, trace.TypedOptions{Log: &log, Images: func() *trace.Images { return &trace.Images{Given: []trace.Resolver{symbols}} }})
	if _, err := io.WriteString(in, strings.Join(rows, "\n")); err != nil {
		t.Fatal(err)
	}
	in.Close()
	f.Close()
	return all, log.String(), in.Stats()
}

// frameCalls lists the frames of a trace with all that their addresses tell.
func frameCalls(t *trace.Trace) (all []string) {
	for _, f := range t.Frames {
		s := fmt.Sprintf("%s %#x", f.Kind, f.Address)
		for _, c := range f.Calls {
			s += fmt.Sprintf(" %s+%#x %s:%d", c.Function, c.Offset, c.File, c.Line)
		}
		all = append(all, s)
	}
	return all
}

// bySerial returns the trace of a death that came by a serial line.
func bySerial(t *testing.T, symbols *symbol.File, serial string) *trace.Trace {
	t.Helper()
	var all []*trace.Trace
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *trace.Trace) { all = append(all, t) }})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, serial)
	f.Close()
	if len(all) != 1 {
		t.Fatalf("%d traces by the serial port; want 1", len(all))
	}
	return all[0]
}

// checkTyped checks that a screen, typed, gives the trace that came by the serial port.
func checkTyped(t *testing.T, symbols *symbol.File, rows []string, want *trace.Trace) {
	t.Helper()
	all, said, stats := typeIn(t, symbols, rows)
	if len(all) != 1 || stats.Wrong+stats.Missing > 0 {
		t.Fatalf("%d traces were typed, %+v, said\n%s\nof\n%s\nwant one", len(all), stats, said, strings.Join(rows, "\n"))
	}
	got := all[0]
	if !slices.Equal(frameCalls(got), frameCalls(want)) || got.End != want.End || got.Damaged || got.BuildID != want.BuildID || got.Kind != want.Kind || got.Context != want.Context {
		t.Errorf("typed, the trace is %s %s, end %s, of build %s\n%s\nby the serial port it is %s %s, end %s, of build %s\n%s",
			got.Kind, got.Context, got.End, got.BuildID, strings.Join(frameCalls(got), "\n"),
			want.Kind, want.Context, want.End, want.BuildID, strings.Join(frameCalls(want), "\n"))
	}
}

// irqDeath is a death with frames on two stacks and a trap between.
const irqDeath = "crash=early.in-irq panic=halt"

// TestScreenText: without a serial port the text is on a VGA's screen, and so is a death; a
// picture of it is read and typed, and gives the trace that the serial port gives.
func TestScreenText(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel = path

	// The alphabet, as the kernel complains of it.
	cfg.Append = "console="
	for c := byte('!'); c <= '~'; c++ {
		if c != '"' && c != '\\' {
			cfg.Append += string(c)
		}
	}
	complaint := cfg.Append + " is ignored: want com1, vga or both"
	cfg.Append += " crash=early.spin"
	vm, _ := start(t, cfg, "")
	rows := waitText(t, vm, "kernel  ")
	// Two rows, as it is longer than one.
	if got := rows[0] + strings.TrimRight(rows[1], " "); got != complaint {
		t.Errorf("the first rows are %q; want %q", got, complaint)
	}
	var p picture
	var abc letters
	for end := time.Now().Add(patience); ; {
		time.Sleep(500 * time.Millisecond) // QEMU draws by and by
		p, abc = shoot(t, vm), letters{}
		if err := abc.learn(&p, vgaText(t, vm), 9, 16); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the picture of the text: %v", err)
		}
	}
	vm.Kill()

	cfg.Append = irqDeath
	vm, _ = start(t, cfg, "")
	text := waitText(t, vm, "the end: zero")
	var seen []string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		p = shoot(t, vm)
		if seen = abc.read(&p, 9, 16); strings.Contains(strings.Join(seen, "\n"), "the end: zero") {
			break
		}
	}
	for i := range text {
		if got := seen[i]; got != strings.TrimRight(text[i], " ") {
			t.Errorf("row %d of the picture is %q; the screen's memory has %q", i, got, text[i])
		}
	}
	if !strings.HasPrefix(seen[0], "zeroframe died: fault in early context") || seen[1] != "nil pointer dereference, write to 0x18" {
		t.Errorf("the page begins with %q", seen[:2])
	}
	vm.Kill()

	cfg = Config{Kernel: path}
	_, _, serial := boot(t, cfg, "crash=early.in-irq")
	checkTyped(t, symbols, seen, bySerial(t, symbols, serial))

	// The same page with one wrong character: it is named.
	bad := slices.Clone(seen)
	if bad[3] = strings.Replace(bad[3], bad[3][6:7], "7", 1); bad[3] == seen[3] {
		bad[3] = strings.Replace(seen[3], seen[3][6:7], "3", 1)
	}
	if _, said, stats := typeIn(t, symbols, bad); stats.Wrong != 1 || !strings.Contains(said, "line 01 is wrong") {
		t.Errorf("with %q for %q: %+v, said %s", bad[3], seen[3], stats, said)
	}
}

// TestScreenPixels: GRUB under UEFI gives pixels; what is on them is the text that a VGA
// shows of the same death.
func TestScreenPixels(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, irqDeath
	vm, _ := start(t, cfg, "")
	text := waitText(t, vm, "the end: zero")
	vm.Kill()
	for i := range text {
		text[i] = strings.TrimRight(text[i], " ")
	}

	disc := filepath.Join(t.TempDir(), "lab.iso")
	if _, err := iso.Make(t.Context(), iso.Options{Kernel: path, Cmdline: irqDeath, Output: disc}); err != nil {
		t.Fatal(err)
	}
	cfg = withVGA
	cfg.CDROM, cfg.UEFI, cfg.MemoryMiB = disc, true, 256
	vm, _ = start(t, cfg, "")
	var p picture
	var wrong error
	var abc letters
	for end := time.Now().Add(patience); ; time.Sleep(time.Second) {
		p = shoot(t, vm)
		abc = letters{}
		if wrong = abc.learn(&p, text[:len(text)-1], 8, 16); wrong == nil { // the foot is elsewhere
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the picture of %dx%d is not that of\n%s\n%v", p.width, p.height, strings.Join(text, "\n"), wrong)
		}
	}
	if p.width != 800 || p.height != 600 {
		t.Errorf("the picture is %dx%d; want GRUB's 800x600", p.width, p.height)
	}
	vm.Kill()
	seen := abc.read(&p, 8, 16)
	for i, row := range text[:len(text)-1] {
		if seen[i] != row {
			t.Errorf("row %d is %q; want %q", i, seen[i], row)
		}
	}
	_, _, serial := boot(t, Config{Kernel: path}, "crash=early.in-irq")
	checkTyped(t, symbols, seen, bySerial(t, symbols, serial))
}

// TestScreenPages: what comes behind the first fault does not hide it: it is on pages that a
// key turns.
func TestScreenPages(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, "crash=early.overflow panic=halt"
	vm, _ := start(t, cfg, "")
	first := waitText(t, vm, "the end: limit")
	if all, said, _ := typeIn(t, symbols, first); len(all) != 1 || len(all[0].Frames) != 128 {
		t.Errorf("an endless recursion takes more than a page: %d traces, said %s", len(all), said)
	}
	vm.Kill()

	// A fault in the panic path, below the first one and on the next page.
	cfg.Append = "crash=early.nested crash.rung=1 panic=halt"
	vm, _ = start(t, cfg, "")
	page := waitText(t, vm, " any key")
	if !strings.HasPrefix(page[1], "nil pointer dereference") || !strings.HasPrefix(page[2], "00 0 ") || !strings.HasPrefix(page[3], "01 1 ") {
		t.Errorf("the first fault is not at the top of\n%s", strings.Join(page, "\n"))
	}
	next := turnPage(t, vm)
	all, said, _ := typeIn(t, symbols, append(page, next...))
	if len(all) != 2 || !all[0].Cut || !all[1].Complete() || all[0].Frames[0].Calls[0].Function != "main.nestedC" {
		t.Errorf("typed, the pages\n%s\n%s\nare %d traces, said %s; want the first one, cut, and that of the fault in the panic path",
			strings.Join(page, "\n"), strings.Join(next, "\n"), len(all), said)
	}
	vm.Kill()

	// All goroutines wait, and each has a trace. What is on each page is not typed twice.
	cfg.Append = "crash=go.hang watchdog=2 panic=halt"
	vm, _ = start(t, cfg, "")
	page = waitText(t, vm, "1/3 any key")
	next = turnPage(t, vm)
	for i, row := range page[1:5] {
		if strings.TrimRight(next[1+i], " ") != "#"+strings.TrimRight(row, " ") {
			t.Errorf("row %d of the second page is %q; want %q with a mark", 1+i, next[1+i], row)
		}
	}
	all, said, stats := typeIn(t, symbols, slices.Concat(page, next, turnPage(t, vm)))
	if len(all) < 4 || stats.Wrong+stats.Missing > 0 {
		t.Errorf("three pages are %d traces, %+v, said %s; want that of each goroutine", len(all), stats, said)
	}
	for _, tr := range all {
		if !tr.Complete() {
			t.Errorf("a trace ends with %q, damaged: %s", tr.End, tr.Damage)
		}
	}
}

// turnPage presses a key, and returns the page that comes then.
func turnPage(t *testing.T, vm *VM) []string {
	t.Helper()
	before := vgaText(t, vm)
	if _, err := vm.QMP("send-key", map[string]any{"keys": []any{map[string]string{"type": "qcode", "data": "spc"}}}); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		// All of it: the foot is drawn last.
		if now := vgaText(t, vm); now[24] != before[24] {
			return now
		}
		if time.Now().After(end) {
			t.Fatalf("a key does not turn\n%s", strings.Join(before, "\n"))
		}
	}
}

// TestScreenDeaths: of other deaths too what is typed is what the serial port of the same boot
// says, but for frames that the host finds in the words of the stack, which only that has.
func TestScreenDeaths(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, kind := range []string{"early.nil-call", "early.bounds", "early.ra-smashed", "early.leaf", "early.double-fault", "early.kernel-panic"} {
		vm, out := start(t, Config{Kernel: path, Extra: withVGA.Extra, Timeout: withVGA.Timeout, Append: "crash=" + kind + " panic=halt"}, "")
		rows := waitText(t, vm, "the end: ")
		out.waitFor(t, "zf1 done")
		want := bySerial(t, symbols, out.String()[:strings.LastIndex(out.String(), "\n")+1])
		vm.Kill()
		want.Frames = slices.DeleteFunc(want.Frames, func(f trace.Frame) bool { return f.Repaired || f.Source != "" })
		if want.WalkEnd != "" {
			want.End = want.WalkEnd
		}
		checkTyped(t, symbols, rows, want)
	}
}

// TestScreenNMI: a trace that was asked for is a part of the text, and the text goes on.
func TestScreenNMI(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, "crash=early.spin"
	vm, _ := start(t, cfg, "")
	waitText(t, vm, "kernel  ")
	for n := 1; n <= 2; n++ {
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		rows := waitText(t, vm, "the end: zero")
		for end := time.Now().Add(patience); strings.Count(strings.Join(rows, "\n"), "the end: zero") < n; rows = vgaText(t, vm) {
			if time.Now().After(end) {
				t.Fatalf("after %d NMIs the screen has\n%s", n, strings.Join(rows, "\n"))
			}
		}
		all, said, _ := typeIn(t, symbols, rows)
		if len(all) != n || all[n-1].Kind != "nmi" || !all[n-1].Complete() || len(all[n-1].Frames) < 5 {
			t.Errorf("after %d NMIs %d traces, said %s, of\n%s", n, len(all), said, strings.Join(rows, "\n"))
		}
	}
}

// TestScreenChoice: who has the text, and who a death.
func TestScreenChoice(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	const report, death = "loader  qemu, multiboot", "zeroframe died: "
	for _, tt := range []struct {
		name, option     string
		serial           bool // there is one
		onSerial         bool // all is there
		onScreen, deadOn bool // the text, and a death
	}{
		{"default", "", true, true, false, true},
		{"com1", "console=com1 ", true, true, false, false},
		{"vga", "console=vga ", true, false, true, true},
		{"both", "console=both ", true, true, true, true},
		{"no serial port", "", false, false, true, true},
	} {
		cfg := withVGA
		cfg.Kernel, cfg.NoSerial = path, !tt.serial
		cfg.Append = tt.option + "crash=early.spin"
		vm, out := start(t, cfg, "")
		if tt.onSerial {
			out.waitFor(t, "kernel  ")
		} else {
			waitText(t, vm, "kernel  ")
		}
		if got := strings.Contains(strings.Join(vgaText(t, vm), "\n"), report); got != tt.onScreen {
			t.Errorf("%s: the text on the screen: %v; want %v", tt.name, got, tt.onScreen)
		}
		vm.Kill()
		vm.Wait()
		if got := strings.Contains(out.String(), report); got != tt.onSerial {
			t.Errorf("%s: the text on the serial port: %v; want %v", tt.name, got, tt.onSerial)
		}

		cfg.Append = tt.option + "crash=early.nil-write panic=halt"
		vm, out = start(t, cfg, "")
		if tt.onSerial {
			out.waitFor(t, "zf1 done")
		}
		if tt.deadOn {
			waitText(t, vm, death)
		} else if strings.Contains(strings.Join(vgaText(t, vm), "\n"), death) {
			t.Errorf("%s: a death is on the screen", tt.name)
		}
		vm.Kill()
	}

	// Neither: it dies all the same, and nothing hangs.
	res, err, serial := boot(t, Config{Kernel: path, NoSerial: true}, "crash=early.nil-write")
	if res.Outcome != Traced || err != nil || serial != "" {
		t.Errorf("without a serial port and a screen: %v, %v, %q; want a trace that nobody sees", res.Outcome, err, serial)
	}
}
