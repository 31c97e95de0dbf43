//go:build unix

package doctor

import (
	"os"
	"os/user"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// accessible reports whether the user may read and write a file, without opening it: that
// changes the lines of a serial port.
func accessible(path string) bool { return unix.Access(path, unix.R_OK|unix.W_OK) == nil }

// groupOf returns the name of the group that a file belongs to.
func groupOf(path string) string {
	info, err := os.Stat(path)
	if err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			id := strconv.FormatUint(uint64(st.Gid), 10)
			if g, err := user.LookupGroupId(id); err == nil {
				return g.Name
			}
			return id
		}
	}
	return "dialout"
}

// freeSpace returns how many bytes the user can still write below a folder.
func freeSpace(dir string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
