// Crashlab is a kernel that dies in every way a kernel can die, on request:
//
//	zf run -append crash=early.nil-write ./kernel/crashlab
//
// Each kind runs through at least three functions of its own, none of them
// inlined, so that the chain of functions in its trace is known beforehand. The
// prefix of a kind is the context it dies in. An unknown kind lists the kinds.
package main
