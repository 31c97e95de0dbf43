package screen

// The pages of a crash, from the top: the title; the lines that stand on each page, as they
// tell the first fault; a row between; the page's lines; the foot. From the second page on the
// lines of the first fault begin with a mark, so that nobody types them twice: zf symbolize
// leaves such lines out.

const (
	maxLines = 192
	// lineWidth is how many characters of a line are kept.
	lineWidth = 80
)

// Under the kernel lock; the panic path takes none.
var (
	crashed bool
	title   pageLine
	lines   [maxLines]pageLine
	n       int // lines there are
	head    int // of them, those on each page
	held    bool
	full    bool     // the latest line was dropped
	page    int      // the one that is shown
	text    pageLine // of the console, not yet ended
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

// width is how long a line may be.
func width() int { return max(min(cols, lineWidth), 1) }

// Crashed reports whether the screen shows a crash.
func Crashed() bool { return on && crashed }

// Crash empties the screen for a crash; its title follows by [Title]. When it shows one already,
// it goes on with that.
func Crash() {
	if !on || crashed {
		return
	}
	crashed, n, head, held, full, page = true, 0, 0, false, false, 0
	title.n, text.n = 0, 0
	Clear()
	foot()
}

// Title adds to the title.
func Title(s string) {
	for i := 0; i < len(s); i++ {
		title.add(s[i])
	}
	for c := 0; c < cols; c++ {
		b := byte(' ')
		if c < int(title.n) {
			b = title.b[c]
		}
		put(0, c, b|bright)
	}
}

// Line adds a line. It is shown at once if there is room on the page that is shown. When
// there is no room anywhere, the line is dropped: the first ones count. Before a crash it
// goes to the terminal.
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

// Tab adds blanks to the latest line, up to a column.
func Tab(column int) {
	for on && (crashed && n > 0 && !full && int(lines[(n-1)%maxLines].n) < min(column, width()-1) || !crashed && col < min(column, cols-1)) {
		var blank [1]byte
		blank[0] = ' '
		More(blank[:])
	}
}

// More adds to the latest line, as far as that has room.
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

// Wrap adds lines for a text: as many as it takes, but no more than limit.
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

// Hold says that the lines so far are those of the first fault, which stand on each page. Later
// calls do nothing.
func Hold() {
	if crashed && !held {
		held = true
		head = min(n, max(rows-8, 0))
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

// newText ends a line of the console's text, be it empty.
func newText() {
	if text.n == 0 && n > 0 && lines[n-1].n == 0 {
		return // one empty line is enough
	}
	b := text.b[:text.n]
	text.n = 0
	newLine()
	More(b)
}

// endText ends it if it has begun.
func endText() {
	if text.n > 0 {
		newText()
	}
}

// firstRow is the row of the first line that is no head's.
func firstRow() int {
	if !held {
		return 1
	}
	return 1 + head + 1
}

// perPage is how many lines a page has behind its head.
//
//go:noinline
func perPage() int { return max(rows-firstRow()-1, 1) }

// Pages returns how many pages there are.
//
//go:noinline
func Pages() int { return max((n-head+perPage()-1)/perPage(), 1) }

// Page returns which one is shown, from 0.
func Page() int { return page }

// Turn shows the next page, behind the last one the first.
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

// redraw shows all of the page.
func redraw() {
	for i := range n {
		if i < head {
			show(i)
		}
	}
	if held {
		blank(1+head, again(1+head))
	}
	first := head + page*perPage()
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
		at := i - head - page*perPage()
		if at < 0 || at >= perPage() {
			return
		}
		r = firstRow() + at
	}
	first := 0
	if i < head {
		first = again(r)
	}
	l := &lines[i%maxLines]
	for c := range int(l.n) {
		put(r, first+c, l.b[c])
	}
	blank(r, first+int(l.n))
}

// again begins a row that stands on the first page too: with the mark, if this is another
// page. It returns the column behind it.
func again(r int) int {
	if page == 0 {
		return 0
	}
	put(r, 0, '#')
	return 1
}

// foot shows the last row.
func foot() {
	c := footString(0, "zf symbolize -typed -e ELF")
	if total := Pages(); total > 1 {
		c = footString(c, "  ")
		c = footNumber(c, page+1)
		c = footString(c, "/")
		c = footNumber(c, total)
		c = footString(c, " any key")
	}
	for ; c < cols; c++ {
		put(rows-1, c, ' '|bright)
	}
}

func footString(c int, s string) int {
	for i := 0; i < len(s); i++ {
		put(rows-1, c, s[i]|bright)
		c++
	}
	return c
}

// footNumber shows a number below a thousand.
func footNumber(c, v int) int {
	for div := 100; div > 0; div /= 10 {
		if v >= div || div == 1 {
			put(rows-1, c, byte('0'+v/div%10)|bright)
			c++
		}
	}
	return c
}
