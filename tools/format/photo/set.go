package photo

import (
	"bytes"
	"encoding/ascii85"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tracer"
)

// Set puts traces together from their parts, which may come in any order and more than once. Its
// zero value is ready.
type Set struct {
	traces []*gathered
}

// gathered is a trace of which parts have come.
type gathered struct {
	crc   uint32
	parts [][]byte // nil: has not come
}

// Add adds a part.
func (s *Set) Add(p Part) {
	for _, t := range s.traces {
		if t.crc == p.CRC && len(t.parts) == p.Parts {
			t.parts[p.N] = p.Data
			return
		}
	}
	t := &gathered{p.CRC, make([][]byte, p.Parts)}
	t.parts[p.N] = p.Data
	s.traces = append(s.traces, t)
}

// begun returns the bytes of a trace up to the first part that has not come, and whether they are
// all and right.
func (t *gathered) begun() (b []byte, whole bool) {
	for _, p := range t.parts {
		if p == nil {
			return b, false
		}
		b = append(b, p...)
	}
	return b, crc32.ChecksumIEEE(b) == t.crc
}

// number returns the number of a trace of its boot, or 0 if its begin has not come.
func (t *gathered) number() uint64 {
	if b := t.parts[0]; len(b) > 1 && b[0] == tracer.RecBegin {
		if n, k := binary.Uvarint(b[1:]); k > 0 {
			return n
		}
	}
	return 0
}

// Lines returns the traces as the lines that a serial port would have sent in the compact form
// (package tracer, wire.go), and in words what is wrong. Of a trace with a part missing there are
// the lines of what is before it, without the last line; so a reader knows that it was cut.
func (s *Set) Lines() (lines []byte, wrong []string) {
	slices.SortStableFunc(s.traces, func(a, b *gathered) int {
		return int(min(a.number(), 1<<31)) - int(min(b.number(), 1<<31))
	})
	var out bytes.Buffer
	for _, t := range s.traces {
		b, whole := t.begun()
		var missing []string
		for i, p := range t.parts {
			if p == nil {
				missing = append(missing, fmt.Sprint(i+1))
			}
		}
		name := "a trace"
		if n := t.number(); n > 0 {
			name = fmt.Sprintf("trace %d", n)
		}
		switch {
		case len(missing) == 1:
			wrong = append(wrong,
				fmt.Sprintf("code %s of %d of %s is missing; give a photo of that page, too", missing[0],
					len(t.parts), name))
		case len(missing) > 1:
			wrong = append(wrong,
				fmt.Sprintf("codes %s of %d of %s are missing; give photos of these pages, too",
					strings.Join(missing, ", "), len(t.parts), name))
		case !whole:
			wrong = append(wrong,
				fmt.Sprintf("the codes of %s do not fit together (CRC); photograph them anew", name))
			continue
		}
		compactLines(&out, b, t.crc, whole)
	}
	return out.Bytes(), wrong
}

// compactLines writes a trace's bytes as lines.
func compactLines(out *bytes.Buffer, b []byte, crc uint32, whole bool) {
	for n := uint32(0); len(b) > 0 || whole; n++ {
		k := min(len(b), tracer.CompactLine)
		piece, tag := b[:k], tracer.CompactTag
		if b = b[k:]; len(b) == 0 && whole && k <= tracer.CompactLine-4 {
			piece, tag = binary.BigEndian.AppendUint32(slices.Clone(piece), crc), tracer.CompactEnd
			whole = false
		}
		out.WriteString(tag)
		digit := uint32(0)
		if n > 0 {
			digit = (n-1)%84 + 1
		}
		out.WriteByte('!' + byte(digit))
		digits := make([]byte, ascii85.MaxEncodedLen(len(piece)))
		digits = digits[:ascii85.Encode(digits, piece)]
		out.Write(bytes.ReplaceAll(digits, []byte("z"), []byte("!!!!!"))) // as the target has it
		out.WriteString("\r\n")
	}
}
