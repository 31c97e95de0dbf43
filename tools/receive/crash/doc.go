// Package crash says what a crash of a machine is, and which crashes have the same cause.
//
// The cause is taken to be the same when the fingerprint is: a hash of the functions
// that were active, not of their addresses, so that it outlives a new build.
//
// The package may import tools/format/wire. Host.
//
// In the order of reading:
//
//	crash.go        a crash of a machine, and its stack as text
//	fingerprint.go  what is the same in the next build
package crash
