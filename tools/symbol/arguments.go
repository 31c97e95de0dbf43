// The parameters of functions, for those who show a trace's arguments.

package symbol

import (
	"fmt"

	"github.com/zeroframe/zeroframe/tools/symbol/argument"
)

// Arguments returns what tells the arguments of the functions of a Go program, or nil if the
// file does not have the debug information for that, or could do harm with it, which Incomplete
// says then. Context: host.
func (f *File) Arguments() *argument.Image {
	f.argOnce.Do(func() {
		table, ok := f.PCTable()
		if !ok {
			return
		}
		d := f.debugFile()
		if d == nil {
			return
		}
		if err := d.dwarfData().CheckTypes(); err != nil {
			err = fmt.Errorf("%s: arguments are left out: %w", d.Name(), err)
			f.argErr.Store(&err)
			return
		}
		types, _, _ := f.exactSymbol([]byte("runtime.types"))
		f.args = argument.Open(f.File, d.File, func(pc uint64) (argument.Entry, bool) {
			e, ok := d.dwarfData().EntryAt(pc)
			return argument.Entry(e), ok
		}, f.entryName, types, table)
	})
	return f.args
}

// entryName returns the function that begins at pc, or "".
func (f *File) entryName(pc uint64) string {
	if calls := f.Lookup(pc, false); len(calls) > 0 && calls[len(calls)-1].Offset == 0 {
		return calls[len(calls)-1].Function
	}
	return ""
}
