package wire

import (
	"bytes"
	"testing"

	"github.com/zeroframe/zeroframe/tracer"
)

// recorder checks what a parser must keep to whatever it reads.
type recorder struct {
	t    *testing.T
	text []byte // all bytes of the stream, as they were reported
	done int
}

func (r *recorder) Text(p []byte) { r.text = append(r.text, p...) }

func (r *recorder) Line(l *Line) {
	if l.Raw != nil {
		whole := append(append([]byte(nil), l.Prefix...), l.Raw...)
		r.text = append(append(r.text, whole[l.Shown:]...), l.Ending...)
	}
	if t := l.Trace; t != nil && (len(t.Frames) > MaxFrames || len(t.Words) > MaxWords || len(t.Stacks) > MaxStacks) {
		r.t.Errorf("a trace beyond the limits: %d frames, %d words, %d stacks", len(t.Frames), len(t.Words), len(t.Stacks))
	}
}

func (r *recorder) Done(t *Trace) {
	r.done++
	if t.Cut && !t.Damaged {
		r.t.Errorf("a cut trace that is not damaged")
	}
}

// FuzzParser: no byte is lost or changed, memory is bounded, nothing panics.
func FuzzParser(f *testing.F) {
	for _, form := range []tracer.Form{tracer.Text, tracer.Markup, tracer.Compact} {
		b := written(form)
		f.Add(b, uint8(7))
		f.Add(b[:len(b)/2], uint8(1))
		f.Add(append(b[:100:100], b...), uint8(200))
		behind := []byte("[   12.345678] ")
		f.Add(append(behind, bytes.ReplaceAll(b, []byte("\n"), append([]byte("\n"), behind...))...), uint8(30))
	}
	f.Add([]byte("zf1 last panic 0x1 x\r\nzf1 #0 scan 0x0\r\n{{{reset}}}\r\n"), uint8(3))
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		r := &recorder{t: t}
		p := NewParser(r)
		p.Prefixes = step%2 == 0
		for b := in; len(b) > 0; {
			k := min(len(b), int(step)+1)
			p.Write(b[:k])
			if step%3 == 0 {
				p.Flush()
			}
			if b = b[k:]; cap(p.line) > 2*MaxLine {
				t.Fatalf("the parser holds %d bytes of a line", cap(p.line))
			}
		}
		p.Close()
		if !bytes.Equal(r.text, in) {
			t.Fatalf("out = %q; want %q", r.text, in)
		}
	})
}

// FuzzCompact: the decoder takes any byte string, and what it makes of it is
// bounded.
func FuzzCompact(f *testing.F) {
	b := compactString(f)
	f.Add(b)
	f.Add(b[:len(b)/3])
	f.Add(bytes.Repeat([]byte{4, 0xf0, 4, 0xf1, 0x41, 1, 0x61}, 3))
	f.Add([]byte{tracer.RecStack, tracer.RowAll, 1, 'x', tracer.RecRow | 4, tracer.RecRowFlags | 15, 1, 12, 0xf1, 0xf2, 7, 0xf3, tracer.RecUsed, 0, 9})
	f.Add([]byte{tracer.RecBegin, 18, 0x41, 0, 0x84, 1, 2, 3, 4, tracer.RecTable, 1, tracer.RecUsed, 0, 77, tracer.RecStack, 0, 1, 'x', 1, 0xf0, 0xf0, 0, 0xf0})
	f.Add([]byte{tracer.RecFrame + 2, 0xf1, 0xf8, 0, tracer.RecNext | 3, 0x00, tracer.RecAgain, 0xff, 0xff, 3})
	f.Add([]byte{tracer.RecFrame + 2, 0xf1, 0xf8, 0, tracer.RecNext | 3, 0x00, tracer.RecMem, 0xfb, 0, tracer.RecMem, 0xfc, 0, tracer.RecNext | 3, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) {
		known := &table{seq: 17, rows: []Stack{{Name: "boot", Lo: 4096, Hi: 8192, Size: 4096, Limit: 4000}}}
		d := decodeCompact(b, known, len(b)%3 != 0)
		recs, err := d.recs, d.err
		if len(recs) > maxRecords+MaxWords/wordsPerLine+MaxStacks || len(d.rows) > MaxStacks || len(d.on) != len(recs) {
			t.Fatalf("%d records, %d rows", len(recs), len(d.rows))
		}
		// Only memory of no words, no registers and what is said of the table may leave nothing.
		if err == nil && len(b) > 0 && len(recs) == 0 && b[0] != tracer.RecMem && b[0] != tracer.RecReg && !d.table {
			t.Fatalf("nothing in %x", b)
		}
		for i := range recs {
			if recs[i].String() == "" {
				t.Fatalf("record %d of %x has no text", i, b)
			}
		}
	})
}
