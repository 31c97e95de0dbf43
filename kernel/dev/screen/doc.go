// Package screen shows text if there is no serial port: on the text screen of a board, or in a
// framebuffer of pixels that the loader set up.
//
// It has two states. While the kernel lives the screen is a terminal, which scrolls ([Byte]). After
// a crash ([Crash]) it is a number of pages to be photographed: the first crash is described at the
// top of each and never overwritten; everything else follows below, page by page ([Line], [Turn]).
//
// Everything on the screen is also in RAM, so that the screen is never read and only changes are
// drawn, because video memory is slow. Nothing here allocates or takes a lock, and it calls only
// packages arch and tracer/qr; any context, interrupts off.
//
// In the order of reading:
//
//	screen.go    the grid of characters
//	pixels.go    a framebuffer
//	font.go      the shapes of the characters
//	terminal.go  the screen as a terminal
//	pages.go     the pages of a crash
//	code.go      the QR code on them
package screen
