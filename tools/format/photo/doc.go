// Package photo reads the codes that a crash shows on a screen (package qr says what is in
// them) from photos, and puts the traces together that they are parts of.
//
// It imports tracer/qr, and gozxing, which finds and decodes QR codes in black and white; what
// makes black and white of a photo is here. Context: the host.
//
// In the order of reading:
//
//	set.go      parts of traces -> traces, as the lines of the compact form
//	part.go     what a code has in it
//	read.go     a photo -> what its code has in it
//	find.go     where the code is in a photo
//	grid.go     where its modules are
//	gray.go     a photo in gray: smaller, smoother
//	binary.go   black and white, in several ways
//	files.go    files and folders of photos
//	worsen/     bad photos, for tests
package photo
