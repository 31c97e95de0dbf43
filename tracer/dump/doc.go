// Package dump is the format in which a dead machine sends its memory: packets, each of which is
// readable by itself. They travel as UDP datagrams, with answers, or one after another on a serial
// line, without answers.
//
//	wire.go    the form of a packet: header, bodies, checksum
//	kept.go    what a machine leaves in RAM for its next boot to send: the description, and a
//	           mark for each page
//	window.go  which packets were sent and not answered yet, and which are lost
//
// The machine announces the dump and waits for a welcome; then it sends numbered items: its CPUs,
// the ranges of its RAM, pages, and the end. The most useful pages come first, so that a dump that
// is cut short has what is needed most. An item says where in RAM it belongs, so the receiver needs
// no order. The receiver answers with the number below which it has all items, and with a bit for
// each of the next 256.
//
// A restarted receiver does not know the dump, says so, and gets a new announcement. Its welcome
// says how many pages in order it has, and the machine goes on there.
//
// The package allocates nothing, takes no lock, and imports tracer/seal. Any context, and the host.
package dump
