// Package dwarf answers from DWARF 2 to 5 which functions an address is in, with inlined
// calls, file and line. It reads one compile unit at a time, and of it what an answer needs.
// Damaged or hostile debug information costs time and memory in proportion to its size,
// which the standard library's debug/dwarf does not promise.
//
//	debug.go       the debug sections, and where units are
//	aranges.go     which units have code at an address
//	unit.go        a unit's header and first entry; how much work an answer may cost
//	die.go         entries: functions, names, the frames at an address
//	function.go    which function of a unit an address is in
//	tree.go        the calls inlined into one function
//	detail.go      more of a call: columns, where its function is declared
//	local.go       the variables of a function
//	entry.go       where its entry is, for those who read more of it
//	line.go        the rows of a line table
//	places.go      where the lines of a source file are
//	ranges.go      the pieces of text of an entry
//	dead.go        functions that the linker dropped, where text is at address 0
//	abbrev.go      the shapes of entries
//	form.go        the values in them
//	sup.go         what dwz has moved into a supplementary file
//	types.go       what would harm debug/dwarf and Delve
//
// It imports elf and, for the answers' types, lookup. Context: the host.
package dwarf
