package outbox

import (
	"testing"

	"github.com/zeroframe/zeroframe/kernel/option"
)

func TestWanted(t *testing.T) {
	option.SetLine([]byte(`report=off outbox=/tmp/c.out outbox="/a b" outbox=/x/ outbox= -- outbox=/args`))
	for path, want := range map[string]bool{
		"/tmp/c.out":   true,
		"/tmp/c.out/d": true,
		"/tmp/c.out2":  false,
		"/tmp/c.ou":    false,
		"/tmp":         false,
		"/a b/c/d":     true,
		"/a":           false,
		"/x/y":         true,
		"/x":           false,
		"/args":        false,
		"":             false,
	} {
		if got := wanted([]byte(path)); got != want {
			t.Errorf("wanted(%q) = %v; want %v", path, got, want)
		}
	}
}
