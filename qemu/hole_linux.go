package qemu

import (
	"os"

	"golang.org/x/sys/unix"
)

// punchHole gives back what the first n bytes of a file take of the disk. They are zeros then.
// Where a file system cannot do that, they stay.
func punchHole(f *os.File, n int64) {
	unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, n)
}
