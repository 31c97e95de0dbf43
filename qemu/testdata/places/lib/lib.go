// Package lib is another package of the program's own module.
package lib

// Apply calls f with the elements of s.
func Apply[T any](s []T, f func(T)) {
	for _, v := range s {
		f(v)
	}
}

// At returns an element, of an index that it does not look at.
//
//go:noinline
func At[T any](s []T, i int) T {
	return s[i] // dies: generic
}
