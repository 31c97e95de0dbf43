package page

// A page is read by people: what they cannot see must not be there. Escape sequences,
// characters of no width and those that turn the direction of a line are written as
// escapes, and a letter has no more marks than languages need.

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a part of a text. An escape stands for one that would not show.
type span struct {
	Text   string
	Escape bool
}

// maxMarks is how many combining marks may follow a character.
const maxMarks = 3

// spans returns the text in parts, cut after so many characters.
func spans(s string, limit int) []span {
	var all []span
	from, marks := 0, 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if limit--; limit < 0 {
			return append(all, span{Text: s[from:i]}, span{Text: fmt.Sprintf("… %d more bytes", len(s)-i),
				Escape: true})
		}
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		e := ""
		switch {
		case r == utf8.RuneError && n == 1:
			e = fmt.Sprintf(`\x%02x`, s[i])
		case r < 0x20 && r != '\t' || r == 0x7f:
			e = fmt.Sprintf(`\x%02x`, r)
		case r == '\t':
		case marks > maxMarks, !unicode.IsGraphic(r):
			e = fmt.Sprintf(`\u%04x`, r)
			if r > 0xffff {
				e = fmt.Sprintf(`\U%08x`, r)
			}
		}
		if e != "" {
			if from < i {
				all = append(all, span{Text: s[from:i]})
			}
			all, from = append(all, span{e, true}), i+n
		}
		i += n
	}
	if from < len(s) {
		all = append(all, span{Text: s[from:]})
	}
	return all
}

// visible returns the text as one string.
func visible(s string, limit int) string {
	var b strings.Builder
	for _, p := range spans(s, limit) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// name is visible for names.
func name(s string) string { return visible(s, maxName) }
