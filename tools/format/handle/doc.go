// Package handle reads what the kernel's log of resources says (package
// kernel/observe/handle, whose snapshot.go has the format): who opened what is open, what was
// closed twice, and the latest events. It compares two snapshots, or two heap profiles of
// Go, by stack, and says what has grown.
//
//	snapshot.go  the snapshot and its reader
//	names.go     its stacks, with names of functions and lines
//	text.go      zf handles
//	key.go       zf handles -key
//	json.go      the same for programs
//	leaks.go     zf leaks
//	heap.go      the heap profile
//
// Context: host.
package handle
