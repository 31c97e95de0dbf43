//go:build broken

package covered

import "testing"

func TestBroken(t *testing.T) { undefined() }
