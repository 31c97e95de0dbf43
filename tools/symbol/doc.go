// Package symbol answers what an address in an ELF file means: function, source
// line, inlined calls, section, distance to the return address.
//
// It runs on the host only. It makes one answer of what packages elf, dwarf and tracer (for
// Go's pc tables, which the kernel reads too), code (for what the instructions say) and
// mapfile (for maps) read. The files come from anywhere: one that is cut, damaged or
// hostile gives an error or no answer, and costs memory and time in proportion to its size.
//
// An answer comes from the best source the file has (sources.go):
//
//	.gopclntab           Go functions, stripped or not (gotable.go), of which
//	                     only pages are read (gopages.go)
//	DWARF                C, C++, Rust and assembly with debug information
//	                     (package dwarf), from the file, from its separate
//	                     debug file (split.go) and from what dwz made
//	.symtab, .dynsym     function names alone (symtab.go)
//	.eh_frame            of a stripped file: functions without names (code.go)
//	a map file           instead of an ELF file: functions alone (map.go)
//
// # For other programs
//
// [Open] or [OpenWith], [File.Lookup] or [File.Frames], and [File.Close] are all that most need.
// [File.LookupAll] and [File.LookupContext] take many addresses at once. A [Store] has debug
// information that is not on this machine; *buildid.Client is one, and that package has also
// a Finder, which finds the file of a build ID first. A File may be used by several goroutines
// at once, and there is no state besides it: two Files, also of one path, have nothing in
// common. A context ends the waiting for servers and the work on many addresses.
//
// What it costs, on one core of a small virtual machine: to open a file, 0.03 ms. The first
// look-up, 0.05 ms in a program of one source file, 6 ms in Debian's Linux kernel (630 MB), and
// 23 ms in the debug file of Debian's libc, whose sections are compressed. Another one, 0.2 µs in
// the same compile unit, 10 to 20 µs anywhere. Of 100,000 addresses at once each costs 0.1 to
// 1.5 µs. Memory: the symbol table, what was read of DWARF last, and what had to be unfolded.
//
// The packages symbol, lookup and buildid follow semantic versions, with those of the module: until
// v1 a minor version may change an exported name, and CHANGELOG.md says which; a patch version
// changes none. From v1 on what compiles with a version compiles with all later ones of the same
// major. Answers are no part of the promise where a later version knows more. What else this
// package exports for zf's own use, such as the fields of the embedded elf.File, is not promised.
//
// # How
//
// Nothing but the ELF headers is read when a file is opened; each source is read
// at the first look-up that needs it, DWARF one compile unit at a time.
// Many addresses at once (batch.go) cost far less than one by one.
//
// Look-ups make the best of what a file has and give no errors; File.CanResolve says
// whether there is anything to look up in, and File.Incomplete what the answers lack
// (file.go). File.Functions goes through all functions (functions.go).
//
// In the order of reading:
//
//	open.go         options, iterators, contexts
//	file.go         an opened file, and its sources of answers
//	sources.go      the order of the sources
//	lookup.go       one address -> frames
//	batch.go        many addresses
//	radix.go        the sort of them
//	named.go        a name -> its addresses
//	places.go       a line -> its addresses
//	functions.go    all functions
//	loaded.go       the segments that are loaded, and the names of all functions
//	stack.go        what a walk asks: function starts
//	code.go         the code, with the functions in it
//	gotable.go      .gopclntab
//	gopages.go      the pages of it that are read
//	pctable.go      Go's pc tables
//	split.go        separate debug files
//	store.go        those of servers and symbol stores
//	detail.go       columns, declarations, variables in frames
//	mini.go         .gnu_debugdata
//	symtab.go       symbol tables
//	symscan.go      passes over a large one
//	variable.go     variables
//	arguments.go    parameters of functions
//	map.go          map files
package symbol
