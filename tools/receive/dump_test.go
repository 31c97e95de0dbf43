package receive

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tracer/dump"
	"github.com/zeroframe/zeroframe/tracer/seal"
)

var announce = dump.Announce{Highest: 64 << 12, Pages: 64, CPUs: 1, Root: 0x2000, NBuildID: 2, BuildID: [32]byte{0xab, 0xcd}}

// piece is a piece of a page, all of one byte.
func piece(addr uintptr, fill byte) []byte {
	b := make([]byte, dump.PlaceSize, dump.MaxBody)
	dump.PutPlace(b, &dump.Place{Addr: addr, Class: dump.Kernel})
	n := min(dump.PageSize-addr%dump.PageSize, dump.PieceSize)
	return append(b, bytes.Repeat([]byte{fill}, int(n))...)
}

func zeros(addr uintptr, pages uint32) []byte {
	b := make([]byte, dump.PlaceSize+4)
	dump.PutPlace(b, &dump.Place{Addr: addr})
	dump.PutUint32(b[dump.PlaceSize:], pages)
	return b
}

func add(t *testing.T, d *Assembly, kind byte, body []byte, want error) {
	t.Helper()
	if err := d.Add(&dump.Header{Kind: kind}, body); err != want {
		t.Errorf("Add(%c, %d bytes): %v; want %v", kind, len(body), err, want)
	}
}

func TestAssembly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.dump")
	d, err := Open(path, 7, &announce)
	if err != nil {
		t.Fatal(err)
	}
	c := dump.CPU{State: dump.CPUDied}
	for i := range c.Registers {
		c.Registers[i] = uintptr(0x100 + i)
	}
	b := make([]byte, dump.MaxBody)
	add(t, d, dump.KindCPU, b[:dump.PutCPU(b, &c)], nil)
	for _, at := range []uintptr{0x3000 + 2*dump.PieceSize, 0x3000, 0x3000 + dump.PieceSize, 0x5000} {
		add(t, d, dump.KindData, piece(at, 'x'), nil)
		add(t, d, dump.KindData, piece(at, 'x'), nil)
	}
	add(t, d, dump.KindZeros, zeros(0x8000, 3), nil)
	for _, bad := range [][]byte{piece(64<<12, 1), piece(0x3001, 1), piece(1<<40, 1), piece(0x3000, 1)[:100], nil} {
		add(t, d, dump.KindData, bad, ErrNonsense)
	}
	for _, bad := range [][]byte{zeros(0, 65), zeros(0x3f000, 2), zeros(1, 1), zeros(0, 0), zeros(0, dump.MaxZeros+1), zeros(1<<47, 1)} {
		add(t, d, dump.KindZeros, bad, ErrNonsense)
	}
	if err := d.Save(); err != nil {
		t.Fatal(err)
	}
	d.file.Close() // the receiver is killed, and started again
	other := announce
	other.Pages--
	if d, err = Open(filepath.Join(t.TempDir(), "b"), 7, &other); err != nil || d.Pages != 0 {
		t.Fatalf("another dump: %v, %d pages", err, d.Pages)
	}
	d.Drop()
	if d, err = Open(path, 7, &announce); err != nil || d.Pages != 4 {
		t.Fatalf("the same dump: %v, %d pages; want 4", err, d.Pages)
	}
	if err := d.Finish(false); err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var loads []elf.ProgHeader
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			loads = append(loads, p.ProgHeader)
		}
	}
	if len(loads) != 2 || loads[0].Paddr != 0x3000 || loads[0].Filesz != 0x1000 || loads[1].Paddr != 0x8000 || loads[1].Filesz != 0x3000 {
		t.Errorf("the program headers are %+v", loads)
	}
	if b, err := io.ReadAll(f.Progs[1].Open()); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{'x'}, 4096)) {
		t.Errorf("the page at 0x3000 is not what has come: %v", err)
	}
	notes, err := io.ReadAll(f.Progs[0].Open())
	if err != nil || !bytes.Contains(notes, []byte("build=abcd\npages=4\nmissing=60\n")) || !bytes.Contains(notes, []byte("cpu0=died\n")) {
		t.Errorf("the notes are %q, %v", notes, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("beside the dump there is %v", left)
	}
}

func TestRefused(t *testing.T) {
	for _, a := range []dump.Announce{{}, {Highest: 1 << 50, Pages: 1}, {Highest: 1 << 20, Pages: 257}} {
		if d, err := Open(filepath.Join(t.TempDir(), "a"), 1, &a); err == nil {
			t.Errorf("%+v is taken", a)
			d.Drop()
		}
	}
	if name := FileName("f", "../../etc/ä:1", 1); filepath.Dir(name) != "f" || strings.ContainsAny(filepath.Base(name), "/:ä") {
		t.Errorf("the name of a machine leads to %q", name)
	}
}

// TestKeys: what the machine's code seals the receiver's opens, and the other way round.
func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if _, err := NewKey(path); err != nil {
		t.Fatal(err)
	}
	if _, err := NewKey(path); err == nil {
		t.Error("a key is overwritten")
	}
	k, err := ReadKey(path)
	if err != nil {
		t.Fatal(err)
	}
	private, receiver := [32]byte{5, 6, 7}, [32]byte(k.PublicKey().Bytes())
	var machine seal.Session
	public, ok := machine.Begin(&private, &receiver)
	s, err := NewSession(k, &dump.Announce{Sealed: true, Key: public})
	if err != nil || !ok {
		t.Fatal(err, ok)
	}
	h := dump.Header{Kind: dump.KindData, Item: 3, Sent: 9, Dump: 5, Epoch: 1, Sealed: true}
	p := make([]byte, dump.MaxPacket)
	copy(p[dump.HeaderSize:], "memory")
	p = p[:dump.FinishSealed(p, &h, 6, &machine.Out)]
	changed := bytes.Clone(p)
	changed[16]++
	if _, err := s.Open(changed); err == nil {
		t.Error("a packet with another item's number is opened")
	}
	if body, err := s.Open(p); err != nil || string(body) != "memory" {
		t.Errorf("Open: %q, %v", body, err)
	}
	q := make([]byte, dump.MaxPacket)
	copy(q[dump.HeaderSize:], "answer")
	q = q[:s.Finish(q, dump.Header{Kind: dump.KindAnswer, Dump: 5}, 6, 1<<40+7)]
	got, _, ok := dump.Parse(q)
	if !ok || !got.Sealed {
		t.Fatalf("the answer is no packet: %+v", got)
	}
	if body, ok := dump.Unseal(q, &got, &machine.In); !ok || string(body) != "answer" {
		t.Errorf("Unseal: %q, %v", body, ok)
	}
}

// FuzzStream: any line, in two pieces, ends, and what it makes is a file within its bounds.
func FuzzStream(f *testing.F) {
	b := make([]byte, dump.MaxPacket)
	packet := func(kind byte, body []byte) []byte {
		copy(b[dump.HeaderSize:], body)
		return bytes.Clone(b[:dump.Finish(b, &dump.Header{Kind: kind, Dump: 7}, len(body))])
	}
	a := make([]byte, dump.MaxBody)
	all := packet(dump.KindAnnounce, a[:dump.PutAnnounce(a, &announce)])
	all = append(all, packet(dump.KindData, piece(0x3000, 'x'))...)
	all = append(all, packet(dump.KindZeros, zeros(0x8000, 3))...)
	all = append(all, packet(dump.KindEnd, a[:dump.PutEnd(a, &dump.End{Why: 9})])...)
	f.Add(all, uint16(40))
	f.Add(append([]byte("zfd1 noise zfd"), all...), uint16(3))
	f.Fuzz(func(t *testing.T, line []byte, cut uint16) {
		d, err := Open(filepath.Join(t.TempDir(), "a"), 7, &announce)
		if err != nil {
			t.Fatal(err)
		}
		n := min(int(cut), len(line))
		packets := 0
		s := Stream{Packet: func(h *dump.Header, p []byte) bool {
			packets += len(p)
			d.Add(h, p[dump.HeaderSize:])
			return true
		}}
		if err := s.Read(io.MultiReader(bytes.NewReader(line[:n]), bytes.NewReader(line[n:]))); err != nil {
			t.Fatal(err)
		}
		if int64(packets)+s.Skipped != int64(len(line)) {
			t.Errorf("%d bytes in packets and %d skipped of %d", packets, s.Skipped, len(line))
		}
		if err := d.Finish(false); err != nil {
			t.Fatal(err)
		}
		if i, err := os.Stat(d.Path()); err != nil || i.Size() > 4<<20 {
			t.Errorf("the file: %v, %v", i, err)
		}
	})
}

// TestKept: what is lost of a dump that was kept over a reset is said, by class.
func TestKept(t *testing.T) {
	a := announce
	a.Kept = true
	path := filepath.Join(t.TempDir(), "a.dump")
	d, err := Open(path, 7, &a)
	if err != nil {
		t.Fatal(err)
	}
	add(t, d, dump.KindZeros, zeros(0x8000, 54), nil)
	b := make([]byte, dump.MaxBody)
	e := dump.End{Unreadable: 3, Kept: true}
	e.Lost[dump.Stacks], e.Lost[dump.Unused] = 2, 5
	add(t, d, dump.KindEnd, b[:dump.PutEnd(b, &e)], nil)
	if err := d.Finish(false); err != nil {
		t.Fatal(err)
	}
	const want = "54 of 64 pages; 7 were overwritten over the reset (2 of stacks, 5 of unused RAM), the machine could not read 3"
	if got := d.Summary(); got != want {
		t.Errorf("the summary is %q; want %q", got, want)
	}
	if file, err := os.ReadFile(path); err != nil || !bytes.Contains(file, []byte("kept=1\noverwritten=7\n")) {
		t.Errorf("the note does not say it: %v", err)
	}
}

// TestNeverReplaced: a file that is finished stays as it is, whoever announces its dump again.
func TestNeverReplaced(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.dump")
	for n := range maxTries {
		d, err := Open(path, 7, &announce)
		if err != nil {
			t.Fatal(err)
		}
		add(t, d, dump.KindZeros, zeros(0x8000, uint32(n+1)), nil)
		if err := d.Finish(false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path, 7, &announce); err != ErrTaken {
		t.Errorf("a try more than there may be: %v; want %v", err, ErrTaken)
	}
	for n, name := range []string{"a.dump", "a-2.dump", "a-3.dump"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if want := fmt.Sprintf("\npages=%d\n", n+1); err != nil || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s has no %q (%v)", name, want, err)
		}
	}
}

// TestFullDisk: a disk that takes no more leaves nothing, neither under the name nor beside it.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Fatalf("%v: this test wants a Linux host", err)
	}
	path := filepath.Join(t.TempDir(), "a.dump")
	d, err := Open(path, 7, &announce)
	if err != nil {
		t.Fatal(err)
	}
	d.file.Close()
	if d.file, err = os.OpenFile("/dev/full", os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	if err := d.Add(&dump.Header{Kind: dump.KindData}, piece(0x3000, 'x')); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Add: %v; want that the disk is full", err)
	}
	if err := d.Finish(false); err == nil || !strings.HasPrefix(err.Error(), "the dump is lost: ") {
		t.Errorf("Finish: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("there is %v", left)
	}
}

// TestAbandoned: of what a killed receiver has left another makes a file, if nothing goes on with
// it.
func TestAbandoned(t *testing.T) {
	folder := t.TempDir()
	begun := func(name string) *Assembly {
		d, err := Open(filepath.Join(folder, name), 7, &announce)
		if err != nil {
			t.Fatal(err)
		}
		add(t, d, dump.KindZeros, zeros(0x8000, 3), nil)
		if err := d.Save(); err != nil {
			t.Fatal(err)
		}
		return d
	}
	begun("a.dump").file.Close()
	d := begun("b.dump")
	if err := d.Finish(true); err != nil { // its receiver was ended
		t.Fatal(err)
	}
	begun("c.dump").file.Close()
	if err := os.WriteFile(filepath.Join(folder, "c.dump.state"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	busy := begun("d.dump")
	all := func() (names []string) {
		files, _ := os.ReadDir(folder)
		for _, f := range files {
			names = append(names, f.Name())
		}
		return names
	}
	before := all()
	Abandoned(folder, time.Time{}, func(d *Assembly, err error) { t.Errorf("%s, %v: nothing is old", d.Path(), err) })
	if now := all(); !slices.Equal(now, before) {
		t.Errorf("there was %q, is %q", before, now)
	}
	then := time.Now().Add(-time.Hour)
	for _, name := range before {
		if !strings.HasPrefix(name, "d.") {
			if err := os.Chtimes(filepath.Join(folder, name), then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	var said []string
	Abandoned(folder, then.Add(time.Minute), func(d *Assembly, err error) {
		if err != nil {
			t.Error(err)
		}
		said = append(said, filepath.Base(d.Path())+": "+d.Summary())
	})
	if want := []string{"a.dump: 3 of 64 pages: it was cut short"}; !slices.Equal(said, want) {
		t.Errorf("%q; want %q", said, want)
	}
	if now, want := all(), []string{"a.dump", "b.dump", "c.dump.part", "d.dump.part", "d.dump.state"}; !slices.Equal(now, want) {
		t.Errorf("there is %q; want %q", now, want)
	}
	busy.Drop()
}
