package tty

import "testing"

// TestAttention: when ^] goes to the monitor, and when to the program.
func TestAttention(t *testing.T) {
	defer func() { Attention = false; Serial.SetMode(Cooked) }()
	for _, tt := range []struct {
		name  string
		on    bool
		mode  Mode
		input string
		calls int    // for the monitor
		text  string // for the program
	}{
		{"off", false, Cooked, "a\x1d\n", 0, "a\x1d\n"},
		{"cooked", true, Cooked, "a\x1db\x1d\n", 2, "ab\n"},
		{"raw", true, Raw, "a\x1db", 1, "ab"},
		{"pipe", true, Pipe, "a\x1db", 0, "a\x1db"},
		{"pipe, escaped", true, Pipe, "a\x10\x1db\x1d\x10\x10", 1, "ab\x1d\x10"},
		{"pipe, off", false, Pipe, "\x10\x1d", 0, "\x10\x1d"},
	} {
		Serial.SetMode(tt.mode)
		Attention = tt.on
		calls := 0
		for i := range len(tt.input) {
			if Serial.Input(tt.input[i]) == ForMonitor {
				calls++
			}
		}
		if got := taken(); calls != tt.calls || got != tt.text {
			t.Errorf("%s: %d calls, %q for the program; want %d, %q", tt.name, calls, got, tt.calls, tt.text)
		}
	}
	// The bytes that the monitor passes on go to the program.
	Serial.SetMode(Cooked)
	Attention = true
	Serial.Typed(attentionKey)
	Serial.Input('\n')
	if got := taken(); got != "\x1d\n" {
		t.Errorf("the program got %q; want a ^]", got)
	}
}

// taken reads every byte that can be read.
func taken() string {
	var b []byte
	for {
		tail := Serial.tail
		addr, n, _ := Serial.Next(serialSize)
		if addr == 0 || n == 0 {
			return string(b)
		}
		for i := range n {
			b = append(b, Serial.at(tail+uint64(i)))
		}
		Serial.Take(n)
	}
}
