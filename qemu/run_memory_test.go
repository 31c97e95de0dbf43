package qemu

// All RAM is the program's: what the system says there is, and what can be used of it.

import (
	"fmt"
	"strconv"
	"testing"
)

// TestMemory: with more RAM than fits below the hole at 4 GiB, a program uses more than
// is below it.
func TestMemory(t *testing.T) {
	t.Parallel()
	const mib = int64(1 << 20)
	for _, tt := range []struct {
		machine string
		ram     int64 // MiB
		use     int64
	}{
		{"q35", 16, 1},
		{"microvm", 48, 20},
		{"pc", 128, 80},
		{"q35", 1000, 200},
		{"q35", 2816, 100}, // just below where the hole begins, on q35
		{"pc", 3600, 100},  // the same for pc
		{"microvm", 4096, 100},
		{"pc", 4096, 100},   // 3 GiB are below the hole
		{"q35", 6144, 4608}, // 2 GiB are
	} {
		t.Run(fmt.Sprint(tt.machine, " ", tt.ram), func(t *testing.T) {
			t.Parallel()
			o, stderr := booted(t, nil, "-timeout", "5m", "-machine", tt.machine, "-m", strconv.FormatInt(tt.ram, 10),
				program(t, "memory"), "--", strconv.FormatInt(tt.use, 10))
			var total, free, used, wrong, left int64
			n, err := fmt.Sscanf(o.text, "total %d free %d\nused %d wrong %d free %d\n", &total, &free, &used, &wrong, &left)
			if n != 5 || o.status != 0 {
				t.Fatalf("the program says %q, status %d, %v, %s", o.text, o.status, err, stderr)
			}
			// The firmware, the kernel, its page tables, 28 KiB of them for the direct map, and the copy of
			// what it needs in order to die take the rest.
			if missing := tt.ram*mib - total; missing < 0 || missing > 6*mib+mib/16+tt.ram*mib/100 {
				t.Errorf("of %d MiB, %d bytes are said to be there: %d are missing", tt.ram, total, missing)
			}
			if free > total || free < total-8*mib {
				t.Errorf("of %d bytes, %d are said to be free at the start", total, free)
			}
			if used != tt.use*mib || wrong != 0 {
				t.Errorf("%d bytes were used, of which %d pages hold what was not written there; want %d MiB, 0", used, wrong, tt.use)
			}
			if taken := free - left; taken < used || taken > used+used/100+16*mib {
				t.Errorf("using %d bytes took %d", used, taken)
			}
		})
	}
}
