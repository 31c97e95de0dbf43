// Package elf reads ELF files that come from anywhere: one that is cut, damaged or hostile
// gives an error or nothing, and costs memory and time in proportion to its size. The
// standard library's debug/elf does not promise that; its constants alone are used.
//
//	elf.go         the headers, of sections and of segments
//	contents.go    the bytes of a section, unfolded if it is compressed, and of an address
//	section.go     a section read in pieces, for debug information
//	cursor.go      numbers read from bytes
//	symbols.go     the entries of a symbol table
//	opd.go         function descriptors of 64-bit PowerPC
//	where.go       what is at an address: code, a section
//	note.go        the build ID
//	frames.go      call frame information
//	expr.go        the expressions in it, and in other debug information
//	reloc.go       object files: laid out, and their debug sections relocated
//	bound.go       claimed sizes, against what is really there
//	packed.go      compressed files
//	unpack.go      the ELF files in a package: tar.gz and others; deb.go, rpm.go
//
// It imports nothing of ours. Context: the host.
package elf
