package screen

// The pages of a crash. A code is beside the text (code.go). The text is, from the top: the title;
// the lines that are on each page, which describe the first fault; a blank row; the page's lines;
// the foot. There are as many pages as it takes to show all of the text and all codes.

const (
	maxLines = 192
	// lineWidth is the number of characters of a line that are kept.
	lineWidth = 80
)

// Under the kernel lock; the panic path takes none.
var (
	crashed bool
	title   pageLine
	lines   [maxLines]pageLine
	n       int // number of lines
	head    int // number of lines that are on each page
	held    bool
	full    bool     // the latest line was dropped
	page    int      // the page that is shown
	codes   int      // number of codes
	text    pageLine // of the console, an unfinished line
)

type pageLine struct {
	b [lineWidth]byte
	n uint8
}

func (l *pageLine) add(b byte) {
	if int(l.n) < width() {
		l.b[l.n] = visible(b)
		l.n++
	}
}

// width is the largest length of a line.
func width() int { return max(min(textCols(), lineWidth), 1) }

// textCols is the number of columns for text.
func textCols() int {
	if crashed {
		return codeCol
	}
	return cols
}

// Crashed reports whether the screen shows a crash.
func Crashed() bool { return on && crashed }

// Crash clears the screen for a crash; its title follows by [Title]. If the screen shows a crash
// already, that one continues.
func Crash() {
	if !on || crashed {
		return
	}
	crashed, n, head, held, full, page, codes = true, 0, 0, false, false, 0, 0
	title.n, text.n = 0, 0
	Clear()
	foot()
}

// Title adds to the title.
func Title(s string) {
	for i := 0; i < len(s); i++ {
		title.add(s[i])
	}
	for c := 0; c < textCols(); c++ {
		b := byte(' ')
		if c < int(title.n) {
			b = title.b[c]
		}
		put(0, c, b|bright)
	}
}

// Line adds a line. It is shown at once if there is room on the current page. When there is no room
// anywhere, the line is dropped, because the first lines matter most. Before a crash it goes to the
// terminal.
func Line(b []byte) {
	switch {
	case !on:
		return
	case !crashed:
		if col > 0 {
			terminal('\r')
			terminal('\n')
		}
	default:
		endText()
		newLine()
	}
	More(b)
}

// newLine begins a line of the pages, if there is room.
func newLine() {
	if full = n == maxLines; !full {
		lines[n].n = 0
		n++
	}
}

// More adds to the latest line, as far as it has room.
func More(b []byte) {
	if !on || crashed && (n == 0 || full) {
		return
	}
	if !crashed {
		for _, c := range b {
			terminal(c)
		}
		return
	}
	l := &lines[(n-1)%maxLines]
	for _, c := range b {
		l.add(c)
	}
	show(n - 1)
	if n > head && (n-1-head)%perPage() == 0 { // it begins a page
		foot()
	}
}

// Wrap adds lines for a text: as many as needed, but no more than limit.
func Wrap(b []byte, limit int) {
	for ; len(b) > 0 && limit > 0; limit-- {
		k := width()
		if len(b) <= k {
			k = len(b)
		} else {
			for i := k; i > k/2; i-- { // between words
				if b[i] == ' ' {
					k = i
					break
				}
			}
		}
		Line(b[:k])
		if b = b[k:]; len(b) > 0 && b[0] == ' ' {
			b = b[1:]
		}
	}
}

// Hold marks the lines so far as those of the first fault, which are on each page. Later calls do
// nothing.
func Hold() {
	if crashed && !held {
		held = true
		head = min(n, max(rows-10, 0))
		redraw()
	}
}

// textByte takes a byte of the console's text.
func textByte(b byte) {
	switch {
	case b == '\n':
		newText()
	case b == '\r' || b&0xc0 == 0x80:
	default:
		if int(text.n) == width() {
			newText()
		}
		text.add(b)
	}
}

// newText ends a line of the console's text, even an empty one.
func newText() {
	if text.n == 0 && n > 0 && lines[n-1].n == 0 {
		return // one empty line is enough
	}
	b := text.b[:text.n]
	text.n = 0
	newLine()
	More(b)
}

// endText ends the line if it has begun.
func endText() {
	if text.n > 0 {
		newText()
	}
}

// firstRow is the row of the first line after the head.
func firstRow() int {
	if !held {
		return 1
	}
	return 1 + head + 1
}

// perPage is the number of lines of a page after its head.
//
//go:noinline
func perPage() int { return max(rows-firstRow()-footRows, 1) }

// textPages returns the number of pages that the text needs.
//
//go:noinline
func textPages() int { return max((n-head+perPage()-1)/perPage(), 1) }

// Pages returns the number of pages.
//
//go:noinline
func Pages() int { return max(textPages(), codes) }

// Codes adds n codes.
func Codes(n int) {
	codes += n
	foot()
}

// Code returns the code for the current page, from 0.
func Code() int { return page % max(codes, 1) }

// Page returns the current page, from 0.
func Page() int { return page }

// Turn shows the next page, and after the last one the first.
func Turn() {
	if !Crashed() {
		return
	}
	endText()
	page++
	if page >= Pages() {
		page = 0
	}
	redraw()
}

// redraw shows the whole page.
func redraw() {
	first := head + page%textPages()*perPage()
	for i := range perPage() {
		if first+i < n {
			show(first + i)
		} else {
			blank(firstRow()+i, 0)
		}
	}
	foot()
}

// show shows a line, if it is on the page.
func show(i int) {
	r := 1 + i
	if i >= head {
		at := i - head - page%textPages()*perPage()
		if at < 0 || at >= perPage() {
			return
		}
		r = firstRow() + at
	}
	l := &lines[i%maxLines]
	for c := range int(l.n) {
		put(r, c, l.b[c])
	}
	blank(r, int(l.n))
}

// footRows is the number of rows of the foot.
const footRows = 2

// foot shows the last rows: what to do with the code, and the number of the page.
func foot() {
	c := 0
	if codes > 0 {
		c = footString(rows-2, c, "zf symbolize -e ELF PHOTO")
	}
	footEnd(rows-2, c)
	c = 0
	if codes > 1 {
		c = footString(rows-1, c, "code ")
		c = footNumber(c, Code()+1)
		c = footString(rows-1, c, " of ")
		c = footNumber(c, codes)
		c = footString(rows-1, c, ", ")
	}
	if total := Pages(); total > 1 {
		c = footNumber(c, page+1)
		c = footString(rows-1, c, "/")
		c = footNumber(c, total)
		c = footString(rows-1, c, " any key")
	}
	footEnd(rows-1, c)
}

func footString(r, c int, s string) int {
	for i := 0; i < len(s) && c < textCols(); i++ {
		put(r, c, s[i]|bright)
		c++
	}
	return c
}

// footEnd fills the rest of a row.
func footEnd(r, c int) {
	for ; c < textCols(); c++ {
		put(r, c, ' '|bright)
	}
}

// footNumber shows a number below a thousand, in the last row.
func footNumber(c, v int) int {
	for div := 100; div > 0; div /= 10 {
		if (v >= div || div == 1) && c < textCols() {
			put(rows-1, c, byte('0'+v/div%10)|bright)
			c++
		}
	}
	return c
}
