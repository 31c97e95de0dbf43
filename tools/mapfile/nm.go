// nm's output. In the BSD format, the default, a line is an address, with -S a size,
// a letter and a name, which is the rest of the line: demangled names have blanks.
// System.map is that too, and /proc/kallsyms adds a module in brackets after a tab.
// `go tool nm -size` differs in that its sizes are decimal and filled up with blanks.

package mapfile

import (
	"fmt"
	"strings"
)

// isType reports whether s is one of nm's letters, or what stands for none: Go's nm
// has '_' for the names of files.
func isType(s string) bool {
	return len(s) == 1 && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' || s[0] == '-' || s[0] == '?' || s[0] == '_')
}

// isFileHeading reports whether the line names a file or a member of an archive, as nm
// does when it prints several.
func isFileHeading(s string) bool {
	return len(s) > 1 && s[0] != ' ' && strings.HasSuffix(s, ":")
}

// bsdLine reads a line of the BSD format. ok is false if it is none. A symbol without
// an address has the type 'U'.
func bsdLine(s string) (sym Symbol, ok bool, err error) {
	word, rest := token(s)
	if isType(word) && s[0] == ' ' && (word == "U" || word == "w" || word == "v") {
		return Symbol{Type: 'U'}, true, nil
	}
	addr, ok := hex(word)
	if !ok && (len(word) <= 16 || !isHexWord(word)) {
		return sym, false, nil
	}
	sym.Addr = addr
	typ, after := token(rest)
	if !isType(typ) {
		size := typ
		if typ, after = token(after); !isType(typ) {
			return sym, false, nil
		}
		var isSize bool
		if sym.Size, isSize = nmSize(size, rest); !isSize {
			return sym, false, nil
		}
	}
	if !ok {
		return sym, true, fmt.Errorf("address %.40s has more than 64 bits", word)
	}
	sym.Type = typ[0]
	// One blank before the name; a name may begin with others.
	if sym.Name = after; sym.Name != "" {
		sym.Name = sym.Name[1:]
	}
	if i := strings.IndexByte(sym.Name, '\t'); i >= 0 {
		// What follows is a module, or with nm -l the line of its definition.
		if m := strings.TrimSpace(sym.Name[i:]); len(m) > 2 && m[0] == '[' && m[len(m)-1] == ']' {
			sym.Module = m[1 : len(m)-1]
		}
		sym.Name = sym.Name[:i]
	}
	sym.Name = strings.TrimRight(sym.Name, " ")
	return sym, true, nil
}

// nmSize reads a size: 8 or 16 hexadecimal digits, or go tool nm's decimal number,
// which is filled up to ten columns.
func nmSize(s, rest string) (size uint64, ok bool) {
	if len(s) == 8 || len(s) == 16 {
		if size, ok = hex(s); ok && !strings.HasPrefix(rest, "  ") {
			return size, true
		}
	}
	if len(s) > 10 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		size = size*10 + uint64(s[i]-'0')
	}
	return size, s != ""
}

func (m *Map) readBSD(text string, _ Options) (uint64, error) {
	return m.readNM(text, "ADDRESS [SIZE] TYPE NAME, as nm", func(line string) (sym Symbol, ok bool, err error) {
		if sym, ok, err = bsdLine(line); sym.Type == '_' {
			sym.Name = "" // of Go's nm, for a file
		}
		word, _ := token(line)
		m.wide = m.wide || ok && err == nil && sym.Type != 'U' && sym.Name != "" && len(word) > 8
		return sym, ok, err
	})
}

// readNM reads lines of one of nm's formats, which form says in words and read reads. A
// symbol of type 'U' or without a name is left out.
func (m *Map) readNM(text, form string, read func(line string) (sym Symbol, ok bool, err error)) (uint64, error) {
	m.reserve(text, 24)
	l, heading := lines{text: text}, ""
	for l.next() {
		if strings.TrimSpace(l.line) == "" {
			continue
		}
		sym, ok, err := read(l.line)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%d: %w", l.n, err)
		case !ok && isFileHeading(l.line):
			if err := m.heading(&heading, &l); err != nil {
				return 0, err
			}
		case !ok:
			return 0, fmt.Errorf("%d: %.60q is not %s prints it", l.n, l.line, form)
		case sym.Type != 'U' && sym.Name != "":
			m.syms = append(m.syms, sym)
		}
	}
	return 0, nil
}

// heading takes the heading of a file's symbols, of which there may be one.
func (m *Map) heading(heading *string, l *lines) error {
	if *heading != "" || len(m.syms) > 0 {
		return fmt.Errorf("%d: %.60q begins the symbols of another file, whose addresses have nothing to do with those above; run nm on one linked file", l.n, l.line)
	}
	*heading = l.line
	return nil
}

// reserve makes room for the symbols of a text with about so many bytes a line.
func (m *Map) reserve(text string, line int) {
	m.syms = make([]Symbol, 0, len(text)/(2*line))
}

// posixLine reads a line of nm -P: NAME TYPE [VALUE [SIZE]]. It is read from its end,
// since demangled names have blanks.
func posixLine(s string) (sym Symbol, ok bool) {
	rest, last := lastToken(s)
	if isType(last) && (last == "U" || last == "w" || last == "v") {
		return Symbol{Type: 'U'}, strings.TrimSpace(rest) != ""
	}
	v, ok := hex(last)
	if !ok {
		return sym, false
	}
	before, word := lastToken(rest)
	if addr, ok := hex(word); ok {
		if b, typ := lastToken(before); isType(typ) {
			sym = Symbol{Name: strings.TrimSpace(b), Addr: addr, Size: v, Type: typ[0]}
			return sym, sym.Name != ""
		}
	}
	if !isType(word) {
		return sym, false
	}
	sym = Symbol{Name: strings.TrimSpace(before), Addr: v, Type: word[0]}
	return sym, sym.Name != ""
}

// lastToken takes the last word off s, with the blanks behind it.
func lastToken(s string) (rest, word string) {
	s = strings.TrimRight(s, " \t")
	if i := strings.LastIndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i+1:]
	}
	return "", s
}

func (m *Map) readPosix(text string, _ Options) (uint64, error) {
	return m.readNM(text, "NAME TYPE [ADDRESS [SIZE]], as nm -P", func(line string) (sym Symbol, ok bool, err error) {
		sym, ok = posixLine(line)
		m.wide = m.wide || ok && sym.Addr>>32 != 0
		return sym, ok, nil
	})
}

// isSysVHeading reports whether the words are those over the columns of nm -f sysv.
func isSysVHeading(f []string) bool {
	return strings.Join(f, " ") == "Name Value Class Type Size Line Section"
}

// sysvColumns is how many columns follow the name.
const sysvColumns = 6

func (m *Map) readSysV(text string, _ Options) (uint64, error) {
	m.reserve(text, 100)
	headings := 0
	for l := (lines{text: text}); l.next(); {
		if !strings.Contains(l.line, "|") {
			if !isSysVHeading(strings.Fields(l.line)) {
				continue // what is above the columns
			}
			if headings++; headings > 1 {
				return 0, fmt.Errorf("%d: the symbols of another file begin, whose addresses have nothing to do with those above; run nm on one linked file", l.n)
			}
			continue
		}
		// A demangled name may have a bar, as operator| does.
		var col [sysvColumns]string // from the last one
		name := l.line
		for i := range col {
			at := strings.LastIndexByte(name, '|')
			if at < 0 {
				return 0, fmt.Errorf("%d: %.60q has not the columns that nm -f sysv prints", l.n, l.line)
			}
			col[i], name = strings.TrimSpace(name[at+1:]), name[:at]
		}
		value, class, size := col[5], col[4], col[2]
		if letter, ok := elfutilsClass(class, col[3]); ok {
			class = letter
		}
		if value == "" {
			continue // undefined
		}
		addr, ok := hex(value)
		if !ok || !isType(class) {
			return 0, fmt.Errorf("%d: %.40q and %.40q are not an address and a class", l.n, value, class)
		}
		sym := Symbol{Name: strings.TrimSpace(name), Addr: addr, Type: class[0]}
		if size != "" {
			if sym.Size, ok = hex(size); !ok {
				return 0, fmt.Errorf("%d: %.40q is not a size", l.n, size)
			}
		}
		m.wide = m.wide || len(value) > 8
		if sym.Name != "" && sym.Type != 'U' {
			m.syms = append(m.syms, sym)
		}
	}
	return 0, nil
}

// elfutilsClass returns nm's letter for what elfutils' nm says in words.
func elfutilsClass(class, kind string) (letter string, ok bool) {
	code := kind == "FUNC" || kind == "NOTYPE" || kind == "GNU_IFUNC"
	switch {
	case kind == "FILE" || kind == "SECTION":
		return "a", class == "LOCAL"
	case class == "WEAK" && code:
		return "W", true
	case class == "WEAK":
		return "V", true
	case class == "GLOBAL" && code:
		return "T", true
	case class == "GLOBAL":
		return "D", true
	case class == "LOCAL" && code:
		return "t", true
	case class == "LOCAL":
		return "d", true
	}
	return "", false
}
