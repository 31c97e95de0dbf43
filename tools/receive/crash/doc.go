// Package crash groups crashes that have the same cause, and keeps the groups over
// restarts of the receiver.
//
// The cause is taken to be the same when the fingerprint is: a hash of the functions
// that were active, not of their addresses, so that it outlives a new build
// (fingerprint.go). The groups are in one file, a bbolt database (store.go), together
// with the crashes that are still to be exported: a crash is counted and put there in
// one transaction, so that none is exported twice or not at all.
//
// The package may import tools/trace. Host.
//
// In the order of reading:
//
//	crash.go        a crash of a machine
//	stack.go        its stack as text
//	fingerprint.go  what is the same in the next build
//	store.go        the groups, on disk
package crash
