package qemu

// The memory of a machine that has died, sent by itself: what zf receive has written is what QEMU
// says of the machine, page for page, and what the program had is found in it by way of the page
// tables.

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/await"
	"github.com/zeroframe/zeroframe/qemu/lossy"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// physical is a dump, by physical addresses.
type physical struct {
	*elf.File
	root uint64
	text string // our note
	card int    // pages of the card's buffers, which change while the dump is sent
}

// The pages that a card has.
const virtioPages, e1000Pages = 64, 162

func openDump(t *testing.T, path string) *physical {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	p := &physical{File: f, card: virtioPages}
	note, err := io.ReadAll(f.Progs[0].Open())
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := bytes.Cut(note, []byte("build="))
	p.text = "build=" + string(text)
	if _, err := fmt.Sscanf(p.text[strings.Index(p.text, "root=")+5:], "%v", &p.root); err != nil {
		t.Fatalf("no root in %q: %v", p.text, err)
	}
	return p
}

// page reads the page at a physical address; nil if the dump has not got it.
func (p *physical) page(at uint64) []byte {
	for _, g := range p.Progs {
		if g.Type == elf.PT_LOAD && at >= g.Paddr && at-g.Paddr < g.Filesz {
			b := make([]byte, 4096)
			if _, err := g.ReadAt(b, int64(at-g.Paddr)); err != nil {
				return nil
			}
			return b
		}
	}
	return nil
}

// virtual reads n bytes at an address of the program.
func (p *physical) virtual(t *testing.T, at, n uint64) (all []byte) {
	t.Helper()
	for uint64(len(all)) < n {
		e, size := p.root, uint64(0)
		for level := 3; level >= 0; level-- {
			table := p.page(e & 0x000f_ffff_ffff_f000)
			if table == nil {
				t.Fatalf("a page table at %#x is not in the dump", e)
			}
			e = binary.LittleEndian.Uint64(table[at>>(12+9*level)&511*8:])
			if size = 1 << (12 + 9*level); e&1 == 0 {
				t.Fatalf("%#x is not mapped", at)
			}
			if level > 0 && e&0x80 != 0 {
				break
			}
		}
		from := e&0x000f_ffff_ffff_f000&^(size-1) + at&(size-1)
		b := p.page(from &^ 4095)
		if b == nil {
			t.Fatalf("the page at %#x, of %#x, is not in the dump", from, at)
		}
		b = b[from&4095:]
		all = append(all, b...)
		at += uint64(len(b))
	}
	return all[:n]
}

// checkNumbers looks for what testdata/dumped had in its heap.
func (p *physical) checkNumbers(t *testing.T, image string) {
	t.Helper()
	f, err := elf.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range symbols {
		if s.Name != "main.where" {
			continue
		}
		w := p.virtual(t, s.Value, 32)
		if !bytes.HasPrefix(w, []byte("_zwhere_")) {
			t.Fatalf("main.where is %q", w)
		}
		numbers := p.virtual(t, binary.LittleEndian.Uint64(w[8:]), binary.LittleEndian.Uint64(w[16:]))
		x := uint64(1)
		for i := 0; i < len(numbers); i += 8 {
			x = x*6364136223846793005 + 1442695040888963407
			if got := binary.LittleEndian.Uint64(numbers[i:]); got != x {
				t.Fatalf("number %d of the heap is %#x; want %#x", i/8, got, x)
			}
		}
		return
	}
	t.Fatal("no main.where")
}

// compare holds the dump against what QEMU says of the machine, which has halted. What differs is
// the kernel's own, by which it has sent the dump.
func (p *physical) compare(t *testing.T, vm *VM, image string, mib int) {
	t.Helper()
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	file := filepath.Join(t.TempDir(), "ram")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0, "size": mib << 20, "filename": file}); err != nil {
		t.Fatal(err)
	}
	ram, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p.compareWith(t, ram, image)
}

// compareWith is compare with what QEMU has written.
func (p *physical) compareWith(t *testing.T, ram []byte, image string) {
	t.Helper()
	same, differ := p.pagesOf(t, ram, image)
	if differ > 84+p.card || same < len(ram)>>12-184-p.card {
		t.Errorf("%d pages are the same, %d differ; want nearly all", same, differ)
	}
}

// pagesOf counts the pages that are the same, and those of the kernel's own that are not; no other
// may be.
func (p *physical) pagesOf(t *testing.T, ram []byte, image string) (same, differ int) {
	t.Helper()
	f, err := elf.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lo, hi uint64
	for _, g := range f.Progs {
		if g.Type == elf.PT_LOAD && g.Flags&elf.PF_W != 0 {
			lo, hi = g.Paddr, g.Paddr+g.Memsz+1<<20+uint64(p.card-virtioPages)<<12 // and what lies after it
		}
	}
	for _, g := range p.Progs {
		if g.Type != elf.PT_LOAD {
			continue
		}
		b, err := io.ReadAll(g.Open())
		if err != nil {
			t.Fatal(err)
		}
		for at := uint64(0); at < g.Filesz; at += 4096 {
			a := g.Paddr + at
			if bytes.Equal(b[at:at+4096], ram[a:a+4096]) {
				same++
			} else if differ++; a < lo || a >= hi {
				t.Errorf("the page at %#x is not what QEMU has there", a)
			}
		}
	}
	t.Logf("%d pages are what QEMU has, %d of the kernel's have changed meanwhile", same, differ)
	return same, differ
}

// dumpOf waits for a dump and returns its path.
func dumpOf(t *testing.T, r *liveReceiver, folder string) string {
	t.Helper()
	r.errs.For(t, "the memory of the machine is in")
	all, _ := filepath.Glob(filepath.Join(folder, "*"))
	if len(all) != 1 || !strings.HasSuffix(all[0], ".dump") {
		t.Fatalf("the folder has %q; want one dump", all)
	}
	return all[0]
}

func TestDumpByNet(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	for _, card := range []string{"virtio", "e1000"} {
		t.Run(card, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			r := startReceiver(t, "-cores", folder, "-e", image)
			vm, out := start(t, Config{Kernel: image, Net: card, Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net panic=halt"}, "")
			out.For(t, " pages sent in ")
			d := openDump(t, dumpOf(t, r, folder))
			if card == "e1000" {
				d.card = e1000Pages
			}
			d.checkNumbers(t, image)
			d.compare(t, vm, image, 128)
			if !strings.Contains(d.text, "cpu0=died\n") {
				t.Errorf("the note says %q; want it to say that CPU 0 has died", d.text)
			}
			r.end(t)
		})
	}
}

// TestDumpUnanswered: a machine whose memory nobody takes goes on to what panic= asks for, at once
// if it is told, and otherwise after core.wait=.
func TestDumpUnanswered(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		r := startReceiver(t, "-e", image)
		vm, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net core.wait=100000"}, "")
		if res, err := vm.Wait(); err != nil || res.Outcome != Traced || !strings.Contains(out.String(), "core: the receiver takes none") {
			t.Errorf("%v, %v; want %v, and that the receiver takes none", res.Outcome, err, Traced)
		}
		r.end(t)
	})
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		vm, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/,9@10.0.2.200/ core=net core.wait=1"}, "")
		if res, err := vm.Wait(); err != nil || res.Outcome != Traced || !strings.Contains(out.String(), "core: nobody has answered") {
			t.Errorf("%v, %v; want %v, and that nobody has answered", res.Outcome, err, Traced)
		}
	})
}

// startRelay starts a bad network before a receiver.
func startRelay(t *testing.T, port string, loss float64, seed uint64) *lossy.Relay {
	t.Helper()
	r, err := lossy.Start(port, loss, seed)
	if err != nil {
		t.Fatal(err)
	}
	largeBuffer(t, r.Conn)
	t.Cleanup(func() { r.Close() })
	return r
}

// TestDumpLossy: three of ten datagrams are lost, in both directions, and others come twice or
// late.
func TestDumpLossy(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-lines", "never", "-e", image)
	bad := startRelay(t, r.port, 0.3, 7)
	vm, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/," + bad.Port() + "@10.0.2.2/ core=net panic=halt"}, "")
	out.For(t, " pages sent in ")
	d := openDump(t, dumpOf(t, r, folder))
	d.checkNumbers(t, image)
	d.compare(t, vm, image, 128)
	passed, lost := bad.Counts()
	t.Logf("%d datagrams, %d lost; %s", passed, lost, regexp.MustCompile(`core: \d+ .*`).FindString(out.String()))
	r.end(t)
}

// TestDumpByCom2: the second serial port brings the same; a line that is damaged or cut costs what
// was there, and no more.
func TestDumpByCom2(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	var line bytes.Buffer
	vm, out := start(t, Config{Kernel: image, Records: &line, Append: "core=com2 core.baud=57600 panic=halt -- 1"}, "")
	out.For(t, " pages sent in ")
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	ram := filepath.Join(t.TempDir(), "ram")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0, "size": 128 << 20, "filename": ram}); err != nil {
		t.Fatal(err)
	}
	vm.Kill()
	vm.Wait()
	sent := line.Bytes()
	take := func(t *testing.T, b []byte) *physical {
		t.Helper()
		file, folder := filepath.Join(t.TempDir(), "com2"), t.TempDir()
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(zfReceive(t), "-com2", file, "-cores", folder).CombinedOutput(); err != nil {
			t.Fatalf("zf receive: %v: %s", err, out)
		}
		all, _ := filepath.Glob(filepath.Join(folder, "*"))
		if len(all) != 1 {
			t.Fatalf("the folder has %q; want one dump", all)
		}
		return openDump(t, all[0])
	}
	d := take(t, sent)
	d.checkNumbers(t, image)
	all, err := os.ReadFile(ram)
	if err != nil {
		t.Fatal(err)
	}
	d.compareWith(t, all, image)
	damaged := bytes.Clone(sent)
	r := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		damaged[len(damaged)/10+r.IntN(len(damaged)*9/10)] ^= 0x40
	}
	for name, b := range map[string][]byte{"damaged": damaged, "cut": sent[:len(sent)*2/3], "begun late": sent[3000:]} {
		t.Run(name, func(t *testing.T) {
			d := take(t, b)
			if !strings.Contains(d.text, "missing=") || strings.Contains(d.text, "missing=11\n") {
				t.Errorf("the note says %q; want pages missing", d.text)
			}
			for _, g := range d.Progs {
				if g.Type != elf.PT_LOAD || g.Paddr < 0x800000 {
					continue // the kernel's own may have changed
				}
				got, err := io.ReadAll(g.Open())
				if err != nil || !bytes.Equal(got, all[g.Paddr:g.Paddr+g.Filesz]) {
					t.Errorf("what is there at %#x is not what was (%v)", g.Paddr, err)
				}
			}
		})
	}
}

// TestDumpSealed: with a key nothing of the memory is on the wire, and who has not got it gets
// nothing.
func TestDumpSealed(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	key := filepath.Join(t.TempDir(), "key")
	option, err := exec.Command(zfReceive(t), "-new-key", key).Output()
	if err != nil || !strings.HasPrefix(string(option), "core.key=") {
		t.Fatalf("zf receive -new-key prints %q, %v", option, err)
	}
	options := strings.TrimSpace(string(option)) + " panic=halt"
	// Numbers that the program has in its heap, and a word of the kernel's text.
	plain := [][]byte{[]byte("_zwhere_"), binary.LittleEndian.AppendUint64(nil, 6364136223846793005+1442695040888963407), []byte("nobody has answered")}
	t.Run("net", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		r := startReceiver(t, "-cores", folder, "-lines", "never", "-key", key, "-e", image)
		bad := startRelay(t, r.port, 0.05, 3)
		var dumps atomic.Int64
		bad.See(func(b []byte) {
			if !bytes.HasPrefix(b, []byte("zfd1")) {
				return
			}
			dumps.Add(1)
			for _, p := range plain {
				if bytes.Contains(b, p) {
					t.Errorf("%q is on the wire", p)
				}
			}
		})
		vm, out := start(t, Config{Kernel: image, CPU: "max", Net: "virtio", Append: "netconsole=@10.0.2.15/," + bad.Port() + "@10.0.2.2/ core=net " + options + " -- 1"}, "")
		out.For(t, " pages sent in ")
		d := openDump(t, dumpOf(t, r, folder))
		d.checkNumbers(t, image)
		d.compare(t, vm, image, 128)
		if n := dumps.Load(); n < 1000 {
			t.Errorf("%d datagrams have been looked at", n)
		}
		r.end(t)
	})
	t.Run("com2", func(t *testing.T) {
		t.Parallel()
		var line bytes.Buffer
		vm, out := start(t, Config{Kernel: image, CPU: "max", Records: &line, Append: "core=com2 core.time=3 " + options + " -- 1"}, "")
		out.For(t, " pages sent in ")
		vm.Kill()
		vm.Wait()
		file, folder := filepath.Join(t.TempDir(), "line"), t.TempDir()
		if err := os.WriteFile(file, line.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(zfReceive(t), "-com2", file, "-cores", folder).CombinedOutput(); err == nil || !strings.Contains(string(out), "-key FILE opens it") {
			t.Errorf("without the key: %v, %s", err, out)
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
		for _, p := range plain {
			if bytes.Contains(line.Bytes(), p) {
				t.Errorf("%q is on the line", p)
			}
		}
	})
	t.Run("no random generator", func(t *testing.T) {
		t.Parallel()
		_, out := start(t, Config{Kernel: image, Net: "virtio", CPU: "max,-rdrand,-rdseed", Append: "netconsole=@10.0.2.15/,9@10.0.2.200/ core=net " + options + " -- 1"}, "")
		out.For(t, "core.key= wants a CPU with RDRAND or RDSEED")
		out.For(t, "zf1 done")
		if strings.Contains(out.String(), "core: sending") {
			t.Error("the memory is sent with a key that can be guessed")
		}
	})
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		r := startReceiver(t, "-cores", t.TempDir(), "-e", image)
		_, out := start(t, Config{Kernel: image, CPU: "max", Net: "virtio", Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net " + options + " -- 1"}, "")
		out.For(t, "core: the receiver takes none")
		r.errs.For(t, "-key FILE opens it")
		r.end(t)
	})
}

// TestDumpSecrets: what a program has marked is nowhere in the dump, and what it has not marked is.
func TestDumpSecrets(t *testing.T) {
	t.Parallel()
	image := program(t, "secrets")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", image)
	vm, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net panic=halt"}, "")
	out.For(t, " pages sent in ")
	b, err := os.ReadFile(dumpOf(t, r, folder))
	if err != nil {
		t.Fatal(err)
	}
	await.Poll(t, "the machine halts", func() bool { ok, err := vm.Halted(); return ok && err == nil })
	file := filepath.Join(t.TempDir(), "ram")
	if _, err := vm.QMP("pmemsave", map[string]any{"val": 0, "size": 128 << 20, "filename": file}); err != nil {
		t.Fatal(err)
	}
	ram, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"SEcret-T", "TEcret-U", "VEcret-W"} {
		if n, all := bytes.Count(b, []byte(word)), bytes.Count(ram, []byte(word)); n != 0 || all == 0 {
			t.Errorf("%q is in the dump %d times, in the machine %d times; want 0, and more", word, n, all)
		}
	}
	for word, n := range map[string]int{"OPcret-P": 5000 / 8, "WAcret-X": 800 / 8} {
		if got := bytes.Count(b, []byte(word)); got < n {
			t.Errorf("%q is in the dump %d times; want %d", word, got, n)
		}
	}
	if !bytes.Contains(b, []byte(fmt.Sprintf("hidden=%d\n", 3*4096+77+24+88))) {
		t.Error("the note does not say how many bytes are left out")
	}
	r.end(t)
}

// TestDumpGoesOn: a receiver that is killed and started again goes on where it was.
func TestDumpGoesOn(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	folder := t.TempDir()
	// Nobody else takes the port while the receiver is away.
	args := []string{"-cores", folder, "-lines", "never", "-e", image, "-listen", "127.0.0.1:" + freeReceiver(t)}
	r := startReceiver(t, args...)
	vm, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net core.rate=1000000 core.wait=60 panic=halt -- 2"}, "")
	await.Poll(t, "the receiver saves what it knows", func() bool {
		all, _ := filepath.Glob(filepath.Join(folder, "*.state"))
		return len(all) == 1
	})
	r.cmd.Process.Kill()
	r.cmd.Wait()
	r = startReceiver(t, args...)
	r.errs.For(t, "goes on after ")
	out.For(t, " pages sent in ")
	d := openDump(t, dumpOf(t, r, folder))
	d.checkNumbers(t, image)
	d.compare(t, vm, image, 128)
	r.end(t)
}

// TestDumpCut: a receiver that is ended before all has come leaves a file of what has come, which
// says what is missing. What is needed most is there.
func TestDumpCut(t *testing.T) {
	t.Parallel()
	image := program(t, "dumped")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", image)
	_, out := start(t, Config{Kernel: image, Net: "virtio", Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net core.rate=1000000 core.time=2 panic=halt"}, "")
	out.For(t, "its time is over (core.time=)")
	d := openDump(t, dumpOf(t, r, folder))
	if !strings.Contains(d.text, "its time was over") || strings.Contains(d.text, "missing=0\n") {
		t.Errorf("the note says %q; want it to say why pages are missing", d.text)
	}
	f, err := elf.Open(image)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, g := range f.Progs {
		if g.Type == elf.PT_LOAD && g.Flags&elf.PF_W != 0 {
			d.virtual(t, g.Vaddr, 4096) // the beginning: behind it are guard pages
		}
	}
	r.end(t)
}

// TestDumpFaults: a fault in the dump ends it with one line, behind a whole trace, and what panic=
// asks for follows.
func TestDumpFaults(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	r := startReceiver(t, "-cores", t.TempDir(), "-e", path)
	for _, smp := range []int{1, 2} {
		res, serial, err := boot(t, Config{Kernel: path, Net: "virtio", CPUs: smp}, "netconsole=@10.0.2.15/,"+r.port+"@10.0.2.2/ core=net crash=early.dump")
		if err != nil || res.Outcome != Traced {
			t.Fatalf("%d CPUs: %v, %v; want %v", smp, res.Outcome, err, Traced)
		}
		all := traces(t, symbols, serial)
		if len(all) != smp || all[0].Damaged || !all[0].Complete {
			t.Errorf("%d CPUs: %d traces; want one of each CPU, the first whole:\n%s", smp, len(all), serial)
		}
		_, behind, _ := strings.Cut(serial, "core: ")
		if !strings.HasPrefix(behind, "ended by a fault in the kernel at 0x") || strings.Count(behind, "\n") != 1 {
			t.Errorf("%d CPUs: behind the trace there is %q; want one line", smp, behind)
		}
	}
	r.end(t)
}

// TestDumpInDebuggers: of the memory that two CPUs' machine has sent itself zf core makes a core in
// which Delve has every goroutine and its variables, and gdb the threads.
func TestDumpInDebuggers(t *testing.T) {
	t.Parallel()
	image, gdb := program(t, "dumped"), need(t, "gdb")
	folder := t.TempDir()
	r := startReceiver(t, "-cores", folder, "-e", image)
	_, out := start(t, Config{Kernel: image, Net: "virtio", CPUs: 2, Append: "netconsole=@10.0.2.15/," + r.port + "@10.0.2.2/ core=net panic=halt -- 1"}, "")
	out.For(t, " pages sent in ")
	sent := dumpOf(t, r, folder)
	core := filepath.Join(t.TempDir(), "core")
	if out, err := exec.Command(zfCommand(t), "core", "-e", image, "-o", core, "-dump", sent).CombinedOutput(); err != nil {
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
	b, err := exec.Command(gdb, "-nx", "-batch", "-ex", "info threads", "-ex", "x/gx &'main.where'", image, core).CombinedOutput()
	if err != nil || !bytes.Contains(b, []byte("0x5f65726568777a5f")) || !bytes.Contains(b, []byte("LWP")) {
		t.Errorf("gdb: %v, %s", err, b)
	}
	r.end(t)
}
