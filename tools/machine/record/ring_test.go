package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A turn of a machine is a millisecond in which it says a line.
const turn = time.Millisecond

// turns is a log of turns, what they say, and where each of them begins in the log.
func turns(n int) (log, serial []byte, begins []int) {
	l := new(logOf)
	for i := range n {
		begins = append(begins, l.Len())
		line := fmt.Sprintf("turn %d\n", i)
		for j := range line {
			l.put(kindInstructions, uint32(100*(j+1)))
			l.put(KindOutput, uint32(1), uint32(1))
		}
		serial = append(serial, line...)
		l.put(kindWarpStart)
		l.put(kindClock, int64(i)*int64(time.Second))
		l.put(kindRealTimers)
		rest := restOf(i)
		l.put(kindClock, int64(i)*int64(time.Second)+rest)
		l.put(kindClock, int64(i)*int64(time.Second)+rest)
		l.put(kindLastPoint)
	}
	l.put(KindEnd)
	binary.Write(l, binary.BigEndian, uint32(KnownVersion))
	return l.Bytes(), serial, begins
}

// restOf is how long the machine sleeps in a turn, in ns.
func restOf(i int) int64 {
	n := int64(len(fmt.Sprintf("turn %d\n", i)))
	return int64(turn) - 50*n*(n+1)
}

// newRing begins a ring of five turns.
func newRing(t testing.TB, path string) *Ring {
	t.Helper()
	elf := filepath.Join(t.TempDir(), "elf")
	if err := os.WriteFile(elf, bytes.Repeat([]byte("image"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := NewRing(path, Meta{Name: "a.elf", MemoryMiB: 64}, map[string]string{Image: elf}, 5*turn)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ringOf writes a ring of so many turns. The log comes in pieces of a size, and late by lag pieces,
// as QEMU holds it back.
func ringOf(t testing.TB, n, size, lag int) (path string, taken int) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "r.zfr")
	r := newRing(t, path)
	log, serial, begins := turns(n)
	said := 0 // of serial
	written := 0
	state := filepath.Join(t.TempDir(), "state")
	for i, begin := range begins {
		for written+size <= max(0, begin-lag*size) {
			if _, err := r.Log().Write(log[written : written+size]); err != nil {
				t.Fatal(err)
			}
			written += size
		}
		if r.Due() {
			taken++
			err := r.Take(func(take func(string) error) (int64, uint64, error) {
				if err := os.WriteFile(state, fmt.Appendf(nil, "the state of turn %d", i), 0o600); err != nil {
					return 0, 0, err
				}
				return int64(begin) + logHeader, instructionsOf(i) + 7, take(state)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		line := len(fmt.Sprintf("turn %d\n", i))
		if _, err := r.Serial().Write(serial[said : said+line]); err != nil {
			t.Fatal(err)
		}
		said += line
	}
	r.Log().Write(log[written:])
	if err := r.Close(&End{Status: 65, Outcome: "exited"}); err != nil {
		t.Fatal(err)
	}
	return path, taken
}

// instructionsOf is how many are run before a turn.
func instructionsOf(turn int) (n uint64) {
	for i := range turn {
		l := uint64(len(fmt.Sprintf("turn %d\n", i)))
		n += 50 * l * (l + 1)
	}
	return n
}

// TestRing: whatever pieces the log comes in, the recording has the end of the run, from one
// interval to two, and all of a short one; and nothing else stays.
func TestRing(t *testing.T) {
	for _, tt := range []struct{ turns, size, lag int }{{3, 1, 0}, {9, 7, 3}, {12, 1, 0}, {40, 1, 0}, {40, 1, 200}, {43, 64, 1}, {137, 100, 2}, {200, 5, 30}} {
		path, taken := ringOf(t, tt.turns, tt.size, tt.lag)
		what := fmt.Sprintf("%+v, %d states", tt, taken)
		rec, err := Open(path, t.TempDir())
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		log, serial, begins := turns(tt.turns)
		if rec.Broken != nil || !rec.Ended() || !bytes.HasSuffix(serial, rec.Serial) {
			t.Errorf("%s: %v, %q", what, rec.Broken, rec.Serial)
		}
		lines := bytes.Count(rec.Serial, []byte("\n"))
		first := tt.turns - lines
		if taken < 2 && !rec.Whole() || taken > 1 && (lines < 5 || lines > 13) {
			t.Errorf("%s: it has %d turns", what, lines)
		}
		l, err := rec.Log()
		if err != nil {
			t.Fatal(err)
		}
		if !l.Ended || l.Output != int64(len(rec.Serial)) || l.Instructions != instructionsOf(tt.turns) || l.Time != time.Duration(tt.turns)*turn {
			t.Errorf("%s: the log: %+v", what, l)
		}
		want := Base{Asleep: -1, Woken: -1, Log: logHeader}
		if !rec.Whole() {
			n := instructionsOf(first)
			want = Base{At: n + 7, Instructions: n, Slept: int64(first)*int64(turn) - int64(n), Asleep: -1, Woken: -1, Before: kindLastPoint, Clock: int64(first-1)*int64(time.Second) + restOf(first-1),
				Output: int64(len(serial) - len(rec.Serial)), Log: int64(begins[first]) + logHeader}
			if b, err := os.ReadFile(rec.Path(Snapshot)); err != nil || string(b) != fmt.Sprintf("the state of turn %d", first) {
				t.Errorf("%s: the state is %q, %v; want that of turn %d", what, b, err, first)
			}
		}
		if rec.Base != want {
			t.Errorf("%s: it begins at %+v; want %+v", what, rec.Base, want)
		}
		// Points in it are those of the whole run.
		for n := range lines {
			at := first + n
			if e, ok := l.Sent(int64(bytes.Index(rec.Serial, fmt.Appendf(nil, "turn %d\n", at)))); !ok || e.Instructions != instructionsOf(at)+100 || e.Time != time.Duration(at)*turn+100 {
				t.Errorf("%s: turn %d: %+v, %v", what, at, e, ok)
			}
			if got, ok := l.At(time.Duration(at)*turn + 50); !ok || got != instructionsOf(at)+50 {
				t.Errorf("%s: turn %d: instruction %d; want %d", what, at, got, instructionsOf(at)+50)
			}
			if at := instructionsOf(at) + 50; l.TimeAt(at) != l.Clock()(at) {
				t.Errorf("%s: instruction %d: at %v and %v", what, at, l.TimeAt(at), l.Clock()(at))
			}
		}
		played := filepath.Join(t.TempDir(), "log")
		if err := l.Write(played, KnownVersion); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(played)
		header := append(binary.BigEndian.AppendUint32(nil, KnownVersion), make([]byte, 8)...)
		end := log[want.Log-logHeader : len(log)-4]
		if err != nil || !bytes.HasPrefix(b, header) || int64(len(b)) != want.Log+int64(len(end)) || !bytes.Equal(b[want.Log:], end) || len(bytes.Trim(b[logHeader:want.Log], "\x00")) > 0 {
			t.Errorf("%s: for replay: %d bytes, %v", what, len(b), err)
		}
		if all, _ := filepath.Glob(path + "*"); len(all) != 1 {
			t.Errorf("%s: there are %q", what, all)
		}
	}
}

// TestRingKilled: at any time the file under its name is a recording, and the files do not grow
// with the run.
func TestRingKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.zfr")
	r := newRing(t, path)
	log, serial, begins := turns(400)
	for i, begin := range begins {
		if r.Due() {
			if err := r.Take(func(take func(string) error) (int64, uint64, error) {
				return int64(begin) + logHeader, instructionsOf(i), take(os.Args[0])
			}); err != nil {
				t.Fatal(err)
			}
		}
		end := len(log)
		if i+1 < len(begins) {
			end = begins[i+1]
		}
		r.Log().Write(log[begin:end])
		line := fmt.Sprintf("turn %d\n", i)
		at := bytes.Index(serial, []byte(line))
		r.Serial().Write(serial[at : at+len(line)])
		if i%17 != 0 {
			continue
		}
		r.file.flush()
		rec, err := Open(path, t.TempDir())
		if err != nil || !errors.Is(rec.Broken, ErrCut) || !bytes.HasSuffix(serial[:at+len(line)], rec.Serial) || len(rec.Serial) == 0 {
			t.Fatalf("after turn %d: %v, %+v", i, err, rec)
		}
		if n := bytes.Count(rec.Serial, []byte("\n")); n > 11 || i > 10 && n < 5 {
			t.Errorf("after turn %d it has %d turns", i, n)
		}
	}
	if err := r.Close(nil); err != nil {
		t.Fatal(err)
	}
}

// TestRingFails: a state that could not be taken, or that belongs to no place in the log, leaves
// the recording that there is.
func TestRingFails(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  int64 // behind the turn's beginning
		err  error
		want string
	}{
		{"no state", 0, os.ErrPermission, ""},
		{"between events", 3, nil, "cannot be read on: the machine's state"},
		{"from before", -20, nil, "cannot be read on: the machine's state"},
	} {
		path := filepath.Join(t.TempDir(), "r.zfr")
		r := newRing(t, path)
		log, serial, begins := turns(20)
		r.Log().Write(log[:begins[6]])
		if !r.Due() {
			t.Fatal("no state is to be taken")
		}
		err := r.Take(func(take func(string) error) (int64, uint64, error) {
			if err := take(os.Args[0]); err != nil {
				t.Error(err)
			}
			return int64(begins[6]) + logHeader + tt.log, instructionsOf(6), tt.err
		})
		if !errors.Is(err, tt.err) || tt.err == nil && err != nil || r.Due() != (tt.err != nil) && r.part == nil && r.err == nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		r.Log().Write(log[begins[6]:])
		r.Serial().Write(serial)
		if err := r.Close(&End{Status: 65}); (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: it ends with %v; want %q", tt.name, err, tt.want)
		}
		rec, err := Open(path, t.TempDir())
		if err != nil || !rec.Ended() || !rec.Whole() || !bytes.Equal(rec.Serial, serial) {
			t.Errorf("%s: the recording: %+v, %v", tt.name, rec, err)
		}
		if all, _ := filepath.Glob(path + "*"); len(all) != 1 {
			t.Errorf("%s: there are %q", tt.name, all)
		}
	}
}

// TestBadBase: a recording that says wrongly where it begins is refused.
func TestBadBase(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(state, []byte("state"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		files map[string]string
		base  *Base
	}{
		{map[string]string{Image: state, Snapshot: state}, nil},
		{map[string]string{Image: state}, &Base{Asleep: -1, Woken: -1, Log: 100}},
		{map[string]string{Image: state, Snapshot: state}, &Base{Asleep: -1, Woken: -1, Log: 3}},
		{map[string]string{Image: state, Snapshot: state}, &Base{Asleep: -1, Woken: -1, Log: 100, Instructions: 8, At: 7}},
		{map[string]string{Image: state, Snapshot: state}, &Base{Asleep: -2, Log: 100}},
		{map[string]string{Image: state, Snapshot: state}, &Base{Log: 100, Output: -1}},
	} {
		path := filepath.Join(t.TempDir(), "r.zfr")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := encoder()
		if err != nil {
			t.Fatal(err)
		}
		w := newWriter(file, enc)
		file.WriteString(magic)
		w.json(blockMeta, Meta{})
		for name, from := range tt.files {
			if err := w.add(name, from); err != nil {
				t.Fatal(err)
			}
		}
		if tt.base != nil {
			w.json(blockBase, tt.base)
		}
		w.block(blockGo, nil)
		if err := w.Close(&End{}); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path, t.TempDir()); !errors.Is(err, ErrDamaged) {
			t.Errorf("%+v: %v; want %v", tt, err, ErrDamaged)
		}
	}
}

// FuzzOpen: whatever the file has, what is read of it is whole.
func FuzzOpen(f *testing.F) {
	for _, n := range []int{2, 14} {
		path, _ := ringOf(f, n, 1, 0)
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Checksums that fit, or nothing would come past them.
		b = bytes.Clone(b)
		for at := len(magic); at+headSize <= len(b); {
			n := int(binary.LittleEndian.Uint32(b[at+1:]))
			if n > len(b)-at-headSize {
				break
			}
			binary.LittleEndian.PutUint32(b[at+5:], checksum(b[at:], b[at+headSize:at+headSize+n]))
			at += headSize + n
		}
		path, dir := filepath.Join(t.TempDir(), "r.zfr"), t.TempDir()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(path, dir)
		if err != nil {
			return
		}
		if r.Base.check() != nil || r.Whole() != (r.Base.Log == logHeader) || r.Path(Image) == "" && r.Path(Disc) == "" {
			t.Errorf("it is read: %+v", r.Base)
		}
		l, err := r.Log()
		if err != nil {
			t.Fatal(err)
		}
		if l.Instructions < r.Base.At || l.Known && l.whole > l.size {
			t.Errorf("its log: %+v", l)
		}
	})
}
