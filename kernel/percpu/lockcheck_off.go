//go:build !lockcheck

package percpu

// AssertLocked does nothing, and costs nothing: lockcheck_on.go has the one that does.
func AssertLocked() {}
