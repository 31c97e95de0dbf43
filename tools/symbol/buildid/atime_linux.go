package buildid

import (
	"io/fs"
	"syscall"
	"time"
)

// accessTime returns when a file was read, if it is known.
func accessTime(info fs.FileInfo) (time.Time, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return time.Time{}, false
	}
	return time.Unix(st.Atim.Unix()), true
}
