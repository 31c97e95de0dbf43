// Package untested has no tests.
package untested

// Twice returns the double of a number.
func Twice(n int) int { return 2 * n }
