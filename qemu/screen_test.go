package qemu

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/format/photo"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// The screen, looked at: pictures of it are read glyph by glyph, and their codes are read. The
// shapes of the characters are learnt from a picture whose text is known.

// pressKey presses a key of the machine.
func pressKey(t *testing.T, vm *VM) {
	t.Helper()
	if _, err := vm.QMP("send-key", map[string]any{"keys": []any{map[string]string{"type": "qcode", "data": "spc"}}}); err != nil {
		t.Fatal(err)
	}
}

// shootCodes takes a picture of each code of a machine's screen: n pages, or as many as the first
// code says that its trace has.
func shootCodes(t *testing.T, vm *VM, n int) (pictures []picture) {
	t.Helper()
	seen, last := map[string]bool{}, ""
	for len(pictures) < max(n, 1) {
		var p picture
		await.Poll(t, fmt.Sprintf("code %d is on the screen", len(pictures)+1), func() bool {
			p = shoot(t, vm)
			part, err := photo.ReadPart(p.image())
			key := fmt.Sprint(part)
			if err != nil || key == last {
				return false
			}
			last = key
			if seen[key] { // pages turn by themselves, too: one was passed over, and comes again behind the last
				pressKey(t, vm)
				return false
			}
			seen[key] = true
			n = cmp.Or(n, part.Parts)
			return true
		})
		if pictures = append(pictures, p); len(pictures) < n {
			pressKey(t, vm)
		}
	}
	return pictures
}

// turnToSecond turns to the second page, and returns it with the number of all codes: when pages
// turn, all of them are there.
func turnToSecond(t *testing.T, vm *VM) (page []string, n int) {
	t.Helper()
	pressKey(t, vm)
	page = besideCode(waitText(t, vm, "code 2 of "))
	if _, err := fmt.Sscanf(page[24], "code 2 of %d", &n); err != nil {
		t.Fatalf("the foot is %q: %v", page[24], err)
	}
	return page, n
}

// readCodes reads the traces whose codes are on pictures, and returns what is wrong with them.
func readCodes(t *testing.T, symbols *symbol.File, pictures []picture) (all []*wire.Trace, wrong []string) {
	t.Helper()
	var set photo.Set
	for i := range pictures {
		part, err := photo.ReadPart(pictures[i].image())
		if err != nil {
			t.Fatalf("picture %d: %v", i, err)
		}
		set.Add(part)
	}
	lines, wrong := set.Lines()
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *wire.Trace) { all = append(all, t) }})
	if err != nil {
		t.Fatal(err)
	}
	f.Write(lines)
	f.Close()
	return all, wrong
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

// checkCodes checks that the codes on pictures give the trace that came by the serial port.
func checkCodes(t *testing.T, symbols *symbol.File, pictures []picture, want *wire.Trace) {
	t.Helper()
	all, wrong := readCodes(t, symbols, pictures)
	if len(all) != 1 || len(wrong) > 0 {
		t.Fatalf("%d pictures are %d traces, wrong is %q; want one", len(pictures), len(all), wrong)
	}
	got := all[0]
	if !slices.Equal(frameCalls(got), frameCalls(want)) || got.End != want.End || got.Damaged || got.BuildID != want.BuildID ||
		got.Kind != want.Kind || got.Context != want.Context || got.Reason != want.Reason || len(got.Registers) != len(want.Registers) || len(got.Stacks) != len(want.Stacks) {
		t.Errorf("by its codes the trace is %s %s, end %s, of build %s, %d registers, %d stacks\n%s\nby the serial port it is %s %s, end %s, of build %s, %d registers, %d stacks\n%s",
			got.Kind, got.Context, got.End, got.BuildID, len(got.Registers), len(got.Stacks), strings.Join(frameCalls(got), "\n"),
			want.Kind, want.Context, want.End, want.BuildID, len(want.Registers), len(want.Stacks), strings.Join(frameCalls(want), "\n"))
	}
}

// textColumns is how many columns of a VGA are beside the code.
const textColumns = 30

// besideCode returns the text of a screen beside its code.
func besideCode(rows []string) (all []string) {
	for _, row := range rows {
		all = append(all, strings.TrimRight(row[:min(textColumns, len(row))], " "))
	}
	return all
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
	var seen []string
	// The last row is another one when the code is there, and the guest may draw it between the two
	// readings.
	await.Poll(t, "QEMU has drawn the end, and each row as it is in the screen's memory", func() bool {
		p = shoot(t, vm)
		seen = besideCode(abc.read(&p, 9, 16))
		return slices.Equal(seen[:24], besideCode(vgaText(t, vm))[:24]) && strings.Contains(strings.Join(seen, "\n"), "the end: zero")
	})
	want := []string{"zeroframe died", "fault in early context", "nil pointer dereference, write", "to 0x18", "build " + symbols.BuildID()[:16]}
	if !slices.Equal(seen[:5], want) {
		t.Errorf("the page begins with %q; want %q", seen[:5], want)
	}
	codes := shootCodes(t, vm, 0)
	vm.Kill()

	cfg = Config{Kernel: path}
	_, serial, _ := boot(t, cfg, "crash=early.in-irq")
	checkCodes(t, symbols, codes, bySerial(t, symbols, serial))

	// One page is not photographed: what is missing is said, and what is before it is there.
	n, size := len(codes), 0
	for i := range codes {
		part, _ := photo.ReadPart(codes[i].image())
		size += len(part.Data)
	}
	const most = 7 // the version of the largest code on a VGA
	if room := qr.Capacity(most, qr.L) - qr.HeadBytes; n < 2 || n != (size+room-1)/room {
		t.Fatalf("%d codes for %d bytes; want the fewest of %d bytes each on a VGA, and more than one", n, size, room)
	}
	all, wrong := readCodes(t, symbols, codes[:n-1])
	if len(all) != 1 || !all[0].Cut || len(all[0].Frames) < 3 || !slices.Equal(wrong, []string{fmt.Sprintf("code %d of %[1]d of trace 1 is missing; give a photo of that page, too", n)}) {
		t.Errorf("of all pages but the last of %d: %d traces, wrong is %q", n, len(all), wrong)
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
	text = besideCode(text)[:20]

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
		return abc.learn(&p, text, 8, 16) == nil
	})
	if p.width != 800 || p.height != 600 {
		t.Errorf("the picture is %dx%d; want GRUB's 800x600", p.width, p.height)
	}
	codes := shootCodes(t, vm, 0)
	vm.Kill()
	seen := besideCode(abc.read(&p, 8, 16))
	for i, row := range text {
		if seen[i] != row {
			t.Errorf("row %d is %q; want %q", i, seen[i], row)
		}
	}
	_, serial, _ := boot(t, Config{Kernel: path}, "crash=early.in-irq")
	checkCodes(t, symbols, codes, bySerial(t, symbols, serial))
}

// TestScreenPages: what comes behind the first fault does not hide it: it is on pages that a
// key turns, and each trace has its codes.
func TestScreenPages(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, "crash=early.overflow panic=halt"
	vm, _ := start(t, cfg, "")
	all, wrong := readCodes(t, symbols, shootCodes(t, vm, 0))
	if len(all) != 1 || !all[0].Complete() || len(wrong) > 0 || !slices.ContainsFunc(all[0].Frames, func(f wire.Frame) bool { return f.Repeat > 1000 }) {
		t.Errorf("of an endless recursion: %d traces, wrong is %q", len(all), wrong)
	}
	vm.Kill()

	// A fault in the panic path, below the first one. The codes are those of both: the first one's
	// come from the second stage, which has no words of the stack.
	cfg.Append = "crash=early.nested crash.stage=1 panic=halt"
	vm, _ = start(t, cfg, "")
	page := besideCode(waitText(t, vm, " any key"))
	if page[2] != "nil pointer dereference, write" || !strings.HasPrefix(page[4], "build ") || !strings.HasSuffix(page[5], " main.nestedC") {
		t.Errorf("the first fault is not at the top of\n%s", strings.Join(page, "\n"))
	}
	_, n := turnToSecond(t, vm)
	all, wrong = readCodes(t, symbols, shootCodes(t, vm, n))
	if len(all) != 2 || len(wrong) > 0 || !all[0].Complete() || !all[1].Complete() || all[0].Frames[0].Calls[0].Function != "main.nestedC" {
		t.Errorf("the codes are %d traces, wrong is %q; want the first one, and that of the fault in the panic path", len(all), wrong)
	}
	vm.Kill()

	// All goroutines wait, and each has a trace. What the first one was about is on each page.
	cfg.Append, cfg.Extra = "crash=go.hang watchdog=2 panic=halt", slices.Concat(cfg.Extra, virtualTime)
	vm, _ = start(t, cfg, "")
	page = besideCode(waitText(t, vm, " any key"))
	next, of := turnToSecond(t, vm)
	if !slices.Equal(next[:5], page[:5]) {
		t.Errorf("the second page begins with %q; want %q", next[:5], page[:5])
	}
	all, wrong = readCodes(t, symbols, shootCodes(t, vm, of))
	if len(all) < 4 || len(wrong) > 0 {
		t.Errorf("%d codes are %d traces, wrong is %q; want that of each goroutine", of, len(all), wrong)
	}
	for _, tr := range all {
		if !tr.Complete() {
			t.Errorf("a trace ends with %q, damaged: %s", tr.End, tr.Damage)
		}
	}
}

// TestScreenDeaths: of other deaths too what the codes say is what the serial port of the same boot
// says.
func TestScreenDeaths(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, kind := range []string{"early.nil-call", "early.bounds", "early.ra-smashed", "early.leaf", "early.double-fault", "early.kernel-panic"} {
		vm, out := start(t, Config{Kernel: path, Extra: withVGA.Extra, Append: "crash=" + kind + " panic=halt"}, "")
		out.For(t, "zf1 done")
		want := bySerial(t, symbols, out.String()[:strings.LastIndex(out.String(), "\n")+1])
		codes := shootCodes(t, vm, 0)
		vm.Kill()
		checkCodes(t, symbols, codes, want)
	}
}

// TestScreenNMI: a trace that was asked for is a part of the text, and the text goes on.
func TestScreenNMI(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	cfg := withVGA
	cfg.Kernel, cfg.Append = path, "crash=early.spin"
	vm, _ := start(t, cfg, "")
	waitText(t, vm, "spinning")
	for n := 1; n <= 2; n++ {
		if err := vm.InjectNMI(); err != nil {
			t.Fatal(err)
		}
		rows := waitScreen(t, vm, func(rows []string) bool {
			return strings.Count(strings.Join(rows, "\n"), "the end: zero") == n
		})
		frames := 0
		for _, row := range rows {
			var pc uint64
			var name string
			if k, _ := fmt.Sscanf(row, "0x%x %s", &pc, &name); k == 2 {
				frames++
			}
		}
		if frames < 5*n {
			t.Errorf("after %d NMIs %d frames are on\n%s", n, frames, strings.Join(rows, "\n"))
		}
	}
}

// TestScreenChoice: who has the text, and who a death.
func TestScreenChoice(t *testing.T) {
	t.Parallel()
	path, _ := lab(t, image.AllLoaders)
	const report, death = "loader  qemu, multiboot", "zeroframe died"
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
