// What is asked seldom: columns, where functions are declared, variables in frames.

package symbol

import "github.com/zeroframe/zeroframe/tools/symbol/dwarf"

// A Detail is what more is known of a call than a [Call] has.
type Detail = dwarf.Detail

// A Local is a variable in a function's frame.
type Local = dwarf.Local

// Details returns more of the calls that Lookup returns for the same address, in the same order;
// fewer, or nil, if the debug information does not have it. It costs as much again as Lookup.
// Context: host.
func (f *File) Details(addr uint64, ret bool) []Detail {
	return f.dwarfData().Details(f.callAt(addr, ret))
}

// Locals returns the variables and parameters of the function at addr, and of those that are
// inlined into it, in the order of the source; nil without debug information. Context: host.
func (f *File) Locals(addr uint64) []Local { return f.dwarfData().Locals(addr) }

// Declared returns where the variable that begins at an address is declared in the source. It goes
// through the debug information of all units, which takes as long as some thousand look-ups.
// Context: host.
func (f *File) Declared(addr uint64) (file string, line int, ok bool) {
	return f.dwarfData().Global(addr)
}
