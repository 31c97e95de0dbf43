// Zf is Zeroframe's host command: it builds a Go main package into a bootable
// image, boots it in QEMU, and resolves the traces it dies with.
//
//	zf build [-o FILE] PKG               build a bootable image
//	zf run [flags] PKG|ELF [-- ARGS]     boot it in QEMU
//	zf test [flags] PKG...               run the tests of packages in QEMU
//	zf symbolize -e ELF [FILE|DEVICE|-]  resolve the traces in a log or a stream
//	zf addr -e ELF [ADDR...]             what addr2line does
//	zf index [ELF...]                    make symbolize and addr answer at once
//	zf handles [-e ELF] FILE             show what a program has open, and who opened it
//	zf leaks [-e ELF] BEFORE AFTER       show which stacks have more open than before
//	zf core -e ELF [-o FILE] LOG         make a core file of a trace, for gdb
//	zf gdb [flags] PKG|ELF [-- ARGS]     boot it in QEMU, stopped, with gdb on it
//	zf stacks -e ELF [-f FUNC]           bound how deep each stack can get
//	zf map -e ELF [-o FILE]              write the symbols as nm does, for -map
//
// What lives here: the dispatch (main.go) and one file a command (run and test share
// machine.go, console.go, files.go and verdict.go), which reads its flags, calls the
// packages that do the work (tools/image, tools/initrd, tools/source, tools/symbol,
// tools/trace, qemu) and turns their results into an exit status. What is worth
// testing without a command line belongs in those packages.
//
// Context: the host.
package main
