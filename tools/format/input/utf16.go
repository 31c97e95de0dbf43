package input

// UTF-16, in which Windows' tools save a log: PowerShell's > and Notepad. Nothing in it looks
// like a trace until it is text as everybody else's.

import (
	"bytes"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// textReader passes bytes through, or what decodes them if the first ones are UTF-16.
type textReader struct {
	from  io.Reader
	began bool
	note  func()
}

// Text returns a reader of r's text in UTF-8, without the mark that Windows' tools put before it.
// UTF-16 is told by its mark, or without one by its first two characters, if they are ASCII; note,
// which may be nil, is then called once. Anything else passes as it comes, without delay.
// Context: host.
func Text(r io.Reader, note func()) io.Reader { return &textReader{from: r, note: note} }

func (t *textReader) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if t.began || n == 0 {
		return n, err
	}
	t.began = true
	order, skip := utf16Order(p[:n])
	if order == nil {
		if n = copy(p, p[skip:n]); n > 0 || err != nil {
			return n, err
		}
		return t.from.Read(p) // that was the mark
	}
	if t.note != nil {
		t.note()
	}
	whole := io.MultiReader(bytes.NewReader(bytes.Clone(p[skip:n])), t.from) // an error comes again
	t.from = order.NewDecoder().Reader(whole)
	return t.from.Read(p)
}

// utf16Order returns the order of bytes of UTF-16 text that begins so, nil if it is none, and how
// long its mark is.
func utf16Order(b []byte) (order encoding.Encoding, mark int) {
	ascii := func(c byte) bool { return c == '\t' || c == '\n' || c == '\r' || c >= ' ' && c < 0x7f }
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), 2
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), 2
	case bytes.HasPrefix(b, []byte("\ufeff")):
		return nil, len("\ufeff")
	case len(b) < 4:
	case ascii(b[0]) && b[1] == 0 && ascii(b[2]) && b[3] == 0:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), 0
	case b[0] == 0 && ascii(b[1]) && b[2] == 0 && ascii(b[3]):
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), 0
	}
	return nil, 0
}
