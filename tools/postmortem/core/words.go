package core

// A core file of words alone: what a debugger needs to look at goroutines whose traces have come.

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/zeroframe/zeroframe/tools/format/wire"
)

// maxRuns is how many pieces of memory a core file can have: its header has 16 bits for that.
const maxRuns = 60000

// Memory returns the words of memory that traces tell of, by their addresses: those that they
// carry, and those that their walks must have read. Of a word of which several tell, the first one
// counts. Host.
func Memory(all []*wire.Trace, sym Symbols) map[uint64]uint64 {
	words := make(map[uint64]uint64)
	for _, t := range slices.Backward(all) {
		maps.Copy(words, t.Words)
	}
	for _, t := range all {
		records(t, sym, words)
	}
	return words
}

// WriteMemory writes a core file of the image in the ELF file at path that has the words, and one
// thread of which nothing is known. Host.
func WriteMemory(w io.Writer, words map[uint64]uint64, path string) error {
	runs := runsOf(words)
	if len(runs) > maxRuns {
		return fmt.Errorf("the memory is in %d pieces, more than a core file can have", len(runs))
	}
	return writeRuns(w, path, []thread{{}}, &wire.Trace{}, runs)
}
