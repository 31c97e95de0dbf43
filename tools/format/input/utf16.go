package input

// UTF-16, in which Windows' tools save a log: PowerShell's > and Notepad. Nothing in it looks
// like a trace until it is text as everybody else's.

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader passes bytes through, or decodes them if the first ones are UTF-16.
type utf16Reader struct {
	from  io.Reader
	order binary.ByteOrder // nil: they are not
	began bool
	note  func()
	rest  []byte // what has been read and not decoded: half of a character
	out   []byte // decoded
	err   error
}

// Text returns a reader of r's text in UTF-8, without the mark that Windows' tools put before it.
// UTF-16 is told by its mark, or without one by its first two characters, if they are ASCII; note,
// which may be nil, is then called once. Anything else passes as it comes, without delay.
// Context: host.
func Text(r io.Reader, note func()) io.Reader { return &utf16Reader{from: r, note: note} }

func (u *utf16Reader) Read(p []byte) (int, error) {
	if len(p) < utf8.UTFMax {
		return u.from.Read(p)
	}
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		n, err := u.from.Read(p)
		if !u.began && n > 0 {
			u.began = true
			skip := 0
			if u.order, skip = utf16Order(p[:n]); u.order != nil && u.note != nil {
				u.note()
			}
			n = copy(p, p[skip:n])
		}
		if u.order == nil {
			if n == 0 && err == nil {
				continue // that was the mark
			}
			return n, err
		}
		u.rest, u.err = append(u.rest, p[:n]...), err
		u.decode()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

// utf16Order returns the order of bytes of UTF-16 text that begins so, nil if it is none, and how
// long its mark is.
func utf16Order(b []byte) (order binary.ByteOrder, mark int) {
	ascii := func(c byte) bool { return c == '\t' || c == '\n' || c == '\r' || c >= ' ' && c < 0x7f }
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return binary.LittleEndian, 2
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return binary.BigEndian, 2
	case bytes.HasPrefix(b, []byte("\ufeff")):
		return nil, len("\ufeff")
	case len(b) < 4:
	case ascii(b[0]) && b[1] == 0 && ascii(b[2]) && b[3] == 0:
		return binary.LittleEndian, 0
	case b[0] == 0 && ascii(b[1]) && b[2] == 0 && ascii(b[3]):
		return binary.BigEndian, 0
	}
	return nil, 0
}

// decode takes whole characters out of what has been read, and at the end what is left of one.
func (u *utf16Reader) decode() {
	u.out = u.out[:0]
	b := u.rest
	for len(b) >= 2 {
		r := rune(u.order.Uint16(b))
		size := 2
		if utf16.IsSurrogate(r) {
			if len(b) < 4 && u.err == nil {
				break
			}
			if len(b) >= 4 {
				if pair := utf16.DecodeRune(r, rune(u.order.Uint16(b[2:]))); pair != utf8.RuneError {
					r, size = pair, 4
				}
			}
		}
		u.out = utf8.AppendRune(u.out, r)
		b = b[size:]
	}
	if len(b) == 1 && u.err != nil {
		u.out, b = utf8.AppendRune(u.out, utf8.RuneError), nil
	}
	u.rest = append(u.rest[:0], b...)
}
