package seal

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"golang.org/x/crypto/chacha20"
	"golang.org/x/crypto/chacha20poly1305"
)

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return b
}

// TestRFC7748 has the vectors of RFC 7748, 5.2, among them the one with a thousand iterations.
func TestRFC7748(t *testing.T) {
	for _, v := range [][3]string{
		{"a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4", "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c", "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"},
		{"4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d", "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493", "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957"},
	} {
		k, u := [32]byte(unhex(v[0])), [32]byte(unhex(v[1]))
		if got := X25519(&k, &u); hex.EncodeToString(got[:]) != v[2] {
			t.Errorf("X25519(%s, %s) = %x; want %s", v[0], v[1], got, v[2])
		}
	}
	k, u := Base, Base
	for i := range 1000 {
		k, u = X25519(&k, &u), k
		want := ""
		switch i {
		case 0:
			want = "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079"
		case 999:
			want = "684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51"
		}
		if want != "" && hex.EncodeToString(k[:]) != want {
			t.Errorf("after %d: %x; want %s", i+1, k, want)
		}
	}
}

func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestX25519 compares with crypto/ecdh, with points that are not reduced and other odd ones.
func TestX25519(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		k, p := [32]byte(random(r, 32)), [32]byte(random(r, 32))
		if i%4 == 0 { // near 2^255-19, and small
			fill := byte(0xff * (i / 4 % 2))
			for j := range p[1:] {
				p[1+j] = fill
			}
			p[31] &= 0x7f
		}
		private, err := ecdh.X25519().NewPrivateKey(k[:])
		if err != nil {
			t.Fatal(err)
		}
		if got, want := X25519(&k, &Base), private.PublicKey().Bytes(); !bytes.Equal(got[:], want) {
			t.Fatalf("the public key of %x is %x; crypto/ecdh has %x", k, got, want)
		}
		public, err := ecdh.X25519().NewPublicKey(p[:])
		if err != nil {
			t.Fatal(err)
		}
		got := X25519(&k, &p)
		want, err := private.ECDH(public)
		if err != nil { // it refuses a secret of zeros
			want = make([]byte, 32)
		}
		if !bytes.Equal(got[:], want) {
			t.Fatalf("X25519(%x, %x) = %x; crypto/ecdh has %x", k, p, got, want)
		}
	}
}

// TestSeal compares with golang.org/x/crypto, with lengths around each border.
func TestSeal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 400 {
		if n >= 200 {
			n = 1200 + n
		}
		key, with, plain := random(r, 32), random(r, n%40), random(r, n)
		if n%3 == 0 { // carries
			for i := range plain {
				plain[i] = 0xff
			}
		}
		number := r.Uint64()
		var k Key
		k.SetBytes(key)
		b := append(bytes.Clone(plain), make([]byte, TagSize)...)
		Seal(&k, b, n, with, number)
		aead, err := chacha20poly1305.New(key)
		if err != nil {
			t.Fatal(err)
		}
		nonce := make([]byte, 12)
		for i := range 8 {
			nonce[i] = byte(number >> (8 * i))
		}
		if want := aead.Seal(nil, nonce, plain, with); !bytes.Equal(b, want) {
			t.Fatalf("%d bytes sealed are\n%x; x/crypto has\n%x", n, b, want)
		}
		for _, i := range []int{0, n / 2, len(b) - 1} {
			b[i] ^= 1
			was := bytes.Clone(b)
			if Open(&k, b, with, number) || !bytes.Equal(b, was) {
				t.Fatalf("byte %d of %d changed: opened", i, len(b))
			}
			b[i] ^= 1
		}
		if Open(&k, b, with, number+1) {
			t.Fatal("opened with another number")
		}
		if !Open(&k, b, with, number) || !bytes.Equal(b[:n], plain) {
			t.Fatalf("%d bytes are not opened", n)
		}
	}
}

// TestPolyLimits has tags whose sums are next to 2^130-5, which random messages do not reach (RFC
// 8439, A.3).
func TestPolyLimits(t *testing.T) {
	for _, v := range []struct{ r, s, data, tag string }{
		{"02000000000000000000000000000000", "00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff", "03000000000000000000000000000000"},
		{"02000000000000000000000000000000", "ffffffffffffffffffffffffffffffff", "02000000000000000000000000000000", "03000000000000000000000000000000"},
		{"01000000000000000000000000000000", "00000000000000000000000000000000", "fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff11000000000000000000000000000000", "05000000000000000000000000000000"},
		{"01000000000000000000000000000000", "00000000000000000000000000000000", "fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe01010101010101010101010101010101", "00000000000000000000000000000000"},
		{"02000000000000000000000000000000", "00000000000000000000000000000000", "fdffffffffffffffffffffffffffffff", "faffffffffffffffffffffffffffffff"},
	} {
		var k [16]uint32
		for i, b := 0, unhex(v.r+v.s); i < 8; i++ {
			k[i] = word(b[4*i:])
		}
		var m mac
		m.begin(&k)
		m.add(unhex(v.data))
		got := make([]byte, 16)
		m.end(got)
		if hex.EncodeToString(got) != v.tag {
			t.Errorf("the tag of %s with r %s is %x; want %s", v.data, v.r, got, v.tag)
		}
	}
}

func TestDerive(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		key, in := random(r, 32), random(r, 16)
		var k Key
		k.SetBytes(key)
		d := Derive(&k, (*[16]byte)(in))
		got := make([]byte, 32)
		d.Bytes(got)
		if want, err := chacha20.HChaCha20(key, in); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("Derive: %x; x/crypto has %x (%v)", got, want, err)
		}
	}
}

// TestLowOrder: a receiver's key that would make the secret known to all is refused.
func TestLowOrder(t *testing.T) {
	private := [32]byte{1, 2, 3}
	for _, p := range [][32]byte{{}, {1}} {
		var s Session
		if _, ok := s.Begin(&private, &p); ok {
			t.Errorf("the key %x is taken", p)
		}
	}
}

// TestNoAllocation: the panic path has no heap.
func TestNoAllocation(t *testing.T) {
	var s Session
	private, receiver := [32]byte{1, 2, 3}, [32]byte{9}
	b := make([]byte, 1500)
	if n := testing.AllocsPerRun(3, func() {
		s.Begin(&private, &receiver)
		Seal(&s.Out, b, 1400, b[1450:], 7)
		Open(&s.Out, b[:1400+TagSize], b[1450:], 7)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSeal(b *testing.B) {
	var k Key
	p := make([]byte, 1500)
	b.SetBytes(1400)
	for i := range b.N {
		Seal(&k, p, 1400, nil, uint64(i))
	}
}

func BenchmarkX25519(b *testing.B) {
	k := [32]byte{1}
	for range b.N {
		k = X25519(&k, &Base)
	}
}
