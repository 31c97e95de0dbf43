package option

import (
	"testing"

	"github.com/zeroframe/zeroframe/kernel/ascii"
)

func TestNext(t *testing.T) {
	for _, tt := range []struct {
		line, key string
		value     string
		ok        bool
	}{
		{"", "a", "", false},
		{"a=1", "a", "1", true},
		{"a=", "a", "", true},
		{"a", "a", "", false},
		{"path/kernel.elf  b=2  a=1 ", "a", "1", true},
		{"aa=1", "a", "", false},
		{"a=1", "aa", "", false},
		{"A=1", "a", "", false},
		{"x.a=1 a=2", "a", "2", true},
		{"-- a=1", "a", "", false},
		{"a=1 -- a=2", "a", "1", true},
		{`a="two words" b=3`, "a", "two words", true},
		{`a="two words" b=3`, "b", "3", true},
		{`a="b=4 b=5" b=3`, "b", "3", true},
		{`a="open b=3`, "b", "", false},
		{`a=" b=3`, "a", `" b=3`, true},
		{"a=b=c", "a", "b=c", true},
		{"a==", "a", "=", true},
	} {
		v, _, ok := Next([]byte(tt.line), tt.key)
		if string(v) != tt.value || ok != tt.ok {
			t.Errorf("Next(%q, %q) = %q, %v; want %q, %v", tt.line, tt.key, v, ok, tt.value, tt.ok)
		}
	}
	line, n := []byte("s=1 t=2 s=3 s=4"), 0
	for {
		_, rest, ok := Next(line, "s")
		if !ok {
			break
		}
		line, n = rest, n+1
	}
	if n != 3 {
		t.Errorf("Next finds %d options s; want 3", n)
	}
}

// FuzzNext: any line is read to its end without a fault, in no more steps
// than it has bytes.
func FuzzNext(f *testing.F) {
	f.Add("a=1 b=2", "b")
	f.Add(`a="x y" -- b=2`, "a")
	f.Fuzz(func(t *testing.T, line, key string) {
		rest := []byte(line)
		for n := 0; ; n++ {
			value, next, ok := Next(rest, key)
			if !ok {
				return
			}
			if len(next) >= len(rest) || len(value) > len(line) || n > len(line) {
				t.Fatalf("Next(%q, %q) = %q, %q", rest, key, value, next)
			}
			rest = next
		}
	})
}

func TestUint(t *testing.T) {
	for _, tt := range []struct {
		in string
		v  uint64
		ok bool
	}{
		{"", 0, false}, {"0", 0, true}, {"29491", 29491, true}, {"007", 7, true}, {"1x", 0, false}, {"-1", 0, false},
		{" 1", 0, false}, {"0x10", 0, false}, {"1844674407370955", 1844674407370955, true}, {"99999999999999999999", 0, false},
	} {
		if v, ok := ascii.Uint([]byte(tt.in)); v != tt.v && ok || ok != tt.ok {
			t.Errorf("ascii.Uint(%q) = %d, %v; want %d, %v", tt.in, v, ok, tt.v, tt.ok)
		}
	}
}

// TestBehind: the program's arguments begin after the first word "--", whatever is in the quotes
// before it.
func TestBehind(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"", ""},
		{"a b=c", ""},
		{"--", ""},
		{"-- x", " x"},
		{"a -- x -- y", " x -- y"},
		{"a--b --c -- x", " x"},
		{`a="-- x" -- y`, " y"},
		{`a="b \" -- x" -- y`, " y"},
		{`a="b \" c" -- y`, " y"},
		{`a="b \\" -- y`, " y"},
		{`a="-- x`, ""},
	} {
		if got := string(Behind([]byte(tt.line))); got != tt.want {
			t.Errorf("Behind(%s) = %q; want %q", tt.line, got, tt.want)
		}
	}
}
