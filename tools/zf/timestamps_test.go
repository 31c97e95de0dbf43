package main

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestStamped: each line has the time at which it began, whatever the pieces that it comes in.
func TestStamped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		m := machine{timestamps: true, began: time.Now()}
		w := m.stamps(&out)
		for _, p := range []string{"one\ntw", "o", "", "\n", "\nend"} {
			if n, err := io.WriteString(w, p); n != len(p) || err != nil {
				t.Errorf("Write(%q) = %d, %v", p, n, err)
			}
			time.Sleep(1500 * time.Millisecond)
		}
		const want = "[    0.000] one\n[    0.000] two\n[    6.000] \n[    6.000] end"
		if out.String() != want {
			t.Errorf("%q; want %q", out.String(), want)
		}
		m.timestamps = false
		if m.stamps(&out) != io.Writer(&out) {
			t.Error("lines are stamped without -timestamps")
		}
	})
}
