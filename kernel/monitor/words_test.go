package monitor

import (
	"strconv"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, tt := range []struct{ line, name, args string }{
		{"", "", ""},
		{"  ", "", ""},
		{"bt", "bt", ""},
		{"  goroutine   7 ", "goroutine", "7 "},
		{"x/8gx rsp", "x", "/8gx rsp"},
		{"x /8gx rsp", "x", "/8gx rsp"},
		{"/", "", "/"},
	} {
		if name, args := Command([]byte(tt.line)); string(name) != tt.name || string(args) != tt.args {
			t.Errorf("Command(%q) = %q, %q; want %q, %q", tt.line, name, args, tt.name, tt.args)
		}
	}
	if w, rest := Word([]byte(" a  b c")); string(w) != "a" || string(rest) != "b c" {
		t.Errorf("Word = %q, %q", w, rest)
	}
}

func TestNumber(t *testing.T) {
	for _, tt := range []struct {
		s  string
		v  uint64
		ok bool
	}{
		{"0", 0, true}, {"42", 42, true}, {"0x2A", 42, true}, {"0X2a", 42, true},
		{"18446744073709551615", 1<<64 - 1, true}, {"18446744073709551616", 0, false},
		{"0xffffffffffffffff", 1<<64 - 1, true}, {"0x10000000000000000", 0, false},
		{"", 0, false}, {"0x", 0, false}, {"-1", 0, false}, {"2a", 0, false}, {"rsp", 0, false},
	} {
		if v, ok := Number([]byte(tt.s)); ok != tt.ok || ok && v != tt.v {
			t.Errorf("Number(%q) = %d, %v; want %d, %v", tt.s, v, ok, tt.v, tt.ok)
		}
	}
}

// FuzzNumber compares with strconv.
func FuzzNumber(f *testing.F) {
	for _, s := range []string{"0", "18446744073709551615", "0xdeadbeef", "0x", "99999999999999999999", "0b1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, ok := Number([]byte(s))
		if !ok {
			return
		}
		base, digits := 10, s
		if len(s) > 2 && (s[:2] == "0x" || s[:2] == "0X") {
			base, digits = 16, s[2:]
		}
		if want, err := strconv.ParseUint(digits, base, 64); err != nil || v != want {
			t.Errorf("Number(%q) = %d; strconv has %d, %v", s, v, want, err)
		}
	})
}

func TestTerm(t *testing.T) {
	for sum, want := range map[string][]string{
		"rsp":                  {"rsp"},
		"rsp+8":                {"rsp", "+8"},
		"rsp-8+main.f":         {"rsp", "-8", "+main.f"},
		"-1":                   {"-1"},
		"main.(*T+x).f[a-b]+2": {"main.(*T+x).f[a-b]", "+2"},
		"rsp+":                 {"rsp", "!"},
		"++1":                  {"!"},
	} {
		rest := []byte(sum)
		for _, w := range want {
			term, next, minus, ok := Term(rest)
			if !ok {
				if w != "!" {
					t.Errorf("%q: no term at %q; want %q", sum, rest, w)
				}
				break
			}
			got := string(term)
			switch {
			case minus:
				got = "-" + got
			case w[0] == '+':
				got = "+" + got
			}
			if got != w {
				t.Errorf("%q: term %q; want %q", sum, got, w)
			}
			rest = next
		}
	}
}

func TestFormat(t *testing.T) {
	was := Format{Count: 8, Size: 8, Kind: 'x'}
	for _, tt := range []struct {
		s    string
		want Format
		ok   bool
	}{
		{"", was, true},
		{"4", Format{4, 8, 'x'}, true},
		{"8gx", was, true},
		{"16xb", Format{16, 1, 'x'}, true},
		{"dw", Format{8, 4, 'd'}, true},
		{"2h", Format{2, 2, 'x'}, true},
		{"a", Format{8, 8, 'a'}, true},
		{"wa", Format{8, 8, 'a'}, true},
		{"40c", Format{40, 1, 'c'}, true},
		{"s", Format{1, 1, 's'}, true},
		{"3s", Format{3, 1, 's'}, true},
		{"0", was, false}, {"5000", was, false}, {"i", was, false}, {"-1", was, false}, {"99999999999999999999", was, false},
	} {
		if got, ok := was.Parse([]byte(tt.s)); got != tt.want || ok != tt.ok {
			t.Errorf("%q = %+v, %v; want %+v, %v", tt.s, got, ok, tt.want, tt.ok)
		}
	}
}

// FuzzFormat: an accepted format can be shown.
func FuzzFormat(f *testing.F) {
	for _, s := range []string{"8gx", "s", "4096a", "cw", "99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, ok := Format{Count: 8, Size: 8, Kind: 'x'}.Parse([]byte(s))
		if g.Count < 1 || g.Count > maxCount || g.PerLine() < 1 {
			t.Errorf("%q = %+v, %v", s, g, ok)
		}
		switch g.Size {
		case 1, 2, 4, 8:
		default:
			t.Errorf("%q has items of %d bytes", s, g.Size)
		}
	})
}
