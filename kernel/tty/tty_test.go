package tty

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"
)

// shown collects the bytes that the terminal shows. It is set once, so that tests run one after the
// other.
var shown []byte

func init() {
	serialByte = func(b byte) { shown = append(shown, b) }
	serialText = func(p []byte) { shown = append(shown, p...) }
}

func reset(m Mode) {
	Serial.head, Serial.ready, Serial.tail = 0, 0, 0
	Serial.SetMode(m)
	shown = nil
}

// typeIn gives Input the bytes of s, and returns the signals.
func typeIn(s string) (signals []int) {
	for i := 0; i < len(s); i++ {
		if sig := Serial.Input(s[i]); sig != 0 {
			signals = append(signals, sig)
		}
	}
	return signals
}

// read is a read system call as the syscall layer makes it; eof reports one of 0 bytes.
func read(limit int) (got []byte, eof bool) {
	for len(got) < limit {
		addr, n, end := Serial.Next(limit - len(got))
		if end {
			if len(got) == 0 {
				Serial.TakeEOF()
				return nil, true
			}
			return got, false
		}
		if n == 0 {
			return got, false
		}
		off := addr - uintptr(unsafe.Pointer(&ring))
		got = append(got, ring[off:off+uintptr(n)]...)
		if !Serial.Take(n) {
			break
		}
	}
	return got, false
}

// readAll reads until nothing is readable, and writes each read in quotes, an
// end of file as EOF.
func readAll(limit int) string {
	var out []string
	for Serial.Readable() {
		got, eof := read(limit)
		if eof {
			out = append(out, "EOF")
			if Serial.pipe {
				break
			}
			continue
		}
		out = append(out, fmt.Sprintf("%q", got))
	}
	return strings.Join(out, " ")
}

func TestInput(t *testing.T) {
	for _, tt := range []struct {
		name    string
		mode    Mode
		in      string
		reads   string
		shows   string
		signals string
	}{
		{"a line", Cooked, "abc\r", `"abc\n"`, "abc\r\n", "[]"},
		{"line feed", Cooked, "abc\n", `"abc\n"`, "abc\r\n", "[]"},
		{"half a line", Cooked, "abc", ``, "abc", "[]"},
		{"two lines, two reads", Cooked, "a\rb\r", `"a\n" "b\n"`, "a\r\nb\r\n", "[]"},
		{"backspace", Cooked, "ab\bc\r", `"ac\n"`, "ab\b \bc\r\n", "[]"},
		{"rubout", Cooked, "ab\x7f\x7f\x7fc\r", `"c\n"`, "ab\b \b\b \bc\r\n", "[]"},
		{"rubout of UTF-8", Cooked, "aé€\x7f\x7fb\r", `"ab\n"`, "aé€\b \b\b \bb\r\n", "[]"},
		{"rubout of a control character", Cooked, "a\x01\x7fb\r", `"ab\n"`, "a^A\b \b\b \bb\r\n", "[]"},
		{"rubout of a tab", Cooked, "ab\t\x7fc\r", `"abc\n"`, "ab\t" + strings.Repeat("\b", 6) + "c\r\n", "[]"},
		{"a finished line is not rubbed out", Cooked, "a\r\x7fb\r", `"a\n" "b\n"`, "a\r\nb\r\n", "[]"},
		{"^U", Cooked, "abc\x15d\r", `"d\n"`, "abc" + strings.Repeat("\b \b", 3) + "d\r\n", "[]"},
		{"^W", Cooked, "go run, \x17x\r", `"go x\n"`, "go run, " + strings.Repeat("\b \b", 5) + "x\r\n", "[]"},
		{"^W at the beginning", Cooked, "\x17a\x17\x17b\r", `"b\n"`, "a\b \bb\r\n", "[]"},
		{"^C", Cooked, "abc\x03d\r", `"d\n"`, "abc^Cd\r\n", "[2]"},
		{"^C leaves finished lines", Cooked, "a\rb\x03", `"a\n"`, "a\r\nb^C", "[2]"},
		{"^\\", Cooked, "abc\x1cd\r", `"d\n"`, "abc^\\d\r\n", "[3]"},
		{"^D alone", Cooked, "\x04", `EOF`, "", "[]"},
		{"^D twice", Cooked, "\x04\x04", `EOF EOF`, "", "[]"},
		{"^D behind a line", Cooked, "a\r\x04", `"a\n" EOF`, "a\r\n", "[]"},
		{"^D in a line", Cooked, "abc\x04", `"abc"`, "abc", "[]"},
		{"^D in a line, twice", Cooked, "abc\x04\x04d\r", `"abc" EOF "d\n"`, "abcd\r\n", "[]"},
		{"bytes above 127", Cooked, "\xff\x80\r", "\"\\xff\\x80\\n\"", "\xff\x80\r\n", "[]"},
		{"raw", Raw, "a\r\n\x00\x03\x04\x1c\x7f\x10\x04\xff", `"a\r\n\x00\x03\x04\x1c\x7f\x10\x04\xff"`, "", "[]"},
		{"pipe", Pipe, "a\r\n\x00\x03\x04\x7f\xff", `"a\r\n\x00\x03\x04\x7f\xff"`, "", "[]"},
		{"pipe, escapes", Pipe, "a\x10\x10b\x10c\x10", `"a\x10b\x10c"`, "", "[]"},
		{"pipe, escaped escape before EOT", Pipe, "\x10\x10\x04", `"\x10\x04"`, "", "[]"},
		{"pipe, end of file", Pipe, "a\x10\x04b\x10\x04", `"a" EOF`, "", "[]"},
		{"pipe, nothing but the end", Pipe, "\x10\x04", `EOF`, "", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reset(tt.mode)
			checkTyped(t, tt.in, tt.reads, tt.shows, tt.signals)
		})
	}
}

// checkTyped types in, and compares the bytes read, the bytes shown and the signals.
func checkTyped(t *testing.T, in, reads, shows, signals string) {
	t.Helper()
	sent := fmt.Sprint(typeIn(in))
	if got := readAll(100); got != reads {
		t.Errorf("%q reads as %s; want %s", in, got, reads)
	}
	if got := string(shown); got != shows {
		t.Errorf("%q shows %q; want %q", in, got, shows)
	}
	if sent != signals {
		t.Errorf("%q signals %s; want %s", in, sent, signals)
	}
}

func TestShortReads(t *testing.T) {
	for _, tt := range []struct {
		mode  Mode
		in    string
		limit int
		want  string
	}{
		{Cooked, "abcd\re\r", 2, `"ab" "cd" "\n" "e\n"`},
		// The line's end of file is read with its last byte.
		{Cooked, "abc\x04d\r", 3, `"abc" "d\n"`},
		{Cooked, "abc\x04d\r", 2, `"ab" "c" "d\n"`},
		{Raw, "a\nb", 2, `"a\n" "b"`},
		{Pipe, "a\nb\x10\x04", 3, `"a\nb" EOF`},
	} {
		reset(tt.mode)
		typeIn(tt.in)
		if got := readAll(tt.limit); got != tt.want {
			t.Errorf("%q in reads of %d: %s; want %s", tt.in, tt.limit, got, tt.want)
		}
	}
}

// TestEndOfPipe: every read after the end of a pipe returns 0 bytes.
func TestEndOfPipe(t *testing.T) {
	reset(Pipe)
	typeIn("\x10\x04more")
	for i := 0; i < 3; i++ {
		if got, eof := read(10); !Serial.Readable() || !eof || len(got) != 0 {
			t.Fatalf("read %d = %q, %v; want the end of file", i, got, eof)
		}
	}
}

// TestWrap reads lines across the end of the ring.
func TestWrap(t *testing.T) {
	for start := uint64(serialSize - 5); start <= serialSize; start++ {
		reset(Cooked)
		Serial.head, Serial.ready, Serial.tail = start, start, start
		typeIn("abc\rdef\x04\x04")
		if got, want := readAll(100), `"abc\n" "def" EOF`; got != want {
			t.Errorf("from place %d: %s; want %s", start, got, want)
		}
	}
}

func TestLongLine(t *testing.T) {
	reset(Cooked)
	typeIn(strings.Repeat("x", maxLine+10))
	if n := bytes.Count(shown, []byte{bell}); n != 11 {
		t.Errorf("%d bells; want 11", n)
	}
	typeIn("\r")
	if got, _ := read(2 * maxLine); len(got) != maxLine || got[maxLine-1] != '\n' {
		t.Errorf("a line of %d bytes; want %d with its line feed", len(got), maxLine)
	}
}

// TestRoom: no byte is lost if Input is called while there is Room, and there is always something
// to read when there is no Room.
func TestRoom(t *testing.T) {
	for _, mode := range []Mode{Cooked, Raw, Pipe} {
		reset(mode)
		var want, got []byte
		for i := 0; i < 3*serialSize; i++ {
			b := byte('a' + i%26)
			if i%1000 == 999 {
				b = '\n'
			}
			for !Serial.Room() {
				if !Serial.Readable() {
					t.Fatalf("mode %d: no room and nothing to read", mode)
				}
				part, _ := read(777)
				got = append(got, part...)
			}
			Serial.Input(b)
			want = append(want, b)
		}
		Serial.Input('\n')
		want = append(want, '\n')
		for Serial.Readable() {
			part, _ := read(777)
			got = append(got, part...)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("mode %d: read %d bytes that are not the %d typed", mode, len(got), len(want))
		}
	}
}

// TestFlags switches one bit off at a time.
func TestFlags(t *testing.T) {
	for _, tt := range []struct {
		name         string
		change       func(*Termios)
		in           string
		reads, shows string
		signals      string
	}{
		{"ECHO", func(t *Termios) { t.Lflag &^= ECHO }, "ab\x7f\r\x03", `"a\n"`, "", "[2]"},
		{"ICANON", func(t *Termios) { t.Lflag &^= ICANON }, "ab\x7f\r\x04\x03", `"ab\x7f\n\x04"`, "ab^?\r\n^D^C", "[2]"},
		{"ISIG", func(t *Termios) { t.Lflag &^= ISIG }, "ab\x03\r", `"ab\x03\n"`, "ab^C\r\n", "[]"},
		{"ICRNL", func(t *Termios) { t.Iflag &^= ICRNL }, "a\rb\n", `"a\rb\n"`, "a^Mb\r\n", "[]"},
		{"OPOST", func(t *Termios) { t.Oflag &^= OPOST }, "a\r", `"a\n"`, "a\n", "[]"},
		{"ONLCR", func(t *Termios) { t.Oflag &^= ONLCR }, "a\r", `"a\n"`, "a\n", "[]"},
		{"IUTF8", func(t *Termios) { t.Iflag &^= IUTF8 }, "é\x7f\r", "\"\\xc3\\n\"", "é\b \b\r\n", "[]"},
		{"VEOF", func(t *Termios) { t.CC[VEOF] = 'q' }, "a\x04q\r", `"a\x04" "\n"`, "a^D\r\n", "[]"},
		{"VINTR", func(t *Termios) { t.CC[VINTR] = 0 }, "\x00\x03\r", `"\x00\x03\n"`, "^@^C\r\n", "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reset(Cooked)
			var s Termios
			Serial.Get(&s)
			saved := s
			defer func() { Serial.Set(&saved) }()
			tt.change(&s)
			if !Serial.Set(&s) {
				t.Fatal("Set = false")
			}
			var back Termios
			if Serial.Get(&back); back != s {
				t.Errorf("Get = %v; want what was set, %v", back, s)
			}
			checkTyped(t, tt.in, tt.reads, tt.shows, tt.signals)
		})
	}
}

// TestLeavingLines: a line that was typed in part can be read once line mode is off, as an editor
// that switches it off expects.
func TestLeavingLines(t *testing.T) {
	reset(Cooked)
	typeIn("ab")
	if Serial.Readable() {
		t.Fatal("half a line is readable")
	}
	s := Serial.termios
	s.Lflag &^= ICANON
	Serial.Set(&s)
	if got := readAll(10); got != `"ab"` {
		t.Errorf("reads %s; want \"ab\"", got)
	}
}

func TestTermios(t *testing.T) {
	if n := unsafe.Sizeof(Termios{}); n != 36 {
		t.Errorf("struct termios has %d bytes; want 36", n)
	}
	reset(Pipe)
	if s := Serial.termios; Serial.IsTerminal() || Serial.Set(&s) {
		t.Error("a pipe is a terminal")
	}
	reset(Raw)
	if !Serial.IsTerminal() {
		t.Error("raw mode is no terminal")
	}
}

func TestOut(t *testing.T) {
	for _, tt := range []struct {
		mode Mode
		want string
	}{{Cooked, "a\r\n\r\n\x00é"}, {Raw, "a\n\r\n\x00é"}, {Pipe, "a\n\r\n\x00é"}} {
		reset(tt.mode)
		for _, b := range []byte("a\n") {
			Serial.Out(b)
		}
		if tt.mode != Cooked {
			Serial.Out('\r')
		}
		for _, b := range []byte("\n\x00é") {
			Serial.Out(b)
		}
		if string(shown) != tt.want {
			t.Errorf("mode %d sends %q; want %q", tt.mode, shown, tt.want)
		}
	}
}

// TestWrite: Write equals Out for each byte, in the bytes sent and in the cursor afterwards.
func TestWrite(t *testing.T) {
	const alphabet = "ab\n\r\t\b\x07\x1b[m]\x00\xc3\xa9"
	random := rand.New(rand.NewPCG(1, 2))
	for _, mode := range []Mode{Cooked, Raw, Pipe} {
		for range 2000 {
			p := make([]byte, random.IntN(40))
			if random.IntN(20) == 0 {
				p = make([]byte, 2000)
			}
			for i := range p {
				p[i] = alphabet[random.IntN(len(alphabet))]
			}
			start := []byte(alphabet[:random.IntN(4)])
			end := func(out func([]byte)) string {
				reset(mode)
				out(start)
				out(p)
				if mode == Pipe {
					return string(shown)
				}
				return fmt.Sprint(Serial.column, Serial.sequence, string(shown))
			}
			each := func(p []byte) {
				for _, b := range p {
					Serial.Out(b)
				}
			}
			if got, want := end(Serial.Write), end(each); got != want {
				t.Fatalf("mode %d: %q behind %q is %q; byte by byte it is %q", mode, p, start, got, want)
			}
		}
	}
}

// TestPromptAndTab: a tab's width counts from the cursor's place after the prompt.
func TestPromptAndTab(t *testing.T) {
	reset(Cooked)
	for _, b := range []byte("name: ") {
		Serial.Out(b)
	}
	typeIn("\t\x7f")
	if got, want := string(shown), "name: \t\b\b"; got != want {
		t.Errorf("shows %q; want %q", got, want)
	}
}

// FuzzInput types anything, with reads in between, and checks the invariants. The first byte is the
// mode, and settings change with it.
func FuzzInput(f *testing.F) {
	for _, s := range []string{"\x00abc\r\x04", "\x01ab\x00\xff", "\x02a\x10\x10\x10\x04b", "\x00a\t\x7f\x15é\x17\x03", "\x08ab\r\x7f"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, every uint8) {
		if len(in) == 0 {
			return
		}
		reset(Mode(in[0] % 3))
		s := Serial.termios
		if in[0]&4 != 0 {
			s.Lflag ^= uint32(in[0]>>3) & (ISIG | ICANON | ECHO)
			Serial.Set(&s)
		}
		Serial.head, Serial.ready, Serial.tail = serialSize-7, serialSize-7, serialSize-7 // near the wrap
		typed, got := 0, 0
		for i, b := range in[1:] {
			Serial.Input(b)
			typed++
			if every != 0 && i%int(every) == 0 && Serial.Readable() {
				part, eof := read(1 + i%5)
				if !eof && len(part) == 0 {
					t.Fatal("Readable, but a read returns nothing")
				}
				got += len(part)
			}
			switch {
			case Serial.tail > Serial.ready || Serial.ready > Serial.head || Serial.head-Serial.tail > serialSize:
				t.Fatalf("tail %d, ready %d, head %d", Serial.tail, Serial.ready, Serial.head)
			case Serial.head-Serial.ready > maxLine:
				t.Fatalf("a line of %d bytes", Serial.head-Serial.ready)
			case !Serial.local(ICANON) && Serial.head != Serial.ready:
				t.Fatal("without lines, something typed is not readable")
			case Serial.column < 0:
				t.Fatalf("column %d", Serial.column)
			}
		}
		for n := 0; Serial.Readable() && !(Serial.ended && Serial.tail == Serial.ready); n++ {
			part, _ := read(1 + n%7)
			got += len(part)
			if n > 2*len(in)+2 {
				t.Fatal("reading does not come to an end")
			}
		}
		if got > typed {
			t.Fatalf("%d bytes typed, %d read", typed, got)
		}
		if (in[0]%3 == 1) && in[0]&4 == 0 && got != typed {
			t.Fatalf("raw: %d bytes typed, %d read", typed, got)
		}
	})
}
