package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logOf is a log of events, as QEMU writes it into a pipe.
type logOf struct{ bytes.Buffer }

func (l *logOf) put(kind Kind, values ...any) {
	l.WriteByte(byte(kind))
	for _, v := range values {
		if b, ok := v.([]byte); ok {
			binary.Write(l, binary.BigEndian, uint32(len(b)))
			l.Write(b)
			continue
		}
		binary.Write(l, binary.BigEndian, v)
	}
}

// example is a log: the machine says "ab", sleeps for 5 ms, gets "x" and a frame, and says "c".
func example() []byte {
	l := new(logOf)
	l.put(kindHostClock, int64(1))
	l.put(kindInstructions, uint32(1000))
	l.put(KindOutput, uint32(1), uint32(1))
	l.put(kindInstructions, uint32(500))
	l.put(KindOutput, uint32(1), uint32(1))
	l.put(kindWarpStart)
	l.put(kindClock, int64(1_000_000))
	l.put(kindRealTimers)
	l.put(kindClock, int64(6_000_000)) // it looks for timers,
	l.put(kindClock, int64(6_000_000)) // and one wakes the machine
	l.put(kindInstructions, uint32(100))
	l.put(KindInput, uint8(0), []byte("x"))
	l.put(KindFrame, uint8(0), uint32(0), []byte("frame"))
	l.put(KindRandom, uint32(0), []byte{1, 2, 3, 4})
	l.put(kindInstructions, uint32(400))
	l.put(KindOutput, uint32(1), uint32(1))
	l.put(kindInstructions, uint32(7))
	l.put(KindEnd)
	binary.Write(l, binary.BigEndian, uint32(KnownVersion))
	return l.Bytes()
}

// written writes a recording of an image and a log, and returns its path.
func written(t testing.TB, image, log, serial []byte, end *End) string {
	t.Helper()
	dir := t.TempDir()
	elf, path := filepath.Join(dir, "elf"), filepath.Join(dir, "r.zfr")
	if err := os.WriteFile(elf, image, 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := Create(path, Meta{Name: "a.elf", Machine: "q35", MemoryMiB: 64}, map[string]string{Image: elf, Initrd: ""})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range log { // it comes in pieces of any size
		if _, err := w.Log().Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Serial().Write(serial); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestToldToEnd: a recording ends where QEMU was told to end, though the machine ran on, until QEMU
// did: in a replay it may not run on as long.
func TestToldToEnd(t *testing.T) {
	log := new(logOf)
	log.put(kindInstructions, uint32(1000))
	log.put(KindOutput, uint32(3), uint32(3))
	log.put(KindShutdown + 2)
	log.put(kindInstructions, uint32(660))
	log.put(KindOutput, uint32(2), uint32(2))
	log.put(KindShutdown + 4)
	log.put(KindEnd)
	binary.Write(log, binary.BigEndian, uint32(KnownVersion))
	r, err := Open(written(t, []byte("image"), log.Bytes(), []byte("abcde"), &End{Status: 0}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Log()
	if err != nil || !l.Ended || l.Instructions != 1000 || l.Time != 1000 || l.Output != 5 || l.Late != 2 || l.Version() != KnownVersion {
		t.Errorf("%+v, %v; want 1000 instructions, and 2 of 5 bytes later", l, err)
	}
	played := filepath.Join(t.TempDir(), "log")
	if err := l.Write(played, KnownVersion); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(played); err != nil || !bytes.HasSuffix(b, log.Bytes()[:log.Len()-4]) {
		t.Errorf("for replay: %v, %x; want all of it", err, b)
	}
}

func TestRecording(t *testing.T) {
	image := bytes.Repeat([]byte("image"), 500_000) // more than a piece
	path := written(t, image, example(), []byte("abc"), &End{Status: 65, Outcome: "exited"})
	r, err := Open(path, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if r.Broken != nil || !r.Ended() || string(r.Serial) != "abc" || r.Name != "a.elf" || r.MemoryMiB != 64 || r.End.Status != 65 || r.End.Serial != 3 || r.Path(Initrd) != "" {
		t.Errorf("read back: %+v, end %+v", r, r.End)
	}
	if b, err := os.ReadFile(r.Path(Image)); err != nil || !bytes.Equal(b, image) {
		t.Errorf("the image is another: %d bytes, %v", len(b), err)
	}
	l, err := r.Log()
	if err != nil {
		t.Fatal(err)
	}
	want := Log{Known: true, Ended: true, Instructions: 2007, Time: 5*time.Millisecond + 2007, Output: 3, Inputs: 1, Frames: 1, Rounds: 1}
	got := *l
	got.path, got.whole, got.size, got.tail, got.Base = "", 0, 0, 0, Base{}
	if got != want || l.Version() != KnownVersion {
		t.Errorf("the log: %+v; want %+v", got, want)
	}
	for _, tt := range []struct {
		n            int64
		instructions uint64
		time         time.Duration
		ok           bool
	}{{0, 1000, 1000, true}, {1, 1500, 1500, true}, {2, 2000, 5*time.Millisecond + 2000, true}, {3, 0, 0, false}} {
		if e, ok := l.Sent(tt.n); ok != tt.ok || e.Instructions != tt.instructions || e.Time != tt.time {
			t.Errorf("byte %d: %d instructions, %v, %v; want %d, %v, %v", tt.n, e.Instructions, e.Time, ok, tt.instructions, tt.time, tt.ok)
		}
	}
	for _, tt := range []struct {
		at   time.Duration
		want uint64
		ok   bool
	}{{0, 0, true}, {400, 400, true}, {1500, 1500, true}, {3 * time.Millisecond, 1500, true}, {5*time.Millisecond + 1550, 1550, true}, {time.Second, 0, false}} {
		if got, ok := l.At(tt.at); ok != tt.ok || ok && got != tt.want {
			t.Errorf("at %v: %d, %v; want %d, %v", tt.at, got, ok, tt.want, tt.ok)
		}
	}
	for n, want := range map[uint64]time.Duration{700: 700, 1500: 1500, 1501: 5*time.Millisecond + 1501} {
		if got := l.Clock()(n); got != l.TimeAt(n) {
			t.Errorf("the clock says %v after %d instructions, TimeAt %v", got, n, l.TimeAt(n))
		}
		if got := l.TimeAt(n); got != want {
			t.Errorf("the time of instruction %d is %v; want %v", n, got, want)
		}
	}
	for _, version := range []uint32{KnownVersion, KnownVersion + 1} {
		played := filepath.Join(t.TempDir(), "log")
		if err := l.Write(played, version); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(played)
		want := append(binary.BigEndian.AppendUint32(nil, version), make([]byte, 8)...)
		want = append(want, example()[:len(example())-4]...)
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("for replay: %x, %v; want %x", b, err, want)
		}
	}
}

// TestSleep: a machine that QEMU has only asked for how long it sleeps goes on sleeping.
func TestSleep(t *testing.T) {
	asks := func(l *logOf, clock int64, next Kind) {
		l.put(kindRealTimers)
		l.put(kindClock, clock-10)
		l.put(kindClock, clock)
		l.put(next)
	}
	for _, tt := range []struct {
		name string
		do   func(l *logOf)
		want time.Duration // slept
	}{
		{"woken by a timer", func(l *logOf) { asks(l, 3000, kindWarpAccount) }, 2000},
		{"asked", func(l *logOf) {
			for clock := int64(2000); clock < 9000; clock += 1000 {
				asks(l, clock, kindWarpStart)
				l.put(kindClock, clock+5)
			}
			asks(l, 9000, kindWarpAccount)
		}, 8000},
		{"asked, and woken by an interrupt", func(l *logOf) {
			asks(l, 3000, kindWarpAccount)
			l.put(kindClock, int64(4500))
		}, 3500},
		{"woken, and looked at once more", func(l *logOf) { asks(l, 3000, kindWarpStart) }, 2000},
	} {
		l := new(logOf)
		l.put(kindInstructions, uint32(100))
		l.put(kindWarpStart)
		l.put(kindClock, int64(1000))
		tt.do(l)
		l.put(kindInterrupt)
		l.put(kindInstructions, uint32(50))
		l.put(KindEnd)
		r, err := Open(written(t, []byte("x"), l.Bytes(), nil, nil), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if log, err := r.Log(); err != nil || log.Time != 150+tt.want {
			t.Errorf("%s: %v, %v; want %v", tt.name, log.Time, err, 150+tt.want)
		}
	}
}

// TestUnknownLog: a log of another QEMU goes on as it is.
func TestUnknownLog(t *testing.T) {
	log := binary.BigEndian.AppendUint32([]byte("\xf0\xf1\xf2"), 0xe02099)
	r, err := Open(written(t, []byte("x"), log, nil, &End{Status: 65}), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Log()
	if err != nil || l.Known || l.Version() != 0xe02099 {
		t.Errorf("the log: %+v, %v; want an unknown one, version 0xe02099", l, err)
	}
	played := filepath.Join(t.TempDir(), "log")
	if err := l.Write(played, l.Version()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(played); err != nil || !bytes.Equal(b, append(append(log[3:], make([]byte, 8)...), log[:3]...)) {
		t.Errorf("for replay: %x, %v", b, err)
	}
}

// TestCutRecording cuts a recording everywhere, and changes each of its bytes: there is an error,
// or what is read is the beginning of what was written, and said to be no more.
func TestCutRecording(t *testing.T) {
	path := written(t, []byte("an image"), example(), []byte("abc"), &End{Status: 65})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir, bad := t.TempDir(), filepath.Join(t.TempDir(), "bad.zfr")
	readable := 0
	try := func(what string, b []byte, want error) {
		t.Helper()
		if err := os.WriteFile(bad, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(bad, dir)
		if err != nil {
			if !errors.Is(err, want) && !errors.Is(err, ErrNone) && !errors.Is(err, ErrDamaged) {
				t.Errorf("%s: %v; want %v", what, err, want)
			}
			return
		}
		readable++
		if r.Broken == nil || r.Ended() || !errors.Is(r.Broken, ErrCut) && !errors.Is(r.Broken, ErrDamaged) || !strings.HasPrefix("abc", string(r.Serial)) {
			t.Errorf("%s: it is read, with output %q and %v", what, r.Serial, r.Broken)
		}
		if l, err := r.Log(); err != nil || l.Ended && l.Instructions != 2007 {
			t.Errorf("%s: the log: %+v, %v", what, l, err)
		}
	}
	for n := range whole {
		try("cut", whole[:n], ErrCut)
	}
	for n := range whole {
		b := bytes.Clone(whole)
		b[n] ^= 0x10
		try("damaged", b, ErrCut)
	}
	if readable < 100 {
		t.Errorf("%d of the recordings could be read", readable)
	}
}

// TestCutLog: a log that ends anywhere is one up to its last whole event.
func TestCutLog(t *testing.T) {
	log := example()
	log = log[:len(log)-5]
	last := uint64(0)
	for n := range log {
		r, err := Open(written(t, []byte("x"), log[:n], nil, nil), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Log()
		if err != nil || l.Err != nil || l.Ended || l.Instructions < last || l.whole > int64(n) {
			t.Fatalf("%d bytes: %+v, %v", n, l, err)
		}
		last = l.Instructions
		played := filepath.Join(t.TempDir(), "log")
		if err := l.Write(played, KnownVersion); err != nil {
			t.Fatal(err)
		}
		in, err := os.Open(played)
		if err != nil {
			t.Fatal(err)
		}
		in.Seek(12, io.SeekStart)
		events := newLogReader(in, &l.Base)
		for err == nil {
			var e Event
			if e, err = events.next(); err == nil && e.Kind == KindEnd {
				break
			}
		}
		in.Close()
		if err != nil {
			t.Errorf("%d bytes: the log for replay has no end: %v", n, err)
		}
	}
	if last != 2000 { // the event behind those is not whole
		t.Errorf("%d instructions at last; want 2000", last)
	}
}

func TestVerifier(t *testing.T) {
	for _, tt := range []struct {
		says   []string
		cut    bool
		passed string
		parted string
	}{
		{[]string{"ab", "c"}, false, "abc", ""},
		{[]string{"a"}, false, "a", ""},
		{[]string{"abd"}, false, "ab", `at byte 2 of its output: "d", recorded was "c"`},
		{[]string{"abc", "d"}, false, "abc", `at byte 3 of its output: "d", recorded was nothing more`},
		{[]string{"abcd", "e"}, true, "abcde", ""},
		{[]string{"ax"}, true, "a", `at byte 1 of its output: "x", recorded was "bc"`},
	} {
		r := &Recording{Serial: []byte("abc")}
		if tt.cut {
			r.Broken = ErrCut
		}
		var out strings.Builder
		v := r.NewVerifier(&out)
		for _, s := range tt.says {
			if _, err := io.WriteString(v, s); err != nil && !errors.Is(err, ErrParted) {
				t.Error(err)
			}
		}
		err := v.Parted()
		if out.String() != tt.passed || (err != nil) != (tt.parted != "") || err != nil && !strings.Contains(err.Error(), tt.parted) {
			t.Errorf("%q: %q, %v; want %q, %q", tt.says, out.String(), err, tt.passed, tt.parted)
		}
	}
}

// FuzzLog: no log, whatever it is, is read beyond its end, or makes time of nothing.
func FuzzLog(f *testing.F) {
	f.Add(example())
	f.Fuzz(func(t *testing.T, b []byte) {
		var last Event
		for r := newLogReader(bytes.NewReader(b), &Base{Asleep: -1, Woken: -1}); ; {
			e, err := r.next()
			if err != nil {
				return
			}
			if e.end > int64(len(b)) || e.end <= last.end || e.Instructions < last.Instructions {
				t.Fatalf("%+v follows %+v in %d bytes", e, last, len(b))
			}
			last = e
		}
	})
}

// TestStrange: a file is made by no other name than those of a recording, and a field that no zf
// has written is noticed.
func TestStrange(t *testing.T) {
	whole, err := os.ReadFile(written(t, []byte("an image"), example(), nil, &End{}))
	if err != nil {
		t.Fatal(err)
	}
	enc, err := encoder()
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind byte, contents string) []byte {
		packed := enc.EncodeAll([]byte(contents), nil)
		return append(head(kind, packed), packed...)
	}
	end := len(magic) + headSize + int(binary.LittleEndian.Uint32(whole[len(magic)+1:])) // of the machine's block
	open := func(first, second []byte) (*Recording, string, error) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.zfr")
		if err := os.WriteFile(path, slices.Concat([]byte(magic), first, second, whole[end:]), 0o600); err != nil {
			t.Fatal(err)
		}
		files := filepath.Join(dir, "a", "files")
		if err := os.MkdirAll(files, 0o700); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, files)
		return r, dir, err
	}
	for _, name := range []string{"../x", "../../x", "/tmp/zf-strange", "a/b", ".", "..", "", "log", "replay.log", "image.elf/", "\x1b[2J", "CON"} {
		_, dir, err := open(whole[len(magic):end], block(blockFile, name+"\x00data"))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), fmt.Sprintf("is called %q", name)) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("a file called %q: %v", name, err)
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && rel != "x.zfr" && rel != "a/files/log" {
				t.Errorf("a file called %q: there is %s", name, rel)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct{ meta, strange string }{
		{`{"Name":"a"}`, ""}, {`{"Name":"a","UEFI":false,"Extra":null}`, ""}, {`{"Firmware":"/etc/shadow"}`, `unknown field "Firmware"`},
		{`{"Extra":["-S"],"\u001b[2J":1}`, `unknown field "\x1b[2J"`},
	} {
		if r, _, err := open(block(blockMeta, tt.meta), nil); err != nil || r.Strange != tt.strange {
			t.Errorf("%s: %+v, %v; want %q", tt.meta, r, err, tt.strange)
		}
	}
	if _, _, err := open(block(blockMeta, `{"Name":`), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("half of a machine: %v", err)
	}
}
