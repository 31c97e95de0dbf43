// Package dump is how a machine that has died sends its memory: packets, each of which can be
// understood by itself. They travel as UDP datagrams, with answers, or one after the other on a
// serial line, without.
//
//	wire.go    the form of a packet: header, bodies, checksum
//	kept.go    what a machine leaves in RAM for its next boot to send: the description, a mark for each page
//	window.go  which packets have been sent and not been answered yet, and which are lost
//
// The machine announces the dump and waits for a welcome; then it sends numbered items: its CPUs,
// the ranges of its RAM, pages, and the end. Pages come in the order of worth, so that a dump that
// is cut short has what is needed most. An item says where in RAM it belongs; the receiver needs no
// order among them. It answers with the number below which it has all items, and with a bit for each
// of the next 256.
//
// A receiver that has been started anew does not know the dump, says so, and is sent a new
// announcement. Its welcome says how many pages in order it has, and the machine goes on there.
//
// The package allocates nothing, takes no lock, and imports tracer/seal. Any context, and the host.
package dump
