package seal

// X25519: the Montgomery ladder of RFC 7748 on Curve25519. Numbers modulo 2^255-19 are sixteen
// limbs of 16 bits, with room for sums and products in 64 bits.

type number [16]int64

// PointSize is the length of a private or public key in bytes.
const PointSize = 32

// Base is the base point: its multiple by a private key is the public key. Never written.
var Base = [PointSize]byte{9}

// X25519 returns the multiple of a point by a private key: for [Base] the public key, and for
// another's public key the shared secret.
func X25519(private, point *[PointSize]byte) (out [PointSize]byte) {
	k := *private
	k[0] &= 248
	k[31] = k[31]&127 | 64
	var x1, x2, z2, x3, z3 number
	for i := range x1 {
		x1[i] = int64(point[2*i]) | int64(point[2*i+1])<<8
	}
	x1[15] &= 0x7fff
	x2[0], x3, z3[0] = 1, x1, 1
	swap := int64(0)
	var a, b, c, d, e number
	for t := 254; t >= 0; t-- {
		bit := int64(k[t/8] >> (uint(t) % 8) & 1)
		swap ^= bit
		exchange(&x2, &x3, swap)
		exchange(&z2, &z3, swap)
		swap = bit
		sum(&a, &x2, &z2)        // A
		difference(&b, &x2, &z2) // B
		sum(&c, &x3, &z3)        // C
		difference(&d, &x3, &z3) // D
		product(&d, &d, &a)      // DA
		product(&c, &c, &b)      // CB
		sum(&x3, &d, &c)
		product(&x3, &x3, &x3)
		difference(&z3, &d, &c)
		product(&z3, &z3, &z3)
		product(&z3, &z3, &x1)
		product(&a, &a, &a) // AA
		product(&b, &b, &b) // BB
		product(&x2, &a, &b)
		difference(&e, &a, &b) // E
		for i := range d {
			d[i] = 121665 * e[i]
		}
		carry(&d)
		sum(&d, &d, &a)
		product(&z2, &e, &d)
	}
	exchange(&x2, &x3, swap)
	exchange(&z2, &z3, swap)
	invert(&z2)
	product(&x2, &x2, &z2)
	reduce(&x2, &out)
	return out
}

// exchange swaps a and b if bit is 1.
func exchange(a, b *number, bit int64) {
	mask := -bit
	for i := range a {
		t := mask & (a[i] ^ b[i])
		a[i] ^= t
		b[i] ^= t
	}
}

func sum(out, a, b *number) {
	for i := range out {
		out[i] = a[i] + b[i]
	}
}

func difference(out, a, b *number) {
	for i := range out {
		out[i] = a[i] - b[i]
	}
}

// product multiplies. Bits above 2^256 come back times 38.
func product(out, a, b *number) {
	var t [31]int64
	for i, v := range a {
		for j, w := range b {
			t[i+j] += v * w
		}
	}
	for i := range 15 {
		out[i] = t[i] + 38*t[i+16]
	}
	out[15] = t[15]
	carry(out)
	carry(out)
}

// carry brings each limb to 16 bits, approximately.
func carry(a *number) {
	for i := range 15 {
		a[i+1] += a[i] >> 16
		a[i] &= 0xffff
	}
	a[0] += 38 * (a[15] >> 16)
	a[15] &= 0xffff
}

// invert replaces a by 1/a: its power by 2^255-21.
func invert(a *number) {
	t := *a
	for i := 253; i >= 0; i-- {
		product(&t, &t, &t)
		if i != 2 && i != 4 { // the bits of 2^255-21 that are 0
			product(&t, &t, a)
		}
	}
	*a = t
}

// reduce writes a as the equal number below 2^255-19.
func reduce(a *number, out *[PointSize]byte) {
	for range 3 {
		carry(a)
	}
	var m number
	for range 2 {
		// m = a - (2^255-19), which replaces a if it is not negative.
		m[0] = a[0] - 0xffed
		for i := 1; i < 16; i++ {
			top := int64(0xffff)
			if i == 15 {
				top = 0x7fff
			}
			m[i] = a[i] - top + m[i-1]>>16
			m[i-1] &= 0xffff
		}
		negative := m[15] >> 16 & 1
		m[15] &= 0xffff
		exchange(a, &m, 1-negative)
	}
	for i := range a {
		out[2*i], out[2*i+1] = byte(a[i]), byte(a[i]>>8)
	}
}
