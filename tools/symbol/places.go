// From a line of the source to addresses.

package symbol

import (
	"slices"
	"strings"
)

// Places returns the addresses at which code of a line begins, rising: one for each place that the
// compiler has put the line to. file is the end of a path, from a slash on. If the line has no
// code, found is nil, and before and after are the nearest lines of that file that have; 0 if there
// is none. It reads the line tables of the whole file, and needs DWARF: the first question takes
// about as long as 10,000 look-ups. Context: host.
func (f *File) Places(file string, line int) (found []uint64, before, after int) {
	match := func(path string) bool {
		return path == file || strings.HasSuffix(path, file) && path[len(path)-len(file)-1] == '/'
	}
	f.dwarfData().Lines(match, func(addr uint64, n int) {
		switch {
		case n == line:
			found = append(found, addr)
		case n < line:
			before = max(before, n)
		case after == 0 || n < after:
			after = n
		}
	})
	slices.Sort(found)
	return slices.Compact(found), before, after
}
