// Package screen shows text where there is no serial port: on the text screen of a VGA, or
// in a framebuffer of pixels that the loader has set up.
//
// It has two states. While the kernel lives the screen is a terminal, which scrolls
// ([Byte]). From a death on ([Die]) it is a number of pages to be photographed: what the
// first death was about stands at the top of each and is never overwritten; what more there
// is to say follows below, page by page ([Line], [Turn]).
//
// All that is shown is kept in RAM too, so that the screen is never read and only what
// changes is drawn: video memory is slow. Nothing here allocates or takes a lock, and it
// calls nothing but package amd64; any context, interrupts off.
package screen
