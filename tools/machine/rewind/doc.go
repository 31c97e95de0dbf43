// Package rewind is a gdb stub for a recorded machine that goes backwards, too. It stands between a
// debugger and QEMU's stub. What goes forwards QEMU does; for what goes backwards the recording is
// replayed from its beginning to the instruction in front of the wanted one (Server.back), since a
// replay cannot turn round.
//
//	server.go  the debugger's packets
//	travel.go  the machine: forwards, backwards, from the beginning
//
// It knows what gdb asks (gdb manual, appendix E; reverse execution is bc and bs), and Delve, as it
// talks to rr and to debugserver. Nothing is written to the machine: its replay stays the
// recording's.
//
// The package may import qemu, tools/postmortem/memory, tools/machine/replay. Context: the host.
package rewind
