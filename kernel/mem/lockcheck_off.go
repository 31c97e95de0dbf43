//go:build !lockcheck

package mem

// OnAccess does nothing here: see lockcheck_on.go.
func OnAccess(f func()) {}

func assertLocked() {}
