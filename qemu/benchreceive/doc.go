// Command bench measures the receiver: datagrams a second without loss, and CPU time
// beside that of netcat (and of netconsd, if it is installed) under the same load.
//
// The load is a corpus of machines on the loopback interface, each with an address of
// its own, which send log lines and traces with all their parity pieces. It prints one
// line a figure: name, value, goal, and ok or short, parted by tabs.
//
//	main_linux.go  what is measured, and the peers
//	load_linux.go  the machines that send
//	main_other.go  it runs on Linux, whose system calls it uses
package main
