package foreign

// Logs of which each line is an object of JSON, with the text in its strings: docker's files
// ({"log":"..."}), journalctl -o json ({"MESSAGE":"..."}), and programs that log so. A
// string may have several lines. The line itself passes as it is.

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/terminal"
)

const (
	// maxJSON bounds objects within strings of objects: a container's that logs JSON.
	maxJSON = 2
	// minJSONText is the length below which no string holds a frame.
	minJSONText = 8
)

// readJSON reads the strings of a line that is an object, and reports whether it is one.
func (x *Reader) readJSON(line string) bool {
	line = strings.TrimRight(line, " \t")
	if len(line) < 9 || line[len(line)-1] != '}' || !strings.HasPrefix(strings.TrimLeft(line[1:], " "), `"`) || x.nested >= maxJSON {
		return false
	}
	texts, ok := jsonTexts(line)
	if !ok {
		return false
	}
	x.readTexts(texts)
	return true
}

// readTexts reads the lines of texts that a line holds, and reports whether they gave anything.
func (x *Reader) readTexts(texts []string) bool {
	x.nested++
	before := len(x.hits)
	for _, text := range texts {
		if len(texts) == 1 && !strings.Contains(text, "\n") {
			x.read(terminal.StripColours(text))
			continue
		}
		for part := range strings.Lines(text) {
			part = terminal.StripColours(strings.TrimRight(part, "\r\n"))
			if part == "" {
				continue
			}
			from := len(x.hits)
			x.read(part)
			if strings.Contains(text, "\n") && len(x.hits) > from && x.hits[from].Label == "" && !x.hits[from].quoted {
				x.hits[from].Label = strings.TrimSpace(part[:min(len(part), maxLabel)])
			}
		}
	}
	x.nested--
	return len(x.hits) > before
}

// maxLabel bounds what is shown of a line within a string.
const maxLabel = 120

// jsonTexts returns the strings of an object that may hold lines of a report, in their
// order: values, not names. Bytes as numbers, as journalctl has a text with
// colours, are one too. It reports false if the text is no object.
func jsonTexts(s string) (texts []string, ok bool) {
	depth, name := 0, false // name: a string is one of a member
	var arrays []bool       // by depth
	i := 0
	for i < len(s) {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r':
			i++
		case '{', '[':
			if depth++; depth > 64 {
				return nil, false
			}
			arrays = append(arrays, c == '[')
			name = c == '{'
			i++
			if c == '[' {
				if text, end, ok := jsonBytes(s[i:]); ok {
					texts = append(texts, text)
					i += end
				}
			}
		case '}', ']':
			if depth == 0 || arrays[depth-1] != (c == ']') {
				return nil, false
			}
			depth--
			arrays = arrays[:depth]
			if i++; depth == 0 {
				return texts, strings.TrimSpace(s[i:]) == ""
			}
			name = false
		case ',':
			if depth == 0 {
				return nil, false
			}
			name = !arrays[depth-1]
			i++
		case ':':
			name = false
			i++
		case '"':
			end := i + 1
			escaped := false
			for end < len(s) && s[end] != '"' {
				if s[end] == '\\' {
					escaped = true
					end++
				}
				end++
			}
			if end >= len(s) {
				return nil, false
			}
			if raw := s[i+1 : end]; !name && len(raw) >= minJSONText {
				if escaped {
					raw = unescapeJSON(raw)
				}
				texts = append(texts, strings.TrimRight(raw, "\n"))
			}
			i = end + 1
		default: // a number, true, false, null
			if strings.IndexByte("-+.0123456789truefalsnEe", c) < 0 {
				return nil, false
			}
			i++
		}
	}
	return nil, false
}

// jsonBytes reads an array of bytes behind its bracket, and returns where it ends.
func jsonBytes(s string) (text string, end int, ok bool) {
	end = strings.IndexByte(s, ']')
	if end < 2*minJSONText {
		return "", 0, false
	}
	for i := range end {
		if c := s[i]; (c < '0' || c > '9') && c != ',' && c != ' ' {
			return "", 0, false
		}
	}
	var b []byte
	for word := range strings.SplitSeq(s[:end], ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(word), 10, 8)
		if err != nil {
			return "", 0, false
		}
		b = append(b, byte(n))
	}
	return string(b), end, true
}

// unescapeJSON takes the escapes out of a string.
func unescapeJSON(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'b':
			b.WriteByte('\b')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 < len(s) {
				if v, err := strconv.ParseUint(s[i+1:i+5], 16, 16); err == nil {
					if r := rune(v); utf8.ValidRune(r) {
						b.WriteRune(r)
					} else {
						b.WriteRune(utf8.RuneError)
					}
					i += 4
					continue
				}
			}
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
