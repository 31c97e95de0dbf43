//go:build !lockcheck

package mem

// OnAccess does nothing: lockcheck_on.go.
func OnAccess(f func()) {}

func assertLocked() {}
