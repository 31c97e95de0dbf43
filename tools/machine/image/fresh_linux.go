package image

import (
	"os"
	"syscall"
	"time"
)

// hasChangeTimes: files have a time that no program can set, see changeTime.
const hasChangeTimes = true

// changeTime is when a file was last written, renamed or given other times.
func changeTime(fi os.FileInfo) time.Time {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return time.Now()
}
