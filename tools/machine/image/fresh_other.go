//go:build !linux

package image

import (
	"os"
	"time"
)

const hasChangeTimes = false

func changeTime(os.FileInfo) time.Time { return time.Time{} }
