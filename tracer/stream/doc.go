// Package stream is the format in which snapshots, profiles and other data leave the target beside
// its text, version 1; this is the target's side. Package tools/format/eventstream reads it.
//
// A record is a byte string of any length with a kind, a word of letters, digits and points that
// says what it is ("profile.cpu"). It leaves in pieces of up to [PieceSize] bytes. A piece is a
// whole line or a whole frame and describes itself fully, so that pieces of several records may be
// mixed with each other and with text, and a lost or damaged piece costs only its own record.
//
// # Lines
//
// On the console, and wherever text goes, a piece is a line:
//
//	RS "zfr " KIND " " ID " " N " " DATA " " CRC CR LF
//	RS "zfr." KIND " " ID " " N " " DATA " " LENGTH " " SUM " " CRC CR LF
//
// RS is the control character 0x1e. It may stand anywhere, even in the middle of a line of text: a
// reader that removes RS and everything up to LF gets the original text. ID numbers the records
// since boot, from 1, in the order of their first pieces, and N the record's pieces, from 0, both
// decimal. DATA are the piece's bytes in Ascii85, as in the compact form of a trace
// (tracer/wire.go), or "-" if there are none. The second form is the last piece: LENGTH is that of
// the whole record in bytes, decimal, SUM the CRC-32 of its bytes. CRC is the CRC-32 of the line
// from "zfr" up to and without the blank before CRC. Both are five digits of Ascii85. CRC-32 is
// that of traces (IEEE 802.3). A line has fewer than [MaxLine] bytes.
//
// # Frames
//
// On a port of its own, a piece is a frame of bytes; numbers are little-endian:
//
//	4 bytes  0xf5 "zfr"
//	1        1 for the last piece, otherwise 0
//	1        length of the kind
//	2        length of the data
//	4        ID
//	4        N
//	8, 4     LENGTH and SUM, in the last piece alone
//	         the kind, the data
//	4        CRC-32 of everything after the first four bytes
//
// The code here allocates nothing and calls nothing of the runtime, so it may run in every context.
//
// In the order of reading:
//
//	writer.go  the target's side
//	crc.go     the checksum
package stream
