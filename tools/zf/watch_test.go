package main

import (
	"strings"
	"testing"
)

// TestWatchOption: a name becomes an address, and what cannot be watched is refused with the
// reason.
func TestWatchOption(t *testing.T) {
	all := map[string][]variable{
		"main.n":     {{0x1000, 8}},
		"main.b":     {{0x1009, 1}},
		"main.table": {{0x2000, 24}},
		"main.odd":   {{0x3004, 8}},
		"main.twice": {{0x4000, 8}, {0x5000, 8}},
		"main.c+d":   {{0x6000, 4}},
		"main.empty": {{0x7000, 0}},
	}
	parts := map[string]variable{"main.st.m": {0x8008, 4}, "main.row[2]": {0x8010, 2}, "main.st.in": {0x8020, 24}}
	for _, tt := range []struct{ place, want, wrong string }{
		{"main.st.m", "watch=0x8008:4", ""},
		{"main.st.m:2:rw", "watch=0x8008:2:rw", ""},
		{"main.row[2]", "watch=0x8010:2", ""},
		{"main.st.in+8:8", "watch=0x8028:8", ""},
		{"main.st.in", "", "24 bytes cannot be watched at once"},
		{"main.st.x", "", "no variable main.st.x"},
		{"main.n", "watch=0x1000:8", ""},
		{"main.n:4", "watch=0x1000:4", ""},
		{"main.n:rw", "watch=0x1000:8:rw", ""},
		{"main.n:2:w", "watch=0x1000:2:w", ""},
		{"main.b", "watch=0x1009:1", ""},
		{"main.table+16", "watch=0x2010:8", ""},
		{"main.table:8", "watch=0x2000:8", ""},
		{"main.odd:4", "watch=0x3004:4", ""},
		{"main.c+d", "watch=0x6000:4", ""},
		{"0x54e1c0", "watch=0x54e1c0", ""},
		{"0x54e1c4:4:rw", "watch=0x54e1c4:4:rw", ""},
		{"main.table", "", "24 bytes cannot be watched at once"},
		{"main.odd", "", "no multiple of 8"},
		{"main.n:3", "", "1, 2, 4 or 8"},
		{"main.n:8:x", "", "want w or rw"},
		{"main.b:8", "", "not main.b's alone"},
		{"main.table+24", "", "has 24 bytes"},
		{"main.table+y", "", "number of bytes"},
		{"main.twice", "", "2 variables"},
		{"main.empty", "", "has 0 bytes"},
		{"main.none", "", "no variable main.none"},
		{"0x10002:8", "", "no multiple of 8"},
		{"0xzz", "", "no address"},
	} {
		got, err := watchOption(all, tt.place, func(expr string, unknown error) (variable, error) {
			v, ok := parts[expr]
			if !ok {
				return v, unknown
			}
			return v, nil
		})
		if got != tt.want || (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("watchOption(%q) = %q, %v; want %q, %q", tt.place, got, err, tt.want, tt.wrong)
		}
	}
}
