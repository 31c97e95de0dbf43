// What of a file is in memory when it runs.

package symbol

import (
	"debug/elf"
	"iter"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// Loaded returns the segments of the file that are loaded. Those of a file that has the
// debug information alone have the sizes that they have in memory. Context: host.
func (f *File) Loaded() []lookup.Segment {
	var all []lookup.Segment
	for i := range f.Segments {
		s := &f.Segments[i]
		if s.Type != elf.PT_LOAD {
			continue
		}
		size := s.FileSize
		if size == 0 {
			size = s.MemSize
		}
		all = append(all, lookup.Segment{Addr: s.Addr, Offset: s.Off, Size: size,
			Exec: s.Flags&elf.PF_X != 0})
	}
	return all
}

// FunctionNames returns the names of all functions, as Functions has them. Context: host.
func (f *File) FunctionNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for fn := range f.Functions() {
			if !yield(fn.Name) {
				return
			}
		}
	}
}
