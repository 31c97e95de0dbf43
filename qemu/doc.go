// Package qemu starts a bootable image in QEMU and tells how it ended.
//
// What lives here:
//
//   - [Start] and [VM]: one machine, its serial port as bytes, its monitor (QMP);
//   - [Result]: QEMU's exit status decoded by the kernel's contract (exit.go);
//   - [Find]: which QEMU is run, and how to install it;
//   - the end-to-end tests of the whole project.
//
// A machine that ends in any other way than by the kernel's own word is an error:
// a triple fault, a power-off, a timeout and an early exit of QEMU never look
// like success.
//
// QEMU is run through u-root's VM test library (github.com/hugelgupf/vmtest/qemu),
// which starts the process, hands it files, kills it with its context and reports
// its status. Two parts of it do not serve and are not used: its console, a
// pseudo-terminal that mixes the guest's output with QEMU's own messages, rewrites
// line ends and echoes input, so that here it carries QEMU's messages alone; and
// its OptionsFor, which takes further arguments from VMTEST_* variables, so that
// one image would not run in the same way for everyone.
//
// Context: the host (a Unix). It imports that library, tools/machine/host, tools/symbol/lookup
// and the standard library; its tests import packages of tools, never tools/zf.
//
// In the order of reading:
//
//	config.go   a machine, described
//	find.go     which QEMU runs
//	accel.go    by which accelerator
//	probe.go    an accelerator, tried
//	vm.go       a machine that runs: its process and streams
//	streams.go  the streams between QEMU and us
//	join.go     the text of the serial port and of the virtio console
//	socketpair_unix.go, socketpair_windows.go  sockets for a child process
//	qmp.go      QEMU's monitor protocol
//	memory.go   the memory of a machine, over it
//	direct_linux.go, direct_other.go  that of a QEMU on the same Linux host, read directly
//	net.go      network cards
//	forward.go  ports of the guest that the host reaches
//	share.go     folders of the host
//	folder.go   a folder for a machine's files
//	uefi.go     UEFI firmware
//	reboot.go   a machine that may reboot
//	record.go   a machine that is recorded, or replayed
//	snapshot.go  the state of one that is recorded, as a file
//	qcow2.go    such a file out of a recording, checked
//	stranger.go  a machine that somebody else describes: what of it is harmless
//	sandbox.go  what QEMU gives up
//	hole_linux.go, hole_other.go  the part of a file that is not needed any more
//	watch.go    hangs, and interrupts from outside
//	exit.go     how a machine has ended
//
// Tables that commands and tests make, and what they are made of:
//
//	calls.txt          system calls beside Linux (make test-calls)
//	std.txt            the tests of Go's standard packages (make test-std)
//	modules.txt        modules whose tests are run
//	modules-table.txt  how they went (make test-modules)
package qemu
