// Package mapfile reads the text files that say where a program's symbols are, for
// programs whose ELF file is not at hand or that never were one: the output of nm,
// System.map and /proc/kallsyms, and the map files of GNU ld, of lld, of Microsoft's
// linker and of Borland's. It also writes one.
//
//	map.go       a Map: symbols by address, which of them covers an address
//	detect.go    which format a text is in
//	nm.go        nm in its three output formats, go tool nm, System.map, kallsyms
//	gnuld.go     ld -Map
//	lld.go       ld.lld -Map, lld-link /lldmap
//	segments.go  segment:offset addresses: link /MAP, Borland and Delphi
//	write.go     the form that nm -n -S prints
//
// A map names functions; it has no source lines, no build ID and no code. So nothing
// tells whether it belongs to what is looked up in it: its user has to know.
//
// The files come from anywhere. A map is kept as its text and a table of fixed-size
// entries, at most one a line, so that it takes memory in proportion to its size. The
// package imports nothing of Zeroframe. Context: the host.
package mapfile
