// Which format a map is in shows in its text, not in its name: linkers' maps have
// headings, nm's formats have the shape of their lines.

package mapfile

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A format reads the maps of one kind.
type format struct {
	name  string
	width int // about how many bytes a line has
	begin func(m *Map, opt Options) reader
}

// A reader reads a map line by line.
type reader struct {
	line func(s string) error // takes a line, which may be blank
	// returns where the program lies by the map; nil: from 0 on
	end func() (preferred uint64, err error)
}

// errEnd says that what follows is not of the map.
var errEnd = errors.New("the map ends here")

var (
	formatGNU      = format{"a map of GNU ld", 100, (*Map).readGNU}
	formatLLD      = format{"a map of lld", 80, (*Map).readLLD}
	formatSegments = format{"a map of segments and offsets", 60, (*Map).readSegments}
	formatBSD      = format{"nm's output, as System.map", 24, (*Map).readBSD}
	formatPosix    = format{"nm's output, -f posix", 24, (*Map).readPosix}
	formatSysV     = format{"nm's output, -f sysv", 100, (*Map).readSysV}
)

// lookAhead is in how many lines, blank ones aside, a map has to show what it is.
// Only what ld puts before its heading may be longer.
const lookAhead = 200

// detect returns the format of the text.
func detect(text string) (format, error) {
	if what := binary(text); what != "" {
		return format{}, fmt.Errorf(" %w: %s", ErrUnknown, what)
	}
	var bsd, posix, logical, other int
	first, firstLine := "", 0
	l := lines{text: text}
	for n := 0; n < lookAhead && l.next(); {
		s := l.line
		if strings.TrimSpace(s) == "" {
			continue
		}
		n++
		f := strings.Fields(s)
		switch {
		case isLLDHeading(f):
			return formatLLD, nil
		case isGNUHeading(s):
			return formatGNU, nil
		case isSysVHeading(f):
			return formatSysV, nil
		case isSegmentHeading(s):
			return formatSegments, nil
		}
		if _, _, _, ok := logicalAddress(s); ok {
			logical++
		} else if sym, ok, err := bsdLine(s); ok && err == nil &&
			!(isPosix(s) && len(f[0]) < 8 && digitFirst(sym.Name)) {
			bsd++
		} else if isPosix(s) {
			posix++
		} else if other++; first == "" && !isFileHeading(s) {
			first, firstLine = s, l.n
		}
	}
	switch {
	case strings.Contains(text, "\n"+gnuHeading):
		return formatGNU, nil
	case logical > 0 && bsd+posix == 0:
		return formatSegments, nil
	case bsd > 0 && bsd >= posix:
		return formatBSD, nil
	case posix > 0:
		return formatPosix, nil
	case first == "":
		return format{}, fmt.Errorf(" %w: no text in it", ErrUnknown)
	}
	return format{},
		fmt.Errorf("%d: %w: %.60q is no line of nm's output, of System.map or of a map of GNU ld, lld, Microsoft's linker or Borland's", firstLine, ErrUnknown, first)
}

func isPosix(s string) bool {
	_, ok := posixLine(s)
	return ok
}

// digitFirst reports whether what would be a name begins with a digit, as names do
// not: "f T 1000" is a line of nm -P, though f is a hexadecimal number.
func digitFirst(name string) bool { return name != "" && name[0] >= '0' && name[0] <= '9' }

// binary says what a file is that is no text, or "".
func binary(text string) string {
	switch zero := strings.IndexByte(text[:min(len(text), 4096)], 0); {
	case text == "":
		return "empty"
	case strings.HasPrefix(text, "\x7fELF"):
		return "an ELF file, which belongs after -e"
	case strings.HasPrefix(text, "MZ") && zero >= 0 && zero < 512:
		return "a PE file; give the map that its linker wrote"
	case hasPrefix(text, []string{"\xff\xfe", "\xfe\xff"}):
		return "UTF-16 text, as an older PowerShell's > writes; convert it to UTF-8"
	case strings.HasPrefix(text, "\x1f\x8b"):
		return "a gzip file; unpack it"
	case zero >= 0:
		return "no text"
	}
	return ""
}

// lines goes through a text by lines, which end in LF or CR LF.
type lines struct {
	text string // the rest
	line string // the current line, without its end
	n    int    // its number
}

func (l *lines) next() bool {
	if l.text == "" {
		return false
	}
	if l.n == 0 {
		l.text = strings.TrimPrefix(l.text, "\ufeff")
	}
	l.line, l.text, _ = strings.Cut(l.text, "\n")
	l.line = strings.TrimSuffix(l.line, "\r")
	l.n++
	return true
}

// token takes the first word off s, with the blanks before it.
func token(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// hex reads a hexadecimal number without 0x, of at most 16 digits.
func hex(s string) (v uint64, ok bool) {
	if len(s) > 16 {
		return 0, false
	}
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}

// hex0x reads a hexadecimal number with 0x.
func hex0x(s string) (v uint64, ok bool) {
	digits, ok := strings.CutPrefix(s, "0x")
	v, isNumber := hex(digits)
	return v, ok && isNumber
}

// isHexWord reports whether s has hexadecimal digits only, however many.
func isHexWord(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == "" }
