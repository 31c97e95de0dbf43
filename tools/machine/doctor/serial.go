package doctor

// A serial adapter's device belongs to a group, and a user who is not in it reads nothing
// but "permission denied".

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// serialNames are the devices of adapters, by system; a built-in port may have a device and
// not be there.
var serialNames = map[string][]string{
	"linux":  {"ttyUSB*", "ttyACM*", "ttyS0"},
	"darwin": {"cu.usb*"},
}

// Serial checks the rights to the serial devices in folder dev, as zf symbolize reads them.
func Serial(dev string) func(context.Context) Finding {
	return func(context.Context) Finding {
		if runtime.GOOS == "windows" {
			return Found("COM ports need no rights")
		}
		var found, closed []string
		for _, pattern := range serialNames[runtime.GOOS] {
			names, _ := filepath.Glob(filepath.Join(dev, pattern))
			for _, name := range names {
				if accessible(name) {
					found = append(found, name)
				} else {
					closed = append(closed, name)
				}
			}
		}
		adapters := slices.DeleteFunc(slices.Clone(closed),
			func(name string) bool { return filepath.Base(name) == "ttyS0" })
		switch {
		case len(adapters) > 0:
			return Wrong("no right to %s: sudo usermod -aG %s $USER, and log in again",
				strings.Join(adapters, ", "), groupOf(adapters[0]))
		case len(found) == 0 && len(closed) > 0:
			return Missing(
				"no right to %s, if a machine is on it: sudo usermod -aG %s $USER, and log in again", closed[0],
				groupOf(closed[0]))
		case len(found) == 0:
			return Missing("no serial device, for zf symbolize of a real machine: plug in an adapter")
		}
		return Found("%s", strings.Join(found, ", "))
	}
}
