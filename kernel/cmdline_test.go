package kernel

import "testing"

func TestNextOption(t *testing.T) {
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
		v, _, ok := nextOption([]byte(tt.line), tt.key)
		if string(v) != tt.value || ok != tt.ok {
			t.Errorf("nextOption(%q, %q) = %q, %v; want %q, %v", tt.line, tt.key, v, ok, tt.value, tt.ok)
		}
	}
	line, n := []byte("s=1 t=2 s=3 s=4"), 0
	for {
		_, rest, ok := nextOption(line, "s")
		if !ok {
			break
		}
		line, n = rest, n+1
	}
	if n != 3 {
		t.Errorf("nextOption finds %d options s; want 3", n)
	}
}

// FuzzNextOption: any line is read to its end without a fault, in no more steps
// than it has bytes.
func FuzzNextOption(f *testing.F) {
	f.Add("a=1 b=2", "b")
	f.Add(`a="x y" -- b=2`, "a")
	f.Fuzz(func(t *testing.T, line, key string) {
		rest := []byte(line)
		for n := 0; ; n++ {
			value, next, ok := nextOption(rest, key)
			if !ok {
				return
			}
			if len(next) >= len(rest) || len(value) > len(line) || n > len(line) {
				t.Fatalf("nextOption(%q, %q) = %q, %q", rest, key, value, next)
			}
			rest = next
		}
	})
}

func TestParseUint(t *testing.T) {
	for _, tt := range []struct {
		in string
		v  uint64
		ok bool
	}{
		{"", 0, false}, {"0", 0, true}, {"29491", 29491, true}, {"007", 7, true}, {"1x", 0, false}, {"-1", 0, false},
		{" 1", 0, false}, {"0x10", 0, false}, {"1844674407370955", 1844674407370955, true}, {"99999999999999999999", 0, false},
	} {
		if v, ok := parseUint([]byte(tt.in)); v != tt.v && ok || ok != tt.ok {
			t.Errorf("parseUint(%q) = %d, %v; want %d, %v", tt.in, v, ok, tt.v, tt.ok)
		}
	}
}

func TestText(t *testing.T) {
	var x text
	x.str("a ")
	x.dec(0)
	x.byte(' ')
	x.int(-9223372036854775808)
	x.byte(' ')
	x.hex(0xfee00000)
	if got, want := string(x.b[:x.n]), "a 0 -9223372036854775808 0xfee00000"; got != want {
		t.Errorf("text = %q; want %q", got, want)
	}
	for range 100 {
		x.str("0123456789")
	}
	if x.n != len(x.b) {
		t.Errorf("a long text has %d bytes; want it cut at %d", x.n, len(x.b))
	}
}

// TestStackSizes: the area holds all stacks, each with a guard page.
func TestStackSizes(t *testing.T) {
	total := uintptr(4095)
	for i, n := range sizes {
		if n == 0 || n%4096 != 0 {
			t.Errorf("stack %d has %d bytes; want whole pages", i, n)
		}
		if i != stackBoot {
			total += n + guardSize
		}
	}
	if total > areaSize {
		t.Errorf("the stacks take %d bytes; the area has %d", total, areaSize)
	}
	if len(stacks) != maxRows {
		t.Errorf("the table has %d rows; want %d", len(stacks), maxRows)
	}
}
