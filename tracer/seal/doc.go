// Package seal encrypts what a dying machine sends, for one receiver. The machine only has to know
// the receiver's public key: it makes a key pair for the occasion, X25519 yields a shared secret,
// and ChaCha20-Poly1305 encrypts and authenticates each packet.
//
//	chacha.go    ChaCha20 and HChaCha20 (RFC 8439, 2.3; draft-irtf-cfrg-xchacha, 2.2)
//	poly.go      Poly1305 (RFC 8439, 2.5)
//	seal.go      both together (RFC 8439, 2.8), in place
//	x25519.go    X25519 (RFC 7748, 5)
//	session.go   the keys of the two directions, from the shared secret
//
// It is for code that may call nothing of the Go runtime and import no other package: it allocates
// nothing, and all state is the caller's. Its running time does not depend on secrets. It does not
// clear memory, since the memory is what it encrypts. A message number must never come again with
// the same key. The host and the tests use Go's own packages, an independent implementation. Any
// context.
package seal
