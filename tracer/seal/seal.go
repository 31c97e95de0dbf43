package seal

// TagSize is the number of bytes that sealing adds to a message.
const TagSize = 16

// Seal encrypts the first n bytes of b in place and appends the tag. with is authenticated, too. A
// number must not be used twice with the same key.
func Seal(k *Key, b []byte, n int, with []byte, number uint64) {
	nonce := [3]uint32{uint32(number), uint32(number >> 32), 0}
	xor(k, 1, &nonce, b[:n])
	tag(k, b[:n], with, &nonce, b[n:n+TagSize])
}

// Open decrypts in place what [Seal] produced, and checks the tag at its end. If it returns false,
// b is unchanged.
func Open(k *Key, b []byte, with []byte, number uint64) bool {
	n := len(b) - TagSize
	if n < 0 {
		return false
	}
	nonce := [3]uint32{uint32(number), uint32(number >> 32), 0}
	var want [TagSize]byte
	tag(k, b[:n], with, &nonce, want[:])
	differ := byte(0)
	for i, v := range want {
		differ |= v ^ b[n+i]
	}
	if differ != 0 {
		return false
	}
	xor(k, 1, &nonce, b[:n])
	return true
}

// tag writes the tag of an encrypted message to out.
func tag(k *Key, b, with []byte, nonce *[3]uint32, out []byte) {
	var key [16]uint32
	block(k, 0, nonce, &key)
	var m mac
	m.begin(&key)
	m.add(with)
	m.add(b)
	m.block(uint32(len(with)), 0, uint32(len(b)), 0)
	m.end(out)
}
