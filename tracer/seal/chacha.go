package seal

// ChaCha20. The state is sixteen words: four constants, the key, a counter, the nonce.

// A Key is a key of 32 bytes, as words.
type Key [8]uint32

// SetBytes makes k the key in b, which has 32 bytes.
func (k *Key) SetBytes(b []byte) {
	for i := range k {
		k[i] = word(b[4*i:])
	}
}

// Bytes writes the 32 bytes of the key to b.
func (k *Key) Bytes(b []byte) {
	for i, v := range k {
		putWord(b[4*i:], v)
	}
}

func word(b []byte) uint32 {
	_ = b[3]
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

func putWord(b []byte, v uint32) {
	_ = b[3]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
}

// begin returns the initial state: "expand 32-byte k", the key, and the arguments.
func begin(k *Key, c, n0, n1, n2 uint32) [16]uint32 {
	return [16]uint32{
		0x61707865, 0x3320646e, 0x79622d32, 0x6b206574,
		k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7],
		c, n0, n1, n2,
	}
}

// rounds does the twenty rounds.
func rounds(s *[16]uint32) {
	for range 10 {
		quarter(s, 0, 4, 8, 12)
		quarter(s, 1, 5, 9, 13)
		quarter(s, 2, 6, 10, 14)
		quarter(s, 3, 7, 11, 15)
		quarter(s, 0, 5, 10, 15)
		quarter(s, 1, 6, 11, 12)
		quarter(s, 2, 7, 8, 13)
		quarter(s, 3, 4, 9, 14)
	}
}

func quarter(s *[16]uint32, a, b, c, d int) {
	w, x, y, z := s[a], s[b], s[c], s[d]
	w += x
	z ^= w
	z = z<<16 | z>>16
	y += z
	x ^= y
	x = x<<12 | x>>20
	w += x
	z ^= w
	z = z<<8 | z>>24
	y += z
	x ^= y
	x = x<<7 | x>>25
	s[a], s[b], s[c], s[d] = w, x, y, z
}

// block is the block function of ChaCha20: 16 words of the key stream.
func block(k *Key, counter uint32, n *[3]uint32, out *[16]uint32) {
	first := begin(k, counter, n[0], n[1], n[2])
	*out = first
	rounds(out)
	for i := range out {
		out[i] += first[i]
	}
}

// xor encrypts or decrypts b in place, from block number counter on.
func xor(k *Key, counter uint32, n *[3]uint32, b []byte) {
	var stream [16]uint32
	for ; len(b) > 0; counter++ {
		block(k, counter, n, &stream)
		if len(b) >= 64 {
			for i, v := range stream {
				putWord(b[4*i:], word(b[4*i:])^v)
			}
			b = b[64:]
			continue
		}
		for i := range b {
			b[i] ^= byte(stream[i/4&15] >> (8 * uint(i%4)))
		}
		return
	}
}

// Derive is HChaCha20: it derives a key from a key and 16 bytes.
func Derive(k *Key, in *[16]byte) (out Key) {
	s := begin(k, word(in[0:]), word(in[4:]), word(in[8:]), word(in[12:]))
	rounds(&s)
	for i := range 4 {
		out[i], out[4+i] = s[i], s[12+i]
	}
	return out
}
