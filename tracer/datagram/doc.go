// Package datagram is the format in which a trace travels by UDP, version 1, for both sides. The
// kernel writes datagrams with [Plan] and [Write]. A receiver reads them with [Parse] and restores
// lost ones with [Coefficient] (as package tools/receive/reassemble does).
//
// A trace is the bytes of the serial line, in any form (tracer/wire.go), without other output. It
// is cut into pieces, and each datagram carries a header line and one piece or one parity piece:
//
//	zf1 BUILD BOOT SEQ PART FLAG CRC\n
//	piece
//
// The fields are separated by one blank. Numbers are decimal, without leading zeros.
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
// A datagram has at most [MaxPayload] bytes, like those of Linux's netconsole. Log lines come to
// the same port as plain text: a datagram of another form than the above is no part of a trace.
// Parity pieces are not text, and go to a port of their own ([ParityPort]); a receiver accepts any
// datagram at either port.
//
// # Pieces
//
// All pieces of a trace have the same size, except that the last may be shorter; parity pieces have
// that size, too. So TOTAL and the size give the number of pieces. The pieces in order are the
// trace, whatever the order of the datagrams.
//
// # Parity
//
// A trace of K pieces arrives whole when any K of its datagrams do, be they pieces or parity pieces
// (a systematic maximum distance separable code with a Cauchy matrix). In the field GF(256) with
// the polynomial x^8+x^4+x^3+x^2+1 (0x11d), byte n of parity piece j is the sum over all pieces i,
// the last filled up with zeros, of
//
//	piece[i][n] / ((255-j) xor i)
//
// so K plus the number of parity pieces is at most 256. The sender chooses the number of parity
// pieces. The kernel sends [Plan]'s number: if three of ten datagrams are lost, independently, at
// most one trace in ten million is.
//
// The code here allocates nothing, calls nothing of the runtime and imports nothing, so it may run
// in every context.
//
// In the order of reading:
//
//	code.go   the parity code
//	part.go   one datagram
//	write.go  the sender's side
package datagram
