package seal

// Poly1305: the message is a number with digits of 16 bytes, evaluated modulo 2^130-5 in five limbs
// of 26 bits.

// A mac is an unfinished sum. Each part of its input is padded to 16 bytes, as the construction
// with ChaCha20 requires.
type mac struct {
	r, h [5]uint64
	pad  [4]uint32
}

const limb = 1<<26 - 1

// begin starts a sum with a key of 32 bytes, as words.
func (m *mac) begin(k *[16]uint32) {
	r0, r1, r2, r3 := uint64(k[0]&0x0fffffff), uint64(k[1]&0x0ffffffc), uint64(k[2]&0x0ffffffc),
		uint64(k[3]&0x0ffffffc)
	m.r = [5]uint64{r0 & limb, (r0>>26 | r1<<6) & limb, (r1>>20 | r2<<12) & limb,
		(r2>>14 | r3<<18) & limb, r3 >> 8}
	m.h = [5]uint64{}
	m.pad = [4]uint32{k[4], k[5], k[6], k[7]}
}

// add adds b, padded with zeros to a multiple of 16 bytes.
func (m *mac) add(b []byte) {
	var last [16]byte
	for len(b) > 0 {
		if len(b) < 16 {
			for i := 0; i < len(b) && i < len(last); i++ { // by hand: a copy is a call of the runtime
				last[i] = b[i]
			}
			b = last[:]
		}
		m.block(word(b), word(b[4:]), word(b[8:]), word(b[12:]))
		b = b[16:]
	}
}

// block adds 16 bytes.
func (m *mac) block(w0, w1, w2, w3 uint32) {
	a0, a1, a2, a3 := uint64(w0), uint64(w1), uint64(w2), uint64(w3)
	h, r := &m.h, &m.r
	h0 := h[0] + a0&limb
	h1 := h[1] + (a0>>26|a1<<6)&limb
	h2 := h[2] + (a1>>20|a2<<12)&limb
	h3 := h[3] + (a2>>14|a3<<18)&limb
	h4 := h[4] + (a3>>8 | 1<<24)
	// Bits above 2^130 come back times five.
	s1, s2, s3, s4 := 5*r[1], 5*r[2], 5*r[3], 5*r[4]
	d0 := h0*r[0] + h1*s4 + h2*s3 + h3*s2 + h4*s1
	d1 := h0*r[1] + h1*r[0] + h2*s4 + h3*s3 + h4*s2
	d2 := h0*r[2] + h1*r[1] + h2*r[0] + h3*s4 + h4*s3
	d3 := h0*r[3] + h1*r[2] + h2*r[1] + h3*r[0] + h4*s4
	d4 := h0*r[4] + h1*r[3] + h2*r[2] + h3*r[1] + h4*r[0]
	d1 += d0 >> 26
	d2 += d1 >> 26
	d3 += d2 >> 26
	d4 += d3 >> 26
	d0 = d0&limb + 5*(d4>>26)
	h[0] = d0 & limb
	h[1] = d1&limb + d0>>26
	h[2], h[3], h[4] = d2&limb, d3&limb, d4&limb
}

// end writes the tag, 16 bytes, to b.
func (m *mac) end(b []byte) {
	h := &m.h
	for range 2 { // until all limbs have 26 bits
		for i := range 4 {
			h[i+1] += h[i] >> 26
			h[i] &= limb
		}
		h[0] += 5 * (h[4] >> 26)
		h[4] &= limb
	}
	h[1] += h[0] >> 26
	h[0] &= limb
	// h-p, if that is not negative.
	var g [5]uint64
	c := uint64(5)
	for i := range g {
		c += h[i]
		g[i] = c & limb
		c >>= 26
	}
	keep := c - 1 // all ones if h < p
	for i := range h {
		h[i] = h[i]&keep | g[i]&^keep
	}
	w := [4]uint64{h[0] | h[1]<<26, h[1]>>6 | h[2]<<20, h[2]>>12 | h[3]<<14, h[3]>>18 | h[4]<<8}
	c = 0
	for i := range w {
		c += w[i]&0xffffffff + uint64(m.pad[i])
		putWord(b[4*i:], uint32(c))
		c >>= 32
	}
}
