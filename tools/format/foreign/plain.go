package foreign

// What is between us and the words that a system has printed: quotes, escapes, blanks that
// are none, a mail's or a tracker's marks. plain takes it out of a line, once for all formats,
// so that their readers see a line as the system has written it.

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// asPlain replaces blanks of other kinds, the pictures of control characters, and control
// characters as `cat -v`, C, JSON and syslog write them.
var asPlain = func() *strings.Replacer {
	all := []string{"\ufeff", "", "\u200b", "", "\u200e", "", "\u2060", "", "M-BM- ", " ",
		"␍", "", "␊", "", "␤", "", "␉", "\t", "␛", "\x1b", "␠", " ", "␀", "", "^M", "",
		"^J", "", "^I", "\t", "^[[", "\x1b[",
		`\x1b[`, "\x1b[", `\u001b[`, "\x1b[", `\033[`, "\x1b[", `\e[`, "\x1b[", `\u003c`, "<", `\u003e`,
		">", `\u00a0`, " ", `\xa0`, " "}
	for _, r := range "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000" {
		all = append(all, string(r), " ")
	}
	return strings.NewReplacer(all...)
}()

var (
	tags = lookup.Regexp(`</?(?:a|b|br|code|div|em|font|i|li|p|pre|span|td|tr|tt)(?: [^<>]*)?/?>`)
	// A backslash that Markdown wants before its own characters.
	windowsPath  = lookup.Regexp(`(?:^|[^A-Za-z])[A-Za-z]:\\`)
	marksEscaped = lookup.Regexp(`\\([\[\]<>()_*+#.-])`)
)

// plain returns the line without such things. Most lines have none.
func plain(s string) string {
	if s == "" || s[0] == '{' {
		return s // an object: its strings are lines of their own
	}
	odd, link := strings.IndexByte(">'\"`", s[0]) >= 0 || strings.HasPrefix(s, "b'") ||
		strings.HasPrefix(s, `b"`), false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf, c == '\\', c == '^', c == '&':
			odd = true
		case c == '/':
			odd = odd || i > 0 && s[i-1] == '<'
		case c == '(':
			link = link || i > 0 && s[i-1] == ']'
		}
	}
	if !odd && !link {
		return s
	}
	if strings.IndexByte(s, '&') >= 0 {
		s = html.UnescapeString(s)
	}
	if strings.IndexByte(s, 0xa0) >= 0 && !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, " ") // Latin-1
	}
	s = asPlain.Replace(s)
	if strings.Contains(s, "</") || strings.Contains(s, "<br") {
		s = tags().ReplaceAllString(s, "")
	}
	if strings.IndexByte(s, '\\') >= 0 && !windowsPath().MatchString(s) {
		s = marksEscaped().ReplaceAllString(s, "$1")
	}
	if strings.Contains(s, "](") {
		s = withoutLinks(s)
	}
	return unquoted(terminal.StripColours(s))
}

// unquoted takes off what a mail, a program or a shell has put around the whole line.
func unquoted(s string) string {
	for strings.HasPrefix(s, ">") && !strings.HasPrefix(s, ">>>") {
		s = strings.TrimPrefix(s[1:], " ")
	}
	body := strings.TrimPrefix(s, "b") // Python's
	body = strings.TrimSuffix(strings.TrimRight(body, " "), ",")
	if n := len(body); n > 2 && body[0] == body[n-1] && strings.IndexByte("'\"`", body[0]) >= 0 &&
		strings.IndexByte(body[1:n-1], body[0]) < 0 {
		s = body[1 : n-1]
	}
	for _, end := range [...]string{`\n`, `\r`, `\x0d`, `\015`, "\r"} {
		s = strings.TrimSuffix(s, end)
	}
	for strings.HasPrefix(s, `\t`) {
		s = "\t" + s[2:]
	}
	return s
}

// withoutLinks keeps of a link of Markdown what it shows: [TEXT](URL), also where a tracker
// took the brackets of an address for one, [<ADDRESS>](<ADDRESS>).
func withoutLinks(s string) string {
	var b strings.Builder
	for {
		end := strings.Index(s, "](")
		if end < 0 {
			break
		}
		size := strings.IndexByte(s[end:], ')')
		if size < 0 {
			break
		}
		url := s[end+2 : end+size]
		start := strings.LastIndexByte(s[:end], '[')
		bare := strings.NewReplacer("<", "", ">", "", "[", "", "]", "")
		same := start >= 0 && bare.Replace(url) == bare.Replace(s[start:end])
		if start < 0 || !same && !strings.Contains(url, ":") && !strings.HasPrefix(url, "/") &&
			!strings.HasPrefix(url, "#") ||
			strings.Contains(url, "+0x") && !strings.Contains(url, "://") {
			b.WriteString(s[:end+2])
			s = s[end+2:]
			continue
		}
		b.WriteString(s[:start])
		b.WriteString(s[start+1 : end])
		s = s[end+size+1:]
	}
	b.WriteString(s)
	return b.String()
}

// fieldTexts returns the quoted values of a line that is nothing but KEY=VALUE pairs (logfmt),
// or the lines of a text in which the ends of lines are escaped.
func fieldTexts(line string) (texts []string) {
	if !strings.Contains(line, `="`) {
		if strings.Contains(line, `\n`) && !windowsPath().MatchString(line) {
			return strings.Split(line, `\n`)
		}
		return nil
	}
	for rest := line; rest != ""; rest = strings.TrimLeft(rest, " \t") {
		key, value, ok := strings.Cut(rest, "=")
		if !ok || key == "" || strings.ContainsAny(key, " \t\"") {
			return nil
		}
		if !strings.HasPrefix(value, `"`) {
			rest = strings.TrimLeftFunc(value, func(c rune) bool { return c != ' ' && c != '\t' })
			continue
		}
		text := quoted(value)
		if text == "" {
			return nil
		}
		if len(text) >= minJSONText+len(`""`) {
			texts = append(texts, unquote(text))
		}
		rest = value[len(text):]
	}
	return texts
}
