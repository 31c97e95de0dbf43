package input

import (
	"encoding/binary"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
)

// encode writes text as UTF-16.
func encode(text string, order binary.AppendByteOrder, mark bool) string {
	var b []byte
	if mark {
		b = order.AppendUint16(b, 0xfeff)
	}
	for _, c := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, c)
	}
	return string(b)
}

// TestText: UTF-16 of either order, with a mark and without one, is read as UTF-8, however it
// comes; anything else passes.
func TestText(t *testing.T) {
	const text = "[    0.7]  work_one+0xf/0x1a \u00e4 \U0001f642\r\n"
	for _, tt := range []struct {
		name, in, want string
		notes          int
	}{
		{"LE, mark", encode(text, binary.LittleEndian, true), text, 1},
		{"BE, mark", encode(text, binary.BigEndian, true), text, 1},
		{"LE", encode(text, binary.LittleEndian, false), text, 1},
		{"BE", encode(text, binary.BigEndian, false), text, 1},
		{"cut", encode(text, binary.LittleEndian, true) + "x", text + "\ufffd", 1},
		{"half a pair", encode("a", binary.LittleEndian, true) + "\x3d\xd8", "a\ufffd", 1},
		{"UTF-8", text, text, 0},
		{"UTF-8, mark", "\ufeff" + text, text, 0},
		{"binary", "\x00\x01\x02\x03", "\x00\x01\x02\x03", 0},
		{"empty", "", "", 0},
		{"one byte", "\xff", "\xff", 0},
	} {
		for name, from := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r },
			"half": iotest.HalfReader, "with the error": iotest.DataErrReader} {
			notes := 0
			got, err := io.ReadAll(Text(from(strings.NewReader(tt.in)), func() { notes++ }))
			if string(got) != tt.want || err != nil || notes != tt.notes {
				t.Errorf("%s, %s: %q, %v, %d notes; want %q, %d", tt.name, name, got, err, notes, tt.want, tt.notes)
			}
		}
	}
}

// FuzzText: no text is lost, and none hangs.
func FuzzText(f *testing.F) {
	f.Add([]byte("\xff\xfea\x00\x3d\xd8"))
	f.Add([]byte("\x00a\x00b\xd8"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := io.ReadAll(Text(strings.NewReader(string(in)), nil))
		if order, _ := utf16Order(in[:min(len(in), 512)]); err != nil || order == nil && string(got) != strings.TrimPrefix(string(in), "\ufeff") {
			t.Fatalf("%q: %q, %v", in, got, err)
		}
	})
}
