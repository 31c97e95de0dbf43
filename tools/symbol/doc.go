// Package symbol answers what an address in an ELF file means: function, source
// line, inlined calls, section, distance to the return address.
//
// It runs on the host only and imports, of Zeroframe, package tracer (for the
// reader of Go's pc tables, which the kernel uses too), package code (for what
// the instructions say) and package mapfile (for maps). Everything else it
// reads with its own code, because the files come from anywhere: a file that is
// cut, damaged or hostile gives an error or no answer, and costs memory and
// time in proportion to its size. The standard library's debug/elf and
// debug/dwarf do not promise that; of the former only the constants are used.
//
// An answer comes from the best source the file has:
//
//	.gopclntab           Go functions, stripped or not (gotable.go), of which
//	                     only pages are read (gopages.go)
//	DWARF                C, C++, Rust and assembly with debug information
//	                     (unit.go, die.go, form.go, line.go), from the file,
//	                     from its separate debug file (split.go), from .dwo and
//	                     .dwp files (dwo.go) and from what dwz made (sup.go)
//	.symtab, .dynsym     function names alone (symtab.go)
//	the code             of a stripped file: functions without names (code.go)
//	a map file           instead of an ELF file: functions alone (map.go)
//
// What all but the first of them say can be had from an index (index.go): a file in
// the user's cache folder with the answer for every address, for the next process.
//
// Nothing but the ELF headers is read when a file is opened; each source is read
// at the first look-up that needs it, DWARF one compile unit at a time (debug.go).
// Many addresses at once (batch.go) cost far less than one by one.
//
// Object files, such as kernel modules, are laid out and relocated (reloc.go).
//
// Look-ups make the best of what a file has and give no errors; File.CanResolve says
// whether there is anything to look up in, and File.Check which section of which file
// is damaged (check.go). File.Functions goes through all functions (functions.go).
package symbol
