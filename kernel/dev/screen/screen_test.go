package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/tracer/qr"
)

// textScreen takes a text screen in memory into use, and returns what reads its rows.
func textScreen(t *testing.T, columns, lines int) func() []string {
	t.Helper()
	mem := make([]byte, columns*lines*2)
	if !Text(uintptr(unsafe.Pointer(&mem[0])), uintptr(columns*2), columns, lines) {
		t.Fatalf("Text refused %dx%d", columns, lines)
	}
	Clear()
	t.Cleanup(Off)
	return func() (all []string) {
		for r := range lines {
			var b strings.Builder
			for c := range columns {
				b.WriteByte(mem[(r*columns+c)*2])
			}
			all = append(all, strings.TrimRight(b.String(), " "))
		}
		return all
	}
}

func say(s string) {
	for i := range len(s) {
		Byte(s[i])
	}
}

// trimmed joins rows without the empty ones at the end.
func trimmed(rows []string) string { return strings.TrimRight(strings.Join(rows, "\n"), "\n") }

func TestTerminal(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"lines":     {"one\r\ntwo\r\n", "one\ntwo"},
		"feed":      {"one\ntwo", "one\n   two"},
		"return":    {"one\rt", "tne"},
		"backspace": {"ab\bc", "ac"},
		"tab":       {"a\tb", "a       b"},
		"wrap":      {strings.Repeat("x", 20) + "\r\n" + strings.Repeat("y", 21), strings.Repeat("x", 20) + "\n" + strings.Repeat("y", 20) + "\ny"},
		"escape":    {"a\x1b[31mb\x1b(c\x1b[0m", "abc"},
		"utf-8":     {"zü\x00\x7fb", "z?b"},
		"scroll":    {"0\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\nten", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten"},
	} {
		read := textScreen(t, 20, 10)
		say(tt.in)
		if got := trimmed(read()); got != tt.want {
			t.Errorf("%s: the screen has\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestPages: the first fault stays on each page, the rest follows page by page, nothing is lost,
// and text that comes too late is dropped.
func TestPages(t *testing.T) {
	read := textScreen(t, 40, 13)
	say("booting\r\n")
	Crash()
	Title("died")
	Wrap([]byte("a reason that is longer than forty characters are"), 4)
	Line([]byte("0x1 first"))
	More([]byte(" main.f"))
	Hold()
	head := "died\na reason that is longer than forty\ncharacters are\n0x1 first main.f\n\n"
	for i := range 13 {
		Line(fmt.Appendf(nil, "line %d", i))
	}
	say("a text\r\nand its ")
	say("end")
	if !Crashed() || Pages() != 3 {
		t.Errorf("Crashed = %v, Pages = %d; want 3", Crashed(), Pages())
	}
	want := []string{
		head + "line 0\nline 1\nline 2\nline 3\nline 4\nline 5\n\n1/3 any key",
		head + "line 6\nline 7\nline 8\nline 9\nline 10\nline 11\n\n2/3 any key",
		head + "line 12\na text\nand its end\n\n\n\n\n3/3 any key",
	}
	for turn := range 7 {
		if got := trimmed(read()); got != want[turn%3] {
			t.Fatalf("after %d turns the screen has\n%s\nwant\n%s", turn, got, want[turn%3])
		}
		Turn()
	}
	for i := range 1000 {
		Line(fmt.Appendf(nil, "more %d", i))
		More([]byte(" and more"))
	}
	Crash() // a second crash changes nothing
	for range Pages() {
		Turn()
		if got := trimmed(read()); !strings.HasPrefix(got, head) {
			t.Fatalf("a page has\n%s\nwant it to begin with\n%s", got, head)
		}
	}
}

// TestCodePages: there are as many pages as the text and all codes need, and each page has its
// code.
func TestCodePages(t *testing.T) {
	read := textScreen(t, 80, 25)
	Crash()
	if CodeRoom() != 46 || textCols() != 30 {
		t.Errorf("room for %d modules and %d columns of text; want 46 and 30", CodeRoom(), textCols())
	}
	for i := range 25 {
		Line(fmt.Appendf(nil, "line %d", i))
	}
	Codes(2)
	Codes(1)
	for i := range 4 {
		rows := read()
		foot := fmt.Sprintf("code %d of 3, %d/3 any key", i%3+1, i%3+1)
		if Code() != i%3 || Pages() != 3 || rows[23] != "zf symbolize -e ELF PHOTO" || rows[24] != foot || rows[1] != []string{"line 0", "line 22", "line 0"}[i%3] {
			t.Errorf("page %d: code %d, %d pages, %q; want %q", i, Code(), Pages(), rows, foot)
		}
		Turn()
	}
}

// TestDrawCode: the screen shows the code, on text screens of each height and in pixels of each
// form.
func TestDrawCode(t *testing.T) {
	var c qr.Code
	data := []byte("a trace")
	check := func(name string, dark func(x, y int) bool, side int) {
		t.Helper()
		off := 0
		for ; off < side && !dark(off, off); off++ {
		}
		for y := range side {
			for x := range side {
				if dark(x, y) != c.Dark(x-off, y-off) {
					t.Fatalf("%s: module %d, %d is dark: %v; the code begins at %d", name, x, y, dark(x, y), off)
				}
			}
		}
		if off < quiet || side-off-c.Size() < quiet {
			t.Errorf("%s: %d light modules before, %d behind", name, off, side-off-c.Size())
		}
	}
	for _, lines := range []int{25, 50} {
		mem := make([]byte, 80*lines*2)
		if !Text(uintptr(unsafe.Pointer(&mem[0])), 160, 80, lines) {
			t.Fatal("Text refused it")
		}
		t.Cleanup(Off)
		Crash()
		p := qr.PlanFor(130, CodeRoom())
		if p.Parts != 1 || !c.Part(p, 0, bytes.Repeat(data, 18), 0) {
			t.Fatalf("%+v", p)
		}
		DrawCode(&c)
		check(fmt.Sprint(lines, " rows"), func(x, y int) bool {
			row, lower := y, false
			if lines == 25 {
				row, lower = y/2, y%2 == 1
			}
			at := (row*80 + 30 + x) * 2
			switch mem[at] {
			case 0xdf:
				return lower
			case 0xdc:
				return !lower
			}
			return mem[at+1] != 0x70
		}, 50)
	}
	for _, bpp := range []int{16, 24, 32} {
		const width, height = 640, 480
		mem := make([]byte, width*height*bpp/8)
		if !Pixels(uintptr(unsafe.Pointer(&mem[0])), uintptr(width*bpp/8), width, height, bpp, Field{8, 5}, Field{4, 4}, Field{0, 4}) {
			t.Fatal("Pixels refused it")
		}
		t.Cleanup(Off)
		Crash()
		p := qr.PlanFor(300, CodeRoom())
		c.Part(p, 0, bytes.Repeat(data, 43), 0)
		DrawCode(&c)
		module := 400 / (c.Size() + 2*quiet)
		x0, y0 := 240+(400-c.Size()*module)/2-quiet*module, (480-c.Size()*module)/2-quiet*module
		check(fmt.Sprint(bpp, " bits"), func(x, y int) bool {
			at := ((y0+y*module+module/2)*width + x0 + x*module + module/2) * bpp / 8
			return mem[at] == 0 && mem[at+1] == 0
		}, c.Size()+2*quiet)
	}
	// The screen is too small for a code: the text has all columns.
	textScreen(t, 40, 12)
	if Crash(); CodeRoom() != 0 || textCols() != 40 {
		t.Errorf("room for %d modules on a small screen", CodeRoom())
	}
}

// TestPixels: each form of pixel shows the same picture, in any scale, and nothing is drawn outside
// the lines.
func TestPixels(t *testing.T) {
	for _, tt := range []struct{ width, height, bpp, extra, cols, scale int }{
		{640, 400, 32, 0, 80, 1}, {800, 600, 24, 16, 100, 1}, {1280, 800, 16, 32, 80, 2}, {320, 200, 32, 0, 40, 1}, {1920, 1200, 32, 64, 80, 3},
	} {
		bytes := (tt.bpp + 7) / 8
		pitch := tt.width*bytes + tt.extra
		mem := make([]byte, pitch*tt.height)
		for i := range mem {
			mem[i] = 0xa5
		}
		r, g, b := Field{16, 8}, Field{8, 8}, Field{0, 8}
		if tt.bpp == 16 {
			r, g, b = Field{11, 5}, Field{5, 6}, Field{0, 5}
		}
		if !Pixels(uintptr(unsafe.Pointer(&mem[0])), uintptr(pitch), tt.width, tt.height, tt.bpp, r, g, b) {
			t.Fatalf("Pixels refused %+v", tt)
		}
		t.Cleanup(Off)
		Clear()
		columns := cols
		if columns != tt.cols || pixels.scale != tt.scale {
			t.Errorf("%+v: %d columns, scale %d", tt, columns, pixels.scale)
		}
		say("\r\n zeroframe@0")
		lit := func(x, y int) bool {
			at := y*pitch + x*bytes
			for _, b := range mem[at : at+bytes] {
				if b != 0 {
					return true
				}
			}
			return false
		}
		var got []string
		for row := range 3 {
			var line strings.Builder
			for col := range columns {
				var cell [glyphHeight]byte
				for y := range glyphHeight * tt.scale {
					for x := range glyphWidth * tt.scale {
						if lit(col*glyphWidth*tt.scale+x, row*glyphHeight*tt.scale+y) {
							cell[y/tt.scale] |= 0x80 >> (x / tt.scale)
						}
					}
				}
				c := byte('?')
				for i := range glyphs {
					if glyphs[i] == string(cell[:]) {
						c = ' ' + byte(i)
						break
					}
				}
				line.WriteByte(c)
			}
			got = append(got, strings.TrimRight(line.String(), " "))
		}
		if strings.Join(got, "|") != "| zeroframe@0|" {
			t.Errorf("%+v: the screen has %q", tt, got)
		}
		for y := range tt.height {
			for x := tt.width * bytes; x < pitch; x++ {
				if mem[y*pitch+x] != 0xa5 {
					t.Fatalf("%+v: drawn beside line %d", tt, y)
				}
			}
		}
	}
	// It scrolls by more than a line.
	mem := make([]byte, 320*4*200)
	if !Pixels(uintptr(unsafe.Pointer(&mem[0])), 320*4, 320, 200, 32, Field{16, 8}, Field{8, 8}, Field{0, 8}) {
		t.Fatal("Pixels refused 320x200")
	}
	Clear()
	for i := range 30 {
		say(fmt.Sprintf("line %d\r\n", i))
	}
	if got := strings.TrimRight(string(cells[row-1][:cols]), " "); got != "line 29" || row >= rows {
		t.Errorf("above row %d of %d is %q; want the last line", row, rows, got)
	}
	for _, bpp := range []int{0, 1, 8, 33, 64} {
		if Pixels(1, 1<<20, 640, 400, bpp, Field{}, Field{}, Field{}) {
			t.Errorf("Pixels took %d bits", bpp)
		}
	}
	if Pixels(1, 100, 640, 400, 32, Field{}, Field{}, Field{}) || Pixels(1, 640, 80, 80, 32, Field{}, Field{}, Field{}) {
		t.Error("Pixels took a line longer than its pitch, or a screen too small")
	}
}

// TestGlyphs: no two characters that a line may have look the same.
func TestGlyphs(t *testing.T) {
	seen := map[string]byte{}
	for i, g := range glyphs {
		if len(g) != glyphHeight {
			t.Errorf("%q has %d rows", ' '+byte(i), len(g))
		}
		if was, ok := seen[g]; ok {
			t.Errorf("%q looks like %q", ' '+byte(i), was)
		}
		seen[g] = ' ' + byte(i)
	}
	if len(glyphs) != '~'-' '+1 {
		t.Errorf("%d glyphs", len(glyphs))
	}
}
