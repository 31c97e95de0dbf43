// Package tty implements the terminals: the line discipline between the serial port, or the master
// of a pseudo-terminal, and the programs. Input is kept in a ring, and edited and echoed, or passed
// on unchanged; output gets its line ends.
//
// It imports kernel/console, to echo, and kernel/mem, for rings. Kernel context, interrupts off: it
// does not allocate, and its globals hold no pointers.
//
// # Modes
//
//	cooked (default)  lines, as on a Linux terminal: echo, editing, ^C, ^D
//	raw (tty=raw)     the bytes, unchanged both ways; no signal, no end of file
//	pipe (tty=pipe)   for input from a file or a program: the bytes, unchanged both ways and
//	                  without echo, except for an escape that ends the file
//
// In pipe mode the byte DLE (0x10) is the escape: DLE DLE stands for one DLE, DLE EOT (0x10 0x04)
// ends the file, after which there is no more input, and DLE before any other byte stands for
// itself.
//
// # Flow
//
// The interrupt handler and the reader both move bytes from the UART to Input while there is Room.
// Further bytes wait in the UART and in its sender, so nothing is lost (kernel/console/input.go).
//
// The files:
//
//	tty.go      modes, termios
//	input.go    editing and echo
//	read.go     the ring, and reading from it
//	pair.go     pseudo-terminals
//	output.go   line ends, columns, and the way back over them
package tty
