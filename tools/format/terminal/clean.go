package terminal

// Nothing that comes from a target or out of an ELF file may drive the user's
// terminal: an escape sequence could hide lines, retitle the window or, in some
// terminals, type at the prompt. Control characters are shown, not sent. The
// text is otherwise untouched, and where the output is no terminal all of it is.

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// harmless reports whether a control character of the text may pass: a console
// needs line feed, carriage return, tab, and backspace for its line editing.
func harmless(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == '\b' }

// control reports whether the character is of the sets C0 or C1, or DEL, or one that turns the
// direction of what follows, so that a line reads as another.
func IsControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e ||
		r >= 0x2066 && r <= 0x2069
}

// IsText reports whether there are no control characters but tabs.
func IsText(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return IsControl(r) && r != '\t' }) < 0
}

// appendControl appends a control character as it is shown.
func appendControl(dst []byte, r rune) []byte {
	if r >= 0x100 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return fmt.Appendf(dst, `\x%02x`, r)
}

// Sanitizer makes a stream of bytes safe to show. A character of several bytes
// may come in pieces; held keeps the part that has come.
type Sanitizer struct {
	Held []byte
	// Columns returns how many columns the terminal has; nil: not known. One escape sequence
	// passes then, by which the kernel erases what was typed over the edge of a row
	// (eraseColumn in kernel/tty), as long as it stays within the line: from behind a full
	// row it goes to the last column of that.
	Columns func() int

	column int // since the last line feed or carriage return
}

// eraseBack is the sequence, with the number of columns.
const eraseBack = "\x1b[A\x1b[%dG\x1b[K"

// erases reports whether p begins with the sequence where it may pass, n bytes long, or may do
// so when more has come.
func (s *Sanitizer) erases(p []byte) (n int, part bool) {
	columns := s.columns()
	if columns <= 0 || s.column <= 0 || s.column%columns != 0 {
		return 0, false
	}
	want := fmt.Appendf(nil, eraseBack, columns)
	if bytes.HasPrefix(p, want) {
		return len(want), false
	}
	return 0, len(p) < len(want) && bytes.HasPrefix(want, p)
}

// shown counts the columns of what goes to the terminal: never more than it shows, or the
// sequence would lead out of the line.
func (s *Sanitizer) shown(r rune) {
	switch {
	case r == '\n' || r == '\r':
		s.column = 0
	case r == '\b':
		if s.column > 0 {
			s.column--
		}
	case r == '\t':
		if columns := s.columns(); columns > 0 && (s.column == 0 || s.column%columns != 0) {
			in := s.column % columns
			s.column += min(in&^7+8, columns-1) - in // a tab begins no row
		}
	case r < 0x300 && r != 0xad, r >= 0x370 && r < 0x483, r >= 0x20a0 && r < 0x20c0:
		s.column++ // Latin, Greek, Cyrillic, currencies: a column each
	default:
		s.column = unknown
	}
}

// unknown is a column after a character of which it is not known how wide it is, up to the
// line's end.
const unknown = -1 << 40

func (s *Sanitizer) columns() int {
	if s.Columns == nil {
		return 0
	}
	return s.Columns()
}

// Append appends p to dst in its safe form.
func (s *Sanitizer) Append(dst, p []byte) []byte {
	if len(s.Held) > 0 {
		p = append(s.Held, p...)
		s.Held = nil
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		before := len(dst)
		switch {
		case r == utf8.RuneError && n == 1:
			if !utf8.FullRune(p) {
				s.Held = bytes.Clone(p)
				return dst
			}
			// No UTF-8. In a terminal of 8 bits, 0x9b would begin a sequence.
			dst = fmt.Appendf(dst, `\x%02x`, p[0])
			s.column += len(dst) - before
		case r == 0x1b:
			k, part := s.erases(p)
			if part {
				s.Held = bytes.Clone(p)
				return dst
			}
			if k > 0 {
				dst = append(dst, p[:k]...)
				s.column, n = s.column-1, k
				break
			}
			dst = appendControl(dst, r)
			s.column += len(dst) - before
		case IsControl(r) && !harmless(r):
			dst = appendControl(dst, r)
			s.column += len(dst) - before
		default:
			dst = append(dst, p[:n]...)
			s.shown(r)
		}
		p = p[n:]
	}
	return dst
}

// Erasing reports whether what is held is a part of an escape sequence that may pass.
func (s *Sanitizer) Erasing() bool { return len(s.Held) > 0 && s.Held[0] == 0x1b }

// Flush appends what is held of an unfinished character.
func (s *Sanitizer) Flush(dst []byte) []byte {
	for _, c := range s.Held {
		dst = fmt.Appendf(dst, `\x%02x`, c)
	}
	s.Held = nil
	return dst
}

// Clean returns a name in its safe form, for a line of ours: here a line feed
// or a tab is as bad as the rest.
func Clean(name string) string {
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c >= 0x7f {
			return string(appendClean(nil, []byte(name), func(rune) bool { return false }))
		}
	}
	return name
}

// appendClean appends text in its safe form. Of the control characters those pass that may.
func appendClean(dst, text []byte, passes func(rune) bool) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			dst = fmt.Appendf(dst, `\x%02x`, text[0])
		case IsControl(r) && !passes(r):
			dst = appendControl(dst, r)
		default:
			dst = append(dst, text[:n]...)
		}
		text = text[n:]
	}
	return dst
}

// AppendClean appends a line of a target, without its ending, to dst in its safe form:
// of the control characters tabs alone stay. It is for who shows lines without a Filter.
func AppendClean(dst, line []byte) []byte {
	for _, c := range line {
		if c < 0x20 && c != '\t' || c >= 0x7f {
			return appendClean(dst, line, func(r rune) bool { return r == '\t' })
		}
	}
	return append(dst, line...)
}

// EscapeControls returns JSON with DEL and the C1 controls as \u escapes, as the encoder
// writes C0. They can only stand inside of strings.
func EscapeControls(b []byte) []byte {
	out := b[:0:0]
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == 0x7f:
			out = append(out, `\u007f`...)
		case b[i] == 0xc2 && i+1 < len(b) && b[i+1] >= 0x80 && b[i+1] < 0xa0:
			out = fmt.Appendf(out, `\u%04x`, b[i+1])
			i++
		default:
			out = append(out, b[i])
		}
	}
	return out
}
