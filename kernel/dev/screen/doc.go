// Package screen shows text where there is no serial port: on the text screen of a board, or
// in a framebuffer of pixels that the loader has set up.
//
// It has two states. While the kernel lives the screen is a terminal, which scrolls
// ([Byte]). From a crash on ([Crash]) it is a number of pages to be photographed: what the
// first crash was about stands at the top of each and is never overwritten; what more there
// is to say follows below, page by page ([Line], [Turn]).
//
// All that is shown is kept in RAM too, so that the screen is never read and only what
// changes is drawn: video memory is slow. Nothing here allocates or takes a lock, and it
// calls nothing but packages arch and tracer/qr; any context, interrupts off.
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
