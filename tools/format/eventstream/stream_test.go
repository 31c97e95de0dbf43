package eventstream

import (
	"bytes"
	"fmt"
	"io"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/tracer/stream"
)

// target writes records as a target does, and keeps the pieces.
type target struct {
	w      stream.Writer
	pieces [][]byte
}

func newTarget(frames bool) *target {
	t := &target{}
	t.w.Frames = frames
	t.w.Out = func(p []byte) {
		if len(p) >= stream.MaxLine {
			panic("a piece is too long")
		}
		t.pieces = append(t.pieces, slices.Clone(p))
	}
	return t
}

func (t *target) record(kind string, data []byte) {
	t.w.Begin(kind)
	t.w.Bytes(data)
	t.w.End()
}

func random(seed int64, n int) []byte {
	b := make([]byte, n)
	rand.New(rand.NewSource(seed)).Read(b)
	return b
}

// got collects what a reader says.
type got struct {
	records []Record
	damages []string
}

func (g *got) options() Options {
	return Options{
		OnRecord: func(r Record) { g.records = append(g.records, r) },
		OnDamage: func(d Damage) { g.damages = append(g.damages, d.Error()) },
	}
}

func (g *got) check(t *testing.T, want []Record, damages ...string) {
	t.Helper()
	if len(g.records) != len(want) {
		t.Fatalf("%d records, want %d; damages: %q", len(g.records), len(want), g.damages)
	}
	for i, r := range g.records {
		if r.Kind != want[i].Kind || r.ID != want[i].ID || !bytes.Equal(r.Data, want[i].Data) {
			t.Errorf("record %d: %s %d, %d bytes; want %s %d, %d bytes", i, r.Kind, r.ID, len(r.Data), want[i].Kind, want[i].ID, len(want[i].Data))
		}
	}
	if !slices.Equal(g.damages, damages) {
		t.Errorf("damages: %q\nwant: %q", g.damages, damages)
	}
}

var sizes = []int{0, 1, 2, 3, 4, 5, stream.PieceSize - 1, stream.PieceSize, stream.PieceSize + 1, 100_000}

func TestTextStaysAsItWas(t *testing.T) {
	tg := newTarget(false)
	var want []Record
	for i, n := range sizes {
		data := random(int64(i), n)
		tg.record("test.size", data)
		want = append(want, Record{"test.size", uint32(i + 1), data})
	}
	text := "login: zf1 begin\r\nzfr is no record\r\nzeta\x1e\x1ezfx\nz\nzf\nzfr. neither 1 0 - 0 00000\n"
	r := rand.New(rand.NewSource(1))
	for range 50 {
		// The pieces go between any two bytes of the text.
		var wire []byte
		places := make([]int, len(tg.pieces))
		for i := range places {
			places[i] = r.Intn(len(text) + 1)
		}
		slices.Sort(places)
		at := 0
		for i, p := range tg.pieces {
			wire = append(wire, text[at:places[i]]...)
			at = places[i]
			wire = append(wire, p...)
		}
		wire = append(wire, text[at:]...)
		var g got
		var out bytes.Buffer
		rd := NewText(&out, g.options())
		for len(wire) > 0 {
			n := min(1+r.Intn(700), len(wire))
			if _, err := rd.Write(wire[:n]); err != nil {
				t.Fatal(err)
			}
			wire = wire[n:]
		}
		rd.Close()
		g.check(t, want)
		if out.String() != text {
			t.Fatalf("text: %q\nwant: %q", out.String(), text)
		}
	}
}

func TestALogWithoutControlCharacters(t *testing.T) {
	tg := newTarget(false)
	tg.record("a", random(1, 1000))
	wire := strings.ReplaceAll(string(bytes.Join(tg.pieces, nil)), "\x1e", "")
	wire = "before\n" + strings.ReplaceAll(wire, "\r", "") + "after\n"
	var g got
	var out bytes.Buffer
	rd := NewText(&out, g.options())
	rd.Write([]byte(wire))
	rd.Close()
	g.check(t, []Record{{"a", 1, random(1, 1000)}})
	if out.String() != "before\nafter\n" {
		t.Errorf("text: %q", out.String())
	}
}

func TestDamage(t *testing.T) {
	for _, frames := range []bool{false, true} {
		t.Run(fmt.Sprintf("frames=%v", frames), func(t *testing.T) {
			tg := newTarget(frames)
			data := random(1, 5*stream.PieceSize)
			tg.record("one", data)   // pieces 0 to 4; a full piece may be the last one
			tg.record("two", data)   // 5 to 9
			tg.record("three", data) // 10 to 14
			tg.record("four", data)
			if len(tg.pieces) != 20 {
				t.Fatalf("%d pieces", len(tg.pieces))
			}
			whole := func(ids ...uint32) (want []Record) {
				for _, id := range ids {
					want = append(want, Record{[]string{"", "one", "two", "three", "four"}[id], id, data})
				}
				return want
			}
			cases := map[string]struct {
				change  func(p [][]byte) [][]byte
				want    []Record
				damages []string
			}{
				"nothing":      {func(p [][]byte) [][]byte { return p }, whole(1, 2, 3, 4), nil},
				"lost":         {func(p [][]byte) [][]byte { return slices.Delete(p, 6, 8) }, whole(1, 3, 4), []string{"record 2 (two) is damaged: 2 of its 5 pieces were lost"}},
				"first lost":   {func(p [][]byte) [][]byte { return slices.Delete(p, 5, 6) }, whole(1, 3, 4), []string{"record 2 (two) is damaged: 1 of its 5 pieces was lost"}},
				"last lost":    {func(p [][]byte) [][]byte { return slices.Delete(p, 9, 10) }, whole(1, 3, 4), []string{"record 2 (two) was cut after 1920 bytes"}},
				"whole lost":   {func(p [][]byte) [][]byte { return slices.Delete(p, 5, 10) }, whole(1, 3, 4), []string{"record 2 was lost"}},
				"two lost":     {func(p [][]byte) [][]byte { return slices.Delete(p, 5, 15) }, whole(1, 4), []string{"record 2 was lost", "record 3 was lost"}},
				"cut":          {func(p [][]byte) [][]byte { return p[:18] }, whole(1, 2, 3), []string{"record 4 (four) was cut after 1440 bytes"}},
				"twice":        {func(p [][]byte) [][]byte { return slices.Insert(p, 8, p[7], p[7]) }, whole(1, 2, 3, 4), nil},
				"other boot":   {func(p [][]byte) [][]byte { return append(slices.Clone(p[:3]), p[:5]...) }, whole(1), []string{"record 1 (one) was cut after 1440 bytes"}},
				"flipped byte": {func(p [][]byte) [][]byte { p[12][100] ^= 1; return p }, whole(1, 2, 4), []string{"record 3 (three) is damaged: 1 of its 5 pieces was lost"}},
				"no line end":  {func(p [][]byte) [][]byte { p[12] = p[12][:200]; return p }, whole(1, 2, 4), []string{"record 3 (three) is damaged: 1 of its 5 pieces was lost"}},
				"mixed": {func(p [][]byte) [][]byte {
					var m [][]byte
					for i := range 5 {
						m = append(m, p[i], p[5+i], p[10+i], p[15+i])
					}
					return m
				}, whole(1, 2, 3, 4), nil},
			}
			for name, c := range cases {
				t.Run(name, func(t *testing.T) {
					var pieces [][]byte
					for _, p := range tg.pieces {
						pieces = append(pieces, slices.Clone(p))
					}
					var g got
					w := reader(frames, g.options())
					w.Write(bytes.Join(c.change(pieces), nil))
					w.Close()
					slices.SortFunc(g.damages, strings.Compare)
					g.check(t, c.want, c.damages...)
				})
			}
		})
	}
}

type readCloser interface {
	Write([]byte) (int, error)
	Close() error
}

func reader(frames bool, opt Options) readCloser {
	if frames {
		return NewFrames(opt)
	}
	return NewText(nil, opt)
}

func TestMemoryIsBounded(t *testing.T) {
	tg := newTarget(false)
	tg.record("big", random(1, 100_000))
	tg.record("small", random(2, 1000))
	var g got
	opt := g.options()
	opt.MaxBytes = 50_000
	rd := NewText(nil, opt)
	for _, p := range tg.pieces {
		rd.Write(p)
		if rd.a.bytes > 50_000 {
			t.Fatalf("%d bytes kept", rd.a.bytes)
		}
	}
	rd.Close()
	if len(g.records) != 1 || g.records[0].Kind != "small" || len(g.damages) == 0 {
		t.Errorf("%d records, damages %q", len(g.records), g.damages)
	}
}

// TestSkipped: what is no part of a record is counted.
func TestSkipped(t *testing.T) {
	tg := newTarget(true)
	tg.record("big", random(1, 3*stream.PieceSize+1))
	f := NewFrames(Options{})
	f.Write([]byte("noise"))
	f.Write(bytes.Join(tg.pieces, []byte("noise")))
	f.Close()
	if f.Skipped() != 20 {
		t.Errorf("%d bytes skipped, want 20", f.Skipped())
	}
}

// FuzzText holds the readers to what they promise of any input: text goes through, what
// is kept is bounded.
func FuzzText(f *testing.F) {
	for _, frames := range []bool{false, true} {
		tg := newTarget(frames)
		tg.record("a.b", random(1, 700))
		tg.record("", nil)
		f.Add(bytes.Join(tg.pieces, []byte("text\n")))
	}
	f.Add([]byte("\x1ezfr a 1 0 - 00000\r\n"))
	f.Add([]byte("zfr.a 1 4294967295 - 18446744073709551615 uuuuu uuuuu\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		rd := NewText(&out, Options{MaxBytes: 4096})
		rd.Write(in)
		if len(rd.held) > stream.MaxLine+1 || rd.a.bytes > 4096 || rd.a.bytes < 0 || len(rd.a.open) > maxOpen {
			t.Fatalf("%d bytes held, %d kept, %d records open", len(rd.held), rd.a.bytes, len(rd.a.open))
		}
		rd.Close()
		if out.Len() > len(in) || !bytes.ContainsRune(in, rs) && !bytes.Contains(in, []byte("zfr")) && out.String() != string(in) {
			t.Fatalf("text: %q of %q", out.String(), in)
		}
		fr := NewFrames(Options{MaxBytes: 4096})
		for _, b := range in {
			fr.Write([]byte{b})
		}
		fr.Close()
		if len(fr.buf) > 0 || fr.a.bytes != 0 {
			t.Fatalf("%d bytes left", fr.a.bytes)
		}
	})
}

// TestIdle: a prompt that begins like a piece does not wait for the rest.
func TestIdle(t *testing.T) {
	r, w := io.Pipe()
	defer r.Close()
	text := NewText(w, Options{Idle: time.Millisecond})
	go text.Write([]byte("first\nzf"))
	b := make([]byte, 8)
	if _, err := io.ReadFull(r, b); err != nil || string(b) != "first\nzf" {
		t.Errorf("%q, %v", b, err)
	}
}
