// Package process answers what is at an address of a running process, or of one that has left a
// core file: which file is mapped there, and what that says. Position-independent programs and
// shared libraries lie elsewhere in each process; here the mappings tell where.
//
//	process.go  a process: its mappings, and look-ups in it
//	maps.go     the mappings of a running process, and of a text of that form
//	core.go     those of a core file (NT_FILE), with the build IDs that its memory holds
//
// It may import tools/symbol, tools/elf and tools/lookup. Context: the host.
package process
