package qemu

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/await"
	"github.com/zeroframe/zeroframe/tools/image"
	"github.com/zeroframe/zeroframe/tools/iso"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/typed"
	"github.com/zeroframe/zeroframe/tools/wire"
)

// The screen, looked at: pictures of it are read glyph by glyph, and what stands there is
// typed. The shapes of the characters are learnt from a picture whose text is known.

// typeIn types what is on a screen, and returns the traces and what was said of it.
func typeIn(t *testing.T, symbols *symbol.File, rows []string) (all []*wire.Trace, said string, stats typed.Stats) {
	t.Helper()
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *wire.Trace) { all = append(all, t) }})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	in := typed.New(f, typed.Options{Log: &log, Images: func() *lookup.Images { return &lookup.Images{Given: []lookup.Resolver{symbols}} }})
	if _, err := io.WriteString(in, strings.Join(rows, "\n")); err != nil {
		t.Fatal(err)
	}
	in.Close()
	f.Close()
	return all, log.String(), in.Stats()
}

// frameCalls lists the frames of a trace with all that their addresses tell.
func frameCalls(t *wire.Trace) (all []string) {
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
func bySerial(t *testing.T, symbols *symbol.File, serial string) *wire.Trace {
	t.Helper()
	var all []*wire.Trace
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *wire.Trace) { all = append(all, t) }})
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
func checkTyped(t *testing.T, symbols *symbol.File, rows []string, want *wire.Trace) {
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
	complaint := cfg.Append + " is ignored: want com1, vga, both or virtio"
	cfg.Append += " crash=early.spin"
	vm, _ := start(t, cfg, "")
	rows := waitText(t, vm, "spinning")
	// Two rows, as it is longer than one.
	if got := rows[0] + strings.TrimRight(rows[1], " "); got != complaint {
		t.Errorf("the first rows are %q; want %q", got, complaint)
	}
	var p picture
	var abc letters
	await.Poll(t, "QEMU has drawn the text", func() bool {
		p, abc = shoot(t, vm), letters{}
		return abc.learn(&p, vgaText(t, vm), 9, 16) == nil
	})
	vm.Kill()

	cfg.Append = irqDeath
	vm, _ = start(t, cfg, "")
	text := waitText(t, vm, "the end: zero")
	var seen []string
	await.Poll(t, "QEMU has drawn the end", func() bool {
		p = shoot(t, vm)
		seen = abc.read(&p, 9, 16)
		return strings.Contains(strings.Join(seen, "\n"), "the end: zero")
	})
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
	_, serial, _ := boot(t, cfg, "crash=early.in-irq")
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
	if _, err := iso.Make(t.Context(), iso.Options{Kernel: path, Cmdline: irqDeath, Output: disc, WantScreen: image.WantScreen}); err != nil {
		t.Fatal(err)
	}
	cfg = withVGA
	cfg.CDROM, cfg.UEFI, cfg.MemoryMiB = disc, true, 256
	vm, _ = start(t, cfg, "")
	var p picture
	var abc letters
	await.Poll(t, "QEMU has drawn\n"+strings.Join(text, "\n"), func() bool {
		p, abc = shoot(t, vm), letters{}
		return abc.learn(&p, text[:len(text)-1], 8, 16) == nil // the foot is elsewhere
	})
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
	_, serial, _ := boot(t, Config{Kernel: path}, "crash=early.in-irq")
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
	first := waitText(t, vm, "the end: zero")
	if all, said, _ := typeIn(t, symbols, first); len(all) != 1 || !all[0].Complete() || !slices.ContainsFunc(all[0].Frames, func(f wire.Frame) bool { return f.Repeat > 1000 }) {
		t.Errorf("an endless recursion is not on one page: %d traces, said %s", len(all), said)
	}
	vm.Kill()

	// A fault in the panic path, below the first one and on the next page.
	cfg.Append = "crash=early.nested crash.stage=1 panic=halt"
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
	cfg.Append, cfg.Extra = "crash=go.hang watchdog=2 panic=halt", slices.Concat(cfg.Extra, virtualTime)
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
	// All of it: the foot is drawn last.
	return waitScreen(t, vm, func(now []string) bool { return now[24] != before[24] })
}

// TestScreenDeaths: of other deaths too what is typed is what the serial port of the same boot
// says, but for frames that the host finds in the words of the stack, which only that has.
func TestScreenDeaths(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, kind := range []string{"early.nil-call", "early.bounds", "early.ra-smashed", "early.leaf", "early.double-fault", "early.kernel-panic"} {
		vm, out := start(t, Config{Kernel: path, Extra: withVGA.Extra, Append: "crash=" + kind + " panic=halt"}, "")
		rows := waitText(t, vm, "the end: ")
		out.For(t, "zf1 done")
		want := bySerial(t, symbols, out.String()[:strings.LastIndex(out.String(), "\n")+1])
		vm.Kill()
		want.Frames = slices.DeleteFunc(want.Frames, func(f wire.Frame) bool { return f.Repaired || f.Source != "" })
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
	waitText(t, vm, "spinning")
	for n := 1; n <= 2; n++ {
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		// The row that says the end is not the trace's last.
		var all []*wire.Trace
		var said string
		rows := waitScreen(t, vm, func(rows []string) bool {
			all, said, _ = typeIn(t, symbols, rows)
			return len(all) == n && all[n-1].Complete()
		})
		if all[n-1].Kind != "nmi" || len(all[n-1].Frames) < 5 {
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
			out.For(t, "kernel  ")
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
			out.For(t, "zf1 done")
		}
		if tt.deadOn {
			waitText(t, vm, death)
		} else if strings.Contains(strings.Join(vgaText(t, vm), "\n"), death) {
			t.Errorf("%s: a death is on the screen", tt.name)
		}
		vm.Kill()
	}

	// Neither: it dies all the same, and nothing hangs.
	res, serial, err := boot(t, Config{Kernel: path, NoSerial: true}, "crash=early.nil-write")
	if res.Outcome != Traced || err != nil || serial != "" {
		t.Errorf("without a serial port and a screen: %v, %v, %q; want a trace that nobody sees", res.Outcome, err, serial)
	}
}
