// Package vfs is the kernel's file tree: directories, regular files, symbolic links and a few
// device nodes, all in memory, filled from a cpio archive if the loader gave one. It behaves as
// Linux's tmpfs does, down to the error numbers, with these exceptions: everything is done as root,
// so permissions are kept but not enforced; reading does not change access times; a device node
// only carries its number, and reading and writing devices is for the system-call layer.
//
// All memory comes from page frames (kernel/mem), some of which are left to others (Keep), and is
// addressed by number: nodes and directory entries are small integers, so no global holds a Go
// pointer. Kernel context: it allocates only frames and takes no locks. It imports arch and
// kernel/mem.
//
// Paths and names in arguments are not kept. Names that functions return lie in the tree itself and
// are valid until its next change. Times are nanoseconds since the epoch, from the caller.
//
// The files:
//
//	errno.go   error numbers, flags and mode bits
//	slab.go    small objects in page frames
//	node.go    the attributes of a file: Stat, Chmod, Retain, Release
//	data.go    a file's bytes: Page, PageForWrite, SetSize, Punch
//	attr.go    extended attributes
//	dir.go     a directory's entries: ReadDir, Path
//	walk.go    from a path to a node: Walk
//	open.go    Open
//	names.go   all names of the tree: Names
//	change.go  making and removing names: Mkdir, Link, Unlink, Rename, ...
//	tree.go    Init and the tree that it makes
//	cpio.go    LoadCPIO
//	made.go    trees that the kernel makes up: /proc and /sys
//	watch.go   watches of files, and their events
//	share.go   folders of the host, whose files are fetched on demand
//	host.go    changes that the host makes first
package vfs
