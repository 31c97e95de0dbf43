package trace

// Nothing that comes from a target or out of an ELF file may drive the user's
// terminal: an escape sequence could hide lines, retitle the window or, in some
// terminals, type at the prompt. Control characters are shown, not sent. The
// text is otherwise untouched, and where the output is no terminal all of it is.

import (
	"fmt"
	"unicode/utf8"
)

// harmless reports whether a control character of the text may pass: a console
// needs line feed, carriage return, tab, and backspace for its line editing.
func harmless(r rune) bool { return r == '\n' || r == '\r' || r == '\t' || r == '\b' }

// control reports whether the character is of the sets C0 or C1, or DEL, or one that turns the
// direction of what follows, so that a line reads as another.
func control(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// appendControl appends a control character as it is shown.
func appendControl(dst []byte, r rune) []byte {
	if r >= 0x100 {
		return fmt.Appendf(dst, `\u%04x`, r)
	}
	return fmt.Appendf(dst, `\x%02x`, r)
}

// sanitizer makes a stream of bytes safe to show. A character of several bytes
// may come in pieces; held keeps the part that has come.
type sanitizer struct {
	held []byte
}

// append appends p to dst in its safe form.
func (s *sanitizer) append(dst, p []byte) []byte {
	if len(s.held) > 0 {
		p = append(s.held, p...)
		s.held = nil
	}
	for len(p) > 0 {
		r, n := utf8.DecodeRune(p)
		switch {
		case r == utf8.RuneError && n == 1:
			if !utf8.FullRune(p) {
				s.held = append([]byte(nil), p...)
				return dst
			}
			// No UTF-8. In a terminal of 8 bits, 0x9b would begin a sequence.
			dst = fmt.Appendf(dst, `\x%02x`, p[0])
		case control(r) && !harmless(r):
			dst = appendControl(dst, r)
		default:
			dst = append(dst, p[:n]...)
		}
		p = p[n:]
	}
	return dst
}

// flush appends what is held of an unfinished character.
func (s *sanitizer) flush(dst []byte) []byte {
	for _, c := range s.held {
		dst = fmt.Appendf(dst, `\x%02x`, c)
	}
	s.held = nil
	return dst
}

// clean returns a name in its safe form, for a line of ours: here a line feed
// or a tab is as bad as the rest.
func clean(name string) string {
	for i, r := range name {
		if control(r) || r == utf8.RuneError {
			return cleanSlow(name, i)
		}
	}
	return name
}

func cleanSlow(name string, from int) string {
	b := []byte(name[:from])
	for i := from; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, name[i])
		case control(r):
			b = appendControl(b, r)
		default:
			b = append(b, name[i:i+n]...)
		}
		i += n
	}
	return string(b)
}

// AppendClean appends a line of a target, without its ending, to dst in its safe form:
// of the control characters tabs alone stay. It is for who shows lines without a Filter.
func AppendClean(dst, line []byte) []byte {
	for i := 0; i < len(line); i++ {
		if c := line[i]; c < 0x20 && c != '\t' || c >= 0x7f {
			return append(dst, appendCleanSlow(line)...)
		}
	}
	return append(dst, line...)
}

func appendCleanSlow(line []byte) (b []byte) {
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\x%02x`, line[0])
		case control(r) && r != '\t':
			b = appendControl(b, r)
		default:
			b = append(b, line[:n]...)
		}
		line = line[n:]
	}
	return b
}

// EscapeControls returns JSON with the control characters that its encoder leaves (DEL,
// C1) as \u escapes.
func EscapeControls(b []byte) []byte { return escapeControls(b) }
