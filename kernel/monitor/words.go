package monitor

import "github.com/zeroframe/zeroframe/kernel/ascii"

// Words of a line, and their meaning.

// Word returns the first word of line and what follows it, without the blanks between. The word is
// empty if there is none.
//
//go:noinline
func Word(line []byte) (word, rest []byte) {
	line = blanks(line)
	n := 0
	for n < len(line) && line[n] != ' ' {
		n++
	}
	return line[:n], blanks(line[n:])
}

// Command returns the name of a command and what follows it. The name ends at a blank or
// a slash, as in "x/8gx rsp".
func Command(line []byte) (name, args []byte) {
	line = blanks(line)
	n := 0
	for n < len(line) && line[n] != ' ' && line[n] != '/' {
		n++
	}
	return line[:n], blanks(line[n:])
}

// blanks returns line without its leading blanks.
//
//go:noinline
func blanks(line []byte) []byte {
	for len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	return line
}

// Number reads a number, decimal or, after 0x, hexadecimal.
func Number(b []byte) (v uint64, ok bool) { return ascii.Number(b) }

// Term splits the first term off a sum such as "rsp+8"; minus says that it is subtracted. ok is
// false if the sum is malformed. Names may contain '+' and '-' only inside parentheses and
// brackets, as in "main.f[...]".
func Term(sum []byte) (term, rest []byte, minus, ok bool) {
	if len(sum) > 0 && (sum[0] == '+' || sum[0] == '-') {
		minus = sum[0] == '-'
		sum = sum[1:]
	}
	n, depth := 0, 0
	for n < len(sum) && (depth > 0 || sum[n] != '+' && sum[n] != '-') {
		switch sum[n] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		n++
	}
	return sum[:n], sum[n:], minus, n > 0
}

// Format is how memory is shown: x/8gx has Count 8, Size 8 and Kind 'x'.
type Format struct {
	Count int
	Size  int // bytes: 1, 2, 4, 8
	// Kind is x hexadecimal, d signed, u unsigned, c characters, a addresses with their functions,
	// s a zero-terminated string.
	Kind byte
}

// maxCount bounds what one command shows.
const maxCount = 4096

// Parse reads what is between "x/" and the next blank. A part that is missing is taken from f,
// except that one string is shown unless more are asked for.
func (f Format) Parse(b []byte) (g Format, ok bool) {
	g = f
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 0 && len(b) > 0 && b[len(b)-1] == 's' {
		g.Count = 1
	}
	if n > 0 {
		v, ok := Number(b[:n])
		if !ok || v == 0 || v > maxCount {
			return f, false
		}
		g.Count = int(v)
	}
	for _, c := range b[n:] {
		switch c {
		case 'b':
			g.Size = 1
		case 'h':
			g.Size = 2
		case 'w':
			g.Size = 4
		case 'g':
			g.Size = 8
		case 'x', 'd', 'u':
			g.Kind = c
		case 'a':
			g.Kind, g.Size = c, 8
		case 'c', 's':
			g.Kind, g.Size = c, 1
		default:
			return f, false
		}
	}
	return g, true
}

// PerLine returns how many items go on a line of 80 columns.
func (f Format) PerLine() int {
	switch {
	case f.Kind == 'a':
		return 1
	case f.Kind == 'c':
		return 32
	case f.Size == 8:
		return 2
	case f.Size == 4:
		return 4
	}
	return 8
}
