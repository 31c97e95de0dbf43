package terminal

// A chapter is written in Markdown for a browser, and read in a terminal too. Of Markdown only
// what the chapters use is known: headings, paragraphs, lists, tables, blocks of code, links.

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// links matches a link; a page's file name is left out where the text says what it is.
var links = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`\[([^\]]*)\]\(([^)]*)\)`) })

// Markdown returns a text in Markdown as plain text: paragraphs are filled to so many columns,
// blocks of code are indented and not filled, tables become a list of their rows. Context: any.
func Markdown(text string, columns int) string {
	var out strings.Builder
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			fill(&out, strings.Join(paragraph, " "), "", "", columns)
			out.WriteByte('\n')
			paragraph = nil
		}
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "```"):
			flush()
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
				out.WriteString(strings.TrimRight("    "+lines[i], " ") + "\n")
			}
			out.WriteByte('\n')
		case strings.HasPrefix(line, "#"):
			flush()
			out.WriteString(strings.ToUpper(plain(strings.TrimLeft(line, "# "))) + "\n\n")
		case strings.HasPrefix(line, "|"):
			flush()
			var rows [][]string
			for ; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
				rows = append(rows, cells(lines[i]))
			}
			i--
			table(&out, rows, columns)
			out.WriteByte('\n')
		case listItem().MatchString(line):
			flush()
			marker := listItem().FindString(line)
			item := line[len(marker):]
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], " ") &&
				!listItem().MatchString(lines[i+1]) {
				i++
				item += " " + strings.TrimSpace(lines[i])
			}
			fill(&out, item, "  "+marker, strings.Repeat(" ", 2+len(marker)), columns)
			if i+1 == len(lines) || !listItem().MatchString(lines[i+1]) {
				out.WriteByte('\n')
			}
		case strings.HasPrefix(line, "    "):
			flush()
			for ; i < len(lines) && (strings.HasPrefix(lines[i], "    ") || lines[i] == ""); i++ {
				out.WriteString(lines[i] + "\n")
			}
			i--
		case strings.TrimSpace(line) == "":
			flush()
		default:
			paragraph = append(paragraph, strings.TrimSpace(line))
		}
	}
	flush()
	return strings.TrimRight(out.String(), "\n") + "\n"
}

var listItem = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^ *([-*]|[0-9]+\.) +`) })

// plain takes the marks out of a line.
func plain(s string) string {
	s = links().ReplaceAllString(s, "$1")
	return strings.NewReplacer("`", "", "**", "", `\|`, "|", "&lt;", "<", "&gt;", ">").Replace(s)
}

// cells returns the cells of a table's row.
func cells(row string) []string {
	row = strings.ReplaceAll(strings.Trim(strings.TrimSpace(row), "|"), `\|`, "\x00")
	var all []string
	for c := range strings.SplitSeq(row, "|") {
		all = append(all, plain(strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|")))
	}
	return all
}

// table writes rows: side by side if they fit, else the first cell above the others.
func table(out *strings.Builder, rows [][]string, columns int) {
	var widths []int
	for i, r := range rows {
		if i == 1 { // the line below the head
			continue
		}
		for j, c := range r {
			if j == len(widths) {
				widths = append(widths, 0)
			}
			widths[j] = max(widths[j], utf8.RuneCountInString(c))
		}
	}
	total := 2
	for _, w := range widths {
		total += w + 2
	}
	for i, r := range rows {
		if i == 1 {
			continue
		}
		if total-2 <= columns {
			line := "  "
			for j, c := range r {
				line += c + strings.Repeat(" ", widths[j]-utf8.RuneCountInString(c)+2)
			}
			out.WriteString(strings.TrimRight(line, " ") + "\n")
			continue
		}
		fill(out, r[0], "  ", "    ", columns)
		for _, c := range r[1:] {
			if c != "" {
				fill(out, c, "      ", "      ", columns)
			}
		}
	}
}

// fill writes words to lines of at most so many columns; a longer word has a line of its own.
func fill(out *strings.Builder, text, first, indent string, columns int) {
	line, empty := first, true
	for w := range strings.FieldsSeq(plain(text)) {
		switch {
		case empty:
			line += w
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > columns:
			out.WriteString(line + "\n")
			line = indent + w
		default:
			line += " " + w
		}
		empty = false
	}
	out.WriteString(strings.TrimRight(line, " ") + "\n")
}
