package qemu

// The memory of a machine that has died, kept in RAM over a warm reset (core=ram): what the next
// boot sends is what the machine had when it died, page for page, and what is not there any more is
// said.

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/iso"
)

// keptInRAM is what a machine says when it has kept its memory, and sentAgain what the next boot
// says.
const (
	keptInRAM = "the next boot sends what is left of them"
	sentAgain = " pages sent in "
	mib       = 1 << 20
)

// saidOfKept is what the next boot says of what it has found.
var saidOfKept = regexp.MustCompile(`core: the boot before has kept (\d+) pages of its memory, of which (\d+) are overwritten(.*)`)

// toReceiver is the command line of a machine that keeps its memory, and sends it to a receiver.
func toReceiver(r *liveReceiver, more string) string {
	return "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=ram core.wait=1000 " + more
}

// ramOf returns the memory of a machine that has halted.
func ramOf(t *testing.T, vm *VM, size int) []byte {
	t.Helper()
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	file := filepath.Join(t.TempDir(), "ram")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0, "size": size, "filename": file}); err != nil {
		t.Fatal(err)
	}
	ram, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ram
}

// reset resets a machine.
func reset(t *testing.T, vm *VM) {
	t.Helper()
	if _, err := vm.QMP("system_reset", nil); err != nil {
		t.Fatal(err)
	}
}

// compareKept is compare for what a boot has sent of the one before. Its own area is no RAM in it,
// and at most that many pages may be lost.
func (p *physical) compareKept(t *testing.T, ram []byte, image string, lost int, said string) {
	t.Helper()
	if m := saidOfKept.FindStringSubmatch(said); m == nil || !strings.Contains(p.text, "\noverwritten="+m[2]+"\n") || !regexp.MustCompile(`^(: |, |\d+ of the rest|\d+ of unused RAM|\r)*$`).MatchString(m[3]) {
		t.Errorf("the machine says %q, the note %q; want the same number, of the rest and of unused RAM", m, p.text)
	} else {
		t.Log(m[0])
	}
	at, size := areaIn(t, ram)
	if p.page(uint64(at)) != nil {
		t.Errorf("the area, at %#x, is in the dump", at)
	}
	same, differ := p.pagesOf(t, ram, image)
	if want := (len(ram)-size)>>12 - 150 - lost; differ > 84+p.card || same < want {
		t.Errorf("%d pages are the same, %d differ; want at least %d and at most %d", same, differ, want, 84+p.card)
	}
}

// unchangedSince compares what was not copied with what the machine had when it died.
func (p *physical) unchangedSince(t *testing.T, died []byte) {
	t.Helper()
	for _, g := range p.Progs[1:] {
		got := make([]byte, g.Filesz)
		if _, err := g.ReadAt(got, 0); err != nil {
			t.Fatal(err)
		}
		for off := uint64(0); off < g.Filesz; off += 4096 {
			if a := g.Paddr + off; a >= 16*mib && !bytes.Equal(got[off:off+4096], died[a:a+4096]) {
				t.Errorf("the page at %#x is not what it was", a)
			}
		}
	}
}

// areaIn finds the area in a machine's RAM.
func areaIn(t *testing.T, ram []byte) (at, size int) {
	t.Helper()
	for at = 0; at < len(ram); at += 2 * mib {
		if bytes.HasPrefix(ram[at:], []byte("zfkept")) {
			return at, int(binary.LittleEndian.Uint64(ram[at+24:]))
		}
	}
	t.Fatal("nothing is kept")
	return 0, 0
}

// TestDumpKept: the program dies, the machine is reset, and the next boot sends what the first had,
// but for a few pages that nobody has used.
func TestDumpKept(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	for _, tt := range []struct {
		machine, card string
		cpus          int
	}{{"q35", "e1000", 2}, {"pc", "virtio", 1}, {"microvm", "virtio", 2}} {
		t.Run(tt.machine, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			r := startReceiver(t, "-cores", folder, "-lines", "never", "-e", image)
			vm, out := start(t, Config{Kernel: image, Machine: tt.machine, CPUs: tt.cpus, Net: tt.card, Reboots: 1,
				Append: toReceiver(r, "panic=halt")}, "")
			out.For(t, keptInRAM)
			ram := ramOf(t, vm, 128*mib)
			reset(t, vm)
			out.For(t, sentAgain)
			d := openDump(t, dumpOf(t, r, folder))
			if tt.card == "e1000" {
				d.card = e1000Pages
			}
			d.checkNumbers(t, image)
			d.compareKept(t, ram, image, 32, out.String())
			if !strings.Contains(d.text, "kept=1\n") || !strings.Contains(d.text, "cpu0=") {
				t.Errorf("the note says %q; want it to say that the memory was kept", d.text)
			}
			r.end(t)
		})
	}
}

// TestDumpKeptByLoaders: GRUB, from BIOS and from UEFI, takes memory of its own before the next
// boot. What it has overwritten is said, and no page is there that is not what it was.
func TestDumpKeptByLoaders(t *testing.T) {
	t.Parallel()
	path := program(t, "dumped")
	for _, uefi := range []bool{false, true} {
		name := map[bool]string{false: "BIOS", true: "UEFI"}[uefi]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder, disc := t.TempDir(), filepath.Join(t.TempDir(), "dumped.iso")
			r := startReceiver(t, "-cores", folder, "-lines", "never", "-e", path)
			if _, err := iso.Make(t.Context(), iso.Options{Kernel: path, Cmdline: toReceiver(r, "panic=halt"), Output: disc}); err != nil {
				t.Fatal(err)
			}
			vm, out := start(t, Config{CDROM: disc, UEFI: uefi, MemoryMiB: 256, Net: "virtio", Reboots: 2}, "")
			out.For(t, keptInRAM)
			ram := ramOf(t, vm, 256*mib)
			reset(t, vm)
			out.For(t, sentAgain)
			d := openDump(t, dumpOf(t, r, folder))
			d.checkNumbers(t, path)
			d.compareKept(t, ram, path, 5000, out.String())
			r.end(t)
		})
	}
}

// TestDumpKeptInDebuggers: what two CPUs' machine has kept is a core in which Delve and zf
// goroutines have every goroutine, and Delve the variables.
func TestDumpKeptInDebuggers(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", image)
	// panic=reset is what a machine does without a hand.
	vm, out := start(t, Config{Kernel: image, CPUs: 2, Net: "virtio", Reboots: 1, Append: toReceiver(r, "panic=reset -- 1")}, "")
	out.For(t, sentAgain)
	core := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(zfCommand(t), "core", "-e", image, "-o", core, "-dump", dumpOf(t, r, folder)).CombinedOutput(); err != nil {
		t.Fatalf("zf core: %v: %s", err, out)
	}
	said := delveSays(t, image, core, "goroutines", "print main.where", "print len(main.numbers)")
	if n := strings.Count(said, "main.wait "); n != 20 {
		t.Errorf("Delve has %d goroutines in main.wait; want 20:\n%s", n, said)
	}
	for _, want := range []string{"main.main", "6874026186120854111", "1048576"} {
		if !strings.Contains(said, want) {
			t.Errorf("Delve does not say %q:\n%s", want, said)
		}
	}
	all, err := exec.Command(zfCommand(t), "goroutines", "-e", image, core).CombinedOutput()
	if err != nil || !bytes.Contains(all, []byte("main.wait(")) || !bytes.Contains(all, []byte("20 goroutines")) {
		t.Errorf("zf goroutines: %v, %s", err, all)
	}
	if res, err := vm.Wait(); err == nil {
		t.Errorf("the machine: %v; want a second reset", res.Outcome)
	}
	r.end(t)
}

// TestDumpKeptSecrets: what a program has marked is neither in what the next boot sends nor in the
// RAM of the machine that has died.
func TestDumpKeptSecrets(t *testing.T) {
	t.Parallel()
	image := program(t, "secrets")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", image)
	vm, out := start(t, Config{Kernel: image, Net: "virtio", Reboots: 1, Append: toReceiver(r, "panic=halt")}, "")
	out.For(t, keptInRAM)
	ram := ramOf(t, vm, 128*mib)
	reset(t, vm)
	out.For(t, sentAgain)
	b, err := os.ReadFile(dumpOf(t, r, folder))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"SEcret-T", "TEcret-U", "VEcret-W"} {
		if n, all := bytes.Count(b, []byte(word)), bytes.Count(ram, []byte(word)); n != 0 || all != 0 {
			t.Errorf("%q is in the dump %d times, in the machine that has died %d times; want 0", word, n, all)
		}
	}
	for word, n := range map[string]int{"OPcret-P": 5000 / 8, "WAcret-X": 800 / 8} {
		if got := bytes.Count(b, []byte(word)); got < n {
			t.Errorf("%q is in the dump %d times; want %d", word, got, n)
		}
	}
	if !bytes.Contains(b, []byte("hidden=12477\n")) {
		t.Error("the note does not say how many bytes are left out")
	}
	r.end(t)
}

// TestDumpKeptDamaged: one machine dies, and others boot with its RAM, of which something has been
// changed meanwhile.
func TestDumpKeptDamaged(t *testing.T) {
	t.Parallel()
	path := program(t, "dumped")
	other, _ := lab(t, image.AllLoaders)
	file := filepath.Join(t.TempDir(), "ram")
	first := startReceiver(t, "-e", path)
	vm, out := start(t, Config{Kernel: path, RAM: file, Net: "virtio", Append: toReceiver(first, "panic=halt -- 1")}, "")
	out.For(t, keptInRAM)
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	vm.Kill()
	vm.Wait()
	first.end(t)
	died, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := areaIn(t, died)
	marks := int(binary.LittleEndian.Uint64(died[at+40:]))
	// A page of the program's heap, which has the numbers.
	numbers := bytes.Index(died, binary.LittleEndian.AppendUint64(nil, 6364136223846793005+1442695040888963407)) &^ 4095
	if numbers < 0 {
		t.Fatalf("the numbers are at %#x", numbers)
	}
	sum := func(b []byte) { // makes the description whole again
		n := binary.LittleEndian.Uint32(b[at+12:])
		binary.LittleEndian.PutUint32(b[at+8:], crc32.Checksum(b[at+12:at+int(n)], crc32.MakeTable(crc32.Castagnoli)))
	}
	const refusal = "core: the memory that the boot before has kept is not sent: "
	for _, tt := range []struct {
		name   string
		change func(b []byte)
		kernel string
		want   string
		sent   bool
	}{
		{"description", func(b []byte) { b[at+200] ^= 4 }, path, refusal + "its description is damaged", false},
		{"length", func(b []byte) { b[at+14] ^= 4 }, path, refusal + "its description is damaged", false},
		{"version", func(b []byte) { b[at+7]++ }, path, refusal + "another version of Zeroframe has kept it, in another form", false},
		{"nonsense", func(b []byte) { b[at+48] = 65; sum(b) }, path, refusal + "its description makes no sense", false},
		{"too large", func(b []byte) { b[at+29] = 1; sum(b) }, path, refusal + "this boot needs the memory where it is", false},
		{"tried", func(b []byte) { b[at+16] = 3; sum(b) }, path, refusal + "boots have ended while they sent it", false},
		{"gone", func(b []byte) { clear(b[at:]) }, path, "core: the boot before has left no memory to be sent", false},
		{"page", func(b []byte) { b[numbers+4000] ^= 4 }, path, " of heap", true},
		{"marks", func(b []byte) { clear(b[marks : marks+8*len(died)>>12/2]) }, path, "core: the boot before has kept ", true},
		{"another build", func([]byte) {}, other, "core: the boot before was of another build: ", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := bytes.Clone(died)
			tt.change(b)
			file, folder := filepath.Join(t.TempDir(), "ram"), t.TempDir()
			if err := os.WriteFile(file, b, 0o600); err != nil {
				t.Fatal(err)
			}
			r := startReceiver(t, "-cores", folder, "-e", path)
			_, out := start(t, Config{Kernel: tt.kernel, RAM: file, Net: "virtio", Append: toReceiver(r, "panic=halt report=off crash=go.spin")}, "")
			out.For(t, tt.want)
			if !tt.sent {
				out.For(t, "ready to die")
				if said := out.String(); strings.Contains(said, "sending") || strings.Count(said, "core: ") != 1 {
					t.Errorf("the machine says %q; want nothing sent, and one line about it", said)
				}
				if all, _ := filepath.Glob(filepath.Join(folder, "*")); len(all) > 0 {
					t.Errorf("the folder has %q", all)
				}
				return
			}
			out.For(t, sentAgain)
			d := openDump(t, dumpOf(t, r, folder))
			d.unchangedSince(t, died)
			switch tt.name {
			case "page":
				if d.page(uint64(numbers)) != nil {
					t.Error("the page that was changed is in the dump")
				}
				if d.page(uint64(numbers)+4096) == nil {
					t.Error("the page behind the one that was changed is not in the dump")
				}
			case "another build":
				d.checkNumbers(t, path)
			}
		})
	}
}

// TestDumpKeptLater: when nobody takes it, the boot after that tries again; what the program has
// overwritten meanwhile is said. What has been sent is not sent again.
func TestDumpKeptLater(t *testing.T) {
	t.Parallel()
	path := program(t, "dumped")
	other, _ := lab(t, image.AllLoaders)
	file, folder := filepath.Join(t.TempDir(), "ram"), t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", path)
	next := func(kernel, options, want string) string {
		t.Helper()
		vm, out := start(t, Config{Kernel: kernel, RAM: file, Net: "virtio", Append: options}, "")
		out.For(t, want)
		vm.Kill()
		vm.Wait()
		return out.String()
	}
	next(path, toReceiver(r, "panic=halt -- 1"), keptInRAM)
	died, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const nobody = "netconsole=@10.0.2.15/,9@10.0.2.200/ core=ram core.wait=0 crash=go.spin"
	if said := next(other, nobody, "spinning"); !strings.Contains(said, "core: the next boot tries again, with what is left then") {
		t.Errorf("the boot that nobody has answered says %q", said)
	}
	said := next(other, toReceiver(r, "crash=go.spin"), "spinning") // behind what is sent
	d := openDump(t, dumpOf(t, r, folder))
	d.unchangedSince(t, died)
	if m := saidOfKept.FindStringSubmatch(said); m == nil || m[2] == "0" || !strings.Contains(m[3], " of heap") || !strings.Contains(d.text, "\noverwritten="+m[2]+"\n") {
		t.Errorf("the machine says %q, the note %q; want both to say that the program has overwritten pages of the heap", m, d.text)
	}
	if !strings.Contains(d.text, "cpu0=died\n") || d.page(d.root) == nil {
		t.Errorf("CPU 0 or the page tables are missing: %q", d.text)
	}
	said = next(other, toReceiver(r, "crash=go.spin"), "spinning")
	if strings.Contains(said, "core: ") {
		t.Errorf("the last boot says %q; want nothing of what has been sent", regexp.MustCompile(`core: .*`).FindAllString(said, -1))
	}
	r.end(t)
}

// TestDumpKeptSealed: the second serial port brings it, too, encrypted for who has the key.
func TestDumpKeptSealed(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	key := filepath.Join(t.TempDir(), "key")
	option, err := exec.Command(zfReceive(t), "-new-key", key).Output()
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	vm, out := start(t, Config{Kernel: image, CPU: "max", Records: &line, Reboots: 1,
		Append: "core=ram core.by=com2 core.time=10 panic=reset " + strings.TrimSpace(string(option)) + " -- 1"}, "")
	out.For(t, sentAgain)
	vm.Wait()
	file, folder := filepath.Join(t.TempDir(), "line"), t.TempDir()
	if err := os.WriteFile(file, line.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(zfReceive(t), "-com2", file, "-cores", folder, "-key", key).CombinedOutput(); err != nil {
		t.Fatalf("zf receive: %v: %s", err, out)
	}
	all, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(all) != 1 {
		t.Fatalf("the folder has %q; want one dump", all)
	}
	d := openDump(t, all[0])
	if d.page(d.root) == nil {
		t.Error("the page tables are not there")
	}
	if bytes.Contains(line.Bytes(), []byte("_zwhere_")) {
		t.Error("the memory is on the line as it is")
	}
}
