// Package image builds a Go main package and finishes the linker's output into
// a bootable image: one ELF64 file that a multiboot 1 loader (GRUB, QEMU
// -kernel, u-root's kexec) and a PVH loader (QEMU microvm, Xen, Firecracker,
// Cloud Hypervisor) both accept, and that every ELF tool still reads as the
// linker wrote it.
//
// What lives here:
//
//   - [Build] checks a package, runs the stock `go build` and finishes the result;
//     to a program that does not import the kernel it adds it (kernel.go, tool.go),
//     for which a program that calls Build must call [RunTool] first;
//   - [TestPackages] finds what can be tested; Build makes test binaries bootable too;
//   - [Finish] turns the linker's ELF into an image (layout.go says what it relies on);
//   - [Inspect] reads an image back: build ID, loaders, extent, smallest RAM.
//
// Nothing but the first page of the file, and of it only unused bytes and the
// program header table, is changed, and two tables of the kernel's are filled in
// (golayout.go, stacklimits.go); all else that is loaded stays byte for byte as linked.
// What is not loaded, symbols and DWARF, says the same in fewer bytes (pack.go).
//
// Context: the host. It may import tools/symbol and tools/symbol/stacks, never the kernel,
// which it knows by import path and symbols alone.
//
// In the order of reading:
//
//	build.go        go build with the linker settings of an image
//	check.go        what can be wrong with it beforehand
//	flags.go        what the user's flags are for the kernel: nothing
//	toolchain.go    what it needs of this machine
//	packages.go     which packages there are to test
//	hints.go        imports that cannot do what they are for
//	parts.go        the parts of the kernel that are linked; parts.txt: the options that need each
//	zones.go        time zones, for a program that loads some
//	untested.go     the coverage of packages that have no tests
//	fetch.go        packages given as PATH@VERSION
//	kernel.go       the kernel, for a program that does not import it
//	versions.go     packages that it shares with the program
//	tool.go         how it gets there, between the go command and its tools
//	companion.go    packages that are linked beside it
//	progress.go     how far it is
//	keep.go         what is not linked again
//	fresh.go        what is not built again; fresh_linux.go, fresh_other.go: times of files
//	finish.go       the headers of the loaders, put into the finished file
//	layout.go       what they rely on
//	loaders.go      the choice of loaders
//	note.go         ELF notes
//	screen.go       the screen that a multiboot header asks for
//	stacklimits.go  the proven bounds of the stacks, put into the file
//	golayout.go     where the runtime's data is, put into the file
//	pack.go         symbols and DWARF in less room
//	inspect.go      an image, read back
package image
