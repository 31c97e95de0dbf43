// Package qr encodes bytes as QR codes (ISO/IEC 18004), and cuts a trace into the codes that show
// it on a screen. The panic path runs it: it allocates nothing, takes no lock, calls nothing of the
// Go runtime, and imports only package tracer. All its memory is a [Code].
//
// Any context. In the order of reading:
//
//	part.go     what a code of a trace contains; how a trace is cut into codes
//	table.go    the standard's numbers for each version: sizes, error correction
//	encode.go   from bytes to codewords: digits, and error correction
//	matrix.go   the modules: patterns, and where the codewords go
//	mask.go     which mask, by the standard's rules
package qr
