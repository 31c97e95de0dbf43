// Package seal encrypts what a dying machine sends, for one receiver, whose public key is all that the
// machine has to know: a key pair is made for the occasion, X25519 makes a shared secret of it, and
// ChaCha20-Poly1305 encrypts and authenticates each packet.
//
//	chacha.go    ChaCha20 and HChaCha20 (RFC 8439, 2.3; draft-irtf-cfrg-xchacha, 2.2)
//	poly.go      Poly1305 (RFC 8439, 2.5)
//	seal.go      both together (RFC 8439, 2.8), in place
//	x25519.go    X25519 (RFC 7748, 5)
//	session.go   the keys of the two directions, from the shared secret
//
// It is for code that may call nothing of the Go runtime and import no other package: no allocation, all
// state is the caller's. Its running time does not depend on secrets, but memory is not cleared: what it
// encrypts is the memory. It is not for more than 4 GiB of packets a key of which the numbers would come
// again. The host, and the tests, use Go's own packages, which are another implementation. Any context.
package seal
