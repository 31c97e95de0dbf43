//go:build !lockcheck

package percpu

// AssertLocked does nothing, and costs nothing; see lockcheck_on.go.
func AssertLocked() {}
