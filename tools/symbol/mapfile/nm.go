// nm's output. In the BSD format, the default, a line is an address, with -S a size,
// a letter and a name, which is the rest of the line: demangled names have blanks.
// System.map is that too, and /proc/kallsyms adds a module in brackets after a tab.
// `go tool nm -size` differs in that its sizes are decimal and filled up with blanks.

package mapfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// isType reports whether s is one of nm's letters, or what stands for none: Go's nm
// has '_' for the names of files.
func isType(s string) bool {
	return len(s) == 1 && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' || s[0] == '-' || s[0] == '?' ||
		s[0] == '_')
}

// isUndefined reports whether s is a letter of a symbol that may have no address.
func isUndefined(s string) bool { return s == "U" || s == "w" || s == "v" }

// isFileHeading reports whether the line names a file or a member of an archive, as nm
// does when it prints several.
func isFileHeading(s string) bool {
	return len(s) > 1 && s[0] != ' ' && strings.HasSuffix(s, ":")
}

// bsdLine reads a line of the BSD format. ok is false if it is none. A symbol without
// an address has the type 'U'.
func bsdLine(s string) (sym Symbol, ok bool, err error) {
	word, rest := token(s)
	if s != "" && s[0] == ' ' && isUndefined(word) {
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
	size, err := strconv.ParseUint(s, 10, 64)
	return size, err == nil && len(s) <= 10
}

func (m *Map) readBSD(Options) reader {
	return m.readNM("ADDRESS [SIZE] TYPE NAME, as nm",
		func(line string) (sym Symbol, ok bool, err error) {
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
func (m *Map) readNM(form string, read func(line string) (sym Symbol, ok bool, err error)) reader {
	heading := false
	return reader{line: func(s string) error {
		if strings.TrimSpace(s) == "" {
			return nil
		}
		sym, ok, err := read(s)
		switch {
		case err != nil:
			return err
		case !ok && isFileHeading(s) && (heading || len(m.syms) > 0):
			return fmt.Errorf("%.60q begins the symbols of another file, whose addresses "+
				"have nothing to do with those above; run nm on one linked file", s)
		case !ok && isFileHeading(s):
			heading = true // of a file, of which there may be one
		case !ok:
			return fmt.Errorf("%.60q is not %s prints it", s, form)
		case sym.Type != 'U' && sym.Name != "":
			m.syms = append(m.syms, sym)
		}
		return nil
	}}
}

// posixLine reads a line of nm -P: NAME TYPE [VALUE [SIZE]]. It is read from its end,
// since demangled names have blanks.
func posixLine(s string) (sym Symbol, ok bool) {
	rest, last := lastToken(s)
	if isUndefined(last) {
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

func (m *Map) readPosix(Options) reader {
	return m.readNM("NAME TYPE [ADDRESS [SIZE]], as nm -P",
		func(line string) (sym Symbol, ok bool, err error) {
			sym, ok = posixLine(line)
			m.wide = m.wide || ok && sym.Addr>>32 != 0
			return sym, ok, nil
		})
}

// isSysVHeading reports whether the words are those over the columns of nm -f sysv.
func isSysVHeading(f []string) bool {
	return strings.Join(f, " ") == "Name Value Class Type Size Line Section"
}

func (m *Map) readSysV(Options) reader {
	headings := 0
	return reader{line: func(s string) error {
		if !strings.Contains(s, "|") {
			if isSysVHeading(strings.Fields(s)) { // there may be other words above the columns
				headings++
			}
			if headings > 1 {
				return errors.New("the symbols of another file begin, whose addresses " +
					"have nothing to do with those above; run nm on one linked file")
			}
			return nil
		}
		return m.sysvLine(s)
	}}
}

// sysvLine reads NAME|VALUE|CLASS|TYPE|SIZE|LINE|SECTION.
func (m *Map) sysvLine(s string) error {
	// A demangled name may have a bar, as operator| does.
	n := len(s)
	if strings.Count(s, "|") < 6 {
		return fmt.Errorf("%.60q has not the columns that nm -f sysv prints", s)
	}
	var col [6]string // from the last one
	for i := range col {
		at := strings.LastIndexByte(s[:n], '|')
		col[i], n = strings.TrimSpace(s[at+1:n]), at
	}
	value, class, size := col[5], col[4], col[2]
	if letter, ok := elfutilsClass(class, col[3]); ok {
		class = letter
	}
	if value == "" {
		return nil // undefined
	}
	addr, ok := hex(value)
	if !ok || !isType(class) {
		return fmt.Errorf("%.40q and %.40q are not an address and a class", value, class)
	}
	sym := Symbol{Name: strings.TrimSpace(s[:n]), Addr: addr, Type: class[0]}
	if sym.Size, ok = hex(size); !ok && size != "" {
		return fmt.Errorf("%.40q is not a size", size)
	}
	m.wide = m.wide || len(value) > 8
	if sym.Name != "" && sym.Type != 'U' {
		m.syms = append(m.syms, sym)
	}
	return nil
}

// elfutilsClass returns nm's letter for what elfutils' nm says in words.
func elfutilsClass(class, kind string) (letter string, ok bool) {
	// Of code, and of anything else.
	letters := map[string]string{"WEAK": "WV", "GLOBAL": "TD", "LOCAL": "td"}[class]
	switch {
	case kind == "FILE" || kind == "SECTION":
		return "a", class == "LOCAL"
	case letters == "":
		return "", false
	case kind == "FUNC" || kind == "NOTYPE" || kind == "GNU_IFUNC":
		return letters[:1], true
	}
	return letters[1:], true
}
