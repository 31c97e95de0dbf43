// Package doctor says what of a machine Zeroframe's commands need, whether it is there, and
// how to install what is not.
//
//	doctor.go   a check, its finding, the report
//	tools.go    gdb, Delve, GRUB
//	serial.go   serial devices and the rights to them
//	disk.go     folders, their size and what is free
//	network.go  debuginfod
//	rights_unix.go, rights_windows.go  what each system asks in its own way
//
// What concerns QEMU and building is tools/zf's to add. Context: the host.
package doctor
