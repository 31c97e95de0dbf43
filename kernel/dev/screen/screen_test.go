package screen

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"
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

// TestPages: the first fault stands on each page, the rest page by page, nothing is lost,
// and what comes too late is dropped.
func TestPages(t *testing.T) {
	read := textScreen(t, 40, 12)
	say("booting\r\n")
	Crash()
	Title("died")
	Wrap([]byte("a reason that is longer than forty characters are"), 4)
	Line([]byte("00 begin"))
	Line([]byte("01 first"))
	Tab(12)
	More([]byte("main.f"))
	Hold()
	head := "died\na reason that is longer than forty\ncharacters are\n00 begin\n01 first    main.f\n"
	for i := range 12 {
		Line(fmt.Appendf(nil, "line %d", i))
	}
	say("a text\r\nand its ")
	say("end")
	if !Crashed() || Pages() != 3 {
		t.Errorf("Crashed = %v, Pages = %d; want 3", Crashed(), Pages())
	}
	marked := "died\n#a reason that is longer than forty\n#characters are\n#00 begin\n#01 first    main.f\n#\n"
	page := func(head, body, foot string) string { return head + body + "zf symbolize -typed -e ELF" + foot }
	want := []string{
		page(head+"\n", "line 0\nline 1\nline 2\nline 3\nline 4\n", "  1/3 any key"),
		page(marked, "line 5\nline 6\nline 7\nline 8\nline 9\n", "  2/3 any key"),
		page(marked, "line 10\nline 11\na text\nand its end\n\n", "  3/3 any key"),
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
	Crash() // a second crash changes nothing of it
	for range Pages() {
		Turn()
		want := marked
		if Page() == 0 {
			want = head
		}
		if got := trimmed(read()); !strings.HasPrefix(got, want) {
			t.Fatalf("a page has\n%s\nwant it to begin with\n%s", got, want)
		}
	}
}

// TestPixels: each form of pixel shows the same, in any scale, and nothing is drawn beside
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
					if glyphs[i] == cell {
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
	seen := map[[glyphHeight]byte]byte{}
	for i, g := range glyphs {
		if was, ok := seen[g]; ok {
			t.Errorf("%q looks like %q", ' '+byte(i), was)
		}
		seen[g] = ' ' + byte(i)
	}
	if len(glyphs) != '~'-' '+1 {
		t.Errorf("%d glyphs", len(glyphs))
	}
}
