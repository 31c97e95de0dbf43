// Package covered has tests that run some of it, and that write all files that tests can
// write.
package covered

import "strings"

// Words counts the words of a text.
func Words(s string) int {
	if s == "" {
		return 0
	}
	return len(strings.Fields(s))
}

// Sign returns the sign of a number.
func Sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}
