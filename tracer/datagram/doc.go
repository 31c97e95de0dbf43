// Package datagram is how a trace travels by UDP: version 1 of the format, for both
// sides. The kernel writes datagrams with [Plan] and [Write], a receiver reads them with
// [Parse] and puts what is missing right with [Coefficient] (package tools/reassemble
// does).
//
// A trace is the bytes that the serial line has, in whatever form (tracer/wire.go),
// and without the lines of others. It is cut into pieces, and each datagram carries one
// piece or one parity piece behind a header line:
//
//	zf1 BUILD BOOT SEQ PART FLAG CRC\n
//	piece
//
// The fields are parted by one blank. Numbers are decimal, without leading zeros.
//
//	BUILD  the ELF's GNU build ID in lower-case hexadecimal, 1 to 32 bytes, or "-"
//	BOOT   16 hexadecimal digits, lower-case: a number drawn at random at each boot
//	SEQ    counts the traces of this boot that were sent, from 1
//	PART   the number of the piece, from 0; parity pieces are numbered apart, from 0
//	FLAG   "+": a piece, more follow; ".": the last piece; "!": the last piece of a trace
//	       that was longer than [MaxTrace], of which the rest is missing;
//	       "xTOTAL": a parity piece of a trace of TOTAL bytes; "xTOTAL!": of one that
//	       was longer
//	CRC    8 hexadecimal digits, lower-case: CRC-32C (Castagnoli) of the header up to and
//	       without the blank before CRC, followed by the piece
//
// A datagram has at most [MaxPayload] bytes, as those of Linux's netconsole. Log lines
// come to the same port as plain text: what is not of the form above is none of ours. Parity
// pieces are no text, and go to a port of their own ([ParityPort]); a receiver takes each
// datagram at either port.
//
// # Pieces
//
// All pieces of a trace are of one size but the last, which may be shorter; parity
// pieces are of that size too. So TOTAL and the size say how many pieces there are. The
// pieces in order are the trace, whatever order the datagrams came in.
//
// # Parity
//
// A trace of K pieces arrives whole when any K of its datagrams do, be they pieces or
// parity pieces (a systematic maximum distance separable code with a Cauchy matrix). In
// the field GF(256) with the polynomial x^8+x^4+x^3+x^2+1 (0x11d), byte n of parity piece
// j is the sum over all pieces i, the last filled up with zeros, of
//
//	piece[i][n] / ((255-j) xor i)
//
// so K plus the number of parity pieces is at most 256. How many parity pieces there are
// is the sender's choice. The kernel sends [Plan]'s number: at most one trace in ten
// million is lost when three of ten datagrams are, each by itself.
//
// The code here allocates nothing, calls nothing of the runtime and imports nothing, so
// it may run in every context.
//
// In the order of reading:
//
//	code.go   the parity code
//	part.go   one datagram
//	write.go  the sender's side
package datagram
