package foreign

// Logs of which each line is an object of JSON, with the text in its strings: docker's files
// ({"log":"..."}), journalctl -o json ({"MESSAGE":"..."}), and programs that log so. A
// string may have several lines. The line itself passes as it is.

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
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
	if len(line) < 9 || line[len(line)-1] != '}' ||
		!strings.HasPrefix(strings.TrimLeft(line[1:], " "), `"`) || x.nested >= maxJSON {
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
			if strings.Contains(text, "\n") && len(x.hits) > from && x.hits[from].Label == "" &&
				!x.hits[from].quoted {
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
	var open []byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '{', '[':
			if open = append(open, c); len(open) > 64 {
				return nil, false
			}
			if text := jsonBytes(s[i:]); len(text) >= minJSONText {
				texts = append(texts, text)
			}
		case '}', ']':
			last := len(open) - 1
			if last < 0 || open[last] != c-2 { // in ASCII
				return nil, false
			}
			if open = open[:last]; last == 0 {
				return texts, strings.TrimSpace(s[i+1:]) == ""
			}
		case '"':
			raw := quoted(s[i:])
			if raw == "" {
				return nil, false
			}
			i += len(raw) - 1
			isName := strings.HasPrefix(strings.TrimLeft(s[i+1:], " \t"), ":")
			if !isName && len(raw) >= minJSONText+len(`""`) {
				texts = append(texts, strings.TrimRight(unquote(raw), "\n"))
			}
		default: // a number, true, false, null
			if strings.IndexByte("-+.0123456789truefalsnEe:, \t\r\n", c) < 0 {
				return nil, false
			}
		}
	}
	return nil, false
}

var byteList = lookup.Regexp(`^\[[0-9, ]{16,}\]`)

// jsonBytes reads an array of bytes, which a text may begin with.
func jsonBytes(s string) string {
	var all []byte
	for word := range strings.FieldsFuncSeq(strings.Trim(byteList().FindString(s), "[]"),
		func(c rune) bool { return c == ',' || c == ' ' }) {
		n, err := strconv.ParseUint(word, 10, 8)
		if err != nil {
			return ""
		}
		all = append(all, byte(n))
	}
	return string(all)
}

// quoted returns the string that a text begins with, in its quotes; "": it has no end.
func quoted(s string) string {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[:i+1]
		}
	}
	return ""
}

// unquote takes quotes and escapes off a string, of Go or of JSON.
func unquote(s string) (text string) {
	text, err := strconv.Unquote(s)
	if err != nil && json.Unmarshal([]byte(s), &text) != nil {
		return s[1 : len(s)-1]
	}
	return text
}
