package datagram_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// all returns every datagram of a trace.
func all(p datagram.Part, trace []byte) (out [][]byte) {
	_, pieces, parity := datagram.Plan(len(trace))
	for i := range pieces + parity {
		b := make([]byte, datagram.MaxPayload)
		out = append(out, b[:datagram.Write(b, &p, trace, i)])
	}
	return out
}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

var sample = datagram.Part{Build: []byte("9c2e0e9174c1632b26f6f3e5bd4a1a0a9a4b5a05"), Boot: 0xfedcba9876543210, Seq: 7}

// TestBytes compares datagrams with the bytes that doc.go promises.
func TestBytes(t *testing.T) {
	d := all(sample, []byte("zf1 begin\r\n"))
	header := "zf1 9c2e0e9174c1632b26f6f3e5bd4a1a0a9a4b5a05 fedcba9876543210 7 0 ."
	piece := "zf1 begin\r\n"
	sum := crc32.Checksum([]byte(header+piece), crc32.MakeTable(crc32.Castagnoli))
	if want := fmt.Sprintf("%s %08x\n%s", header, sum, piece); string(d[0]) != want {
		t.Errorf("got %q; want %q", d[0], want)
	}
	if want := "zf1 9c2e0e9174c1632b26f6f3e5bd4a1a0a9a4b5a05 fedcba9876543210 7 2 x11 "; !strings.HasPrefix(string(d[3]), want) {
		t.Errorf("got %q; want it to begin with %q", d[3], want)
	}
	d = all(datagram.Part{Boot: 1, Seq: 1, Cut: true}, random(2000))
	for i, want := range []string{
		"zf1 - 0000000000000001 1 0 + ", "zf1 - 0000000000000001 1 1 + ", "zf1 - 0000000000000001 1 2 ! ",
		"zf1 - 0000000000000001 1 0 x2000! ", "zf1 - 0000000000000001 1 1 x2000! ",
	} {
		if !bytes.HasPrefix(d[i], []byte(want)) {
			t.Errorf("datagram %d is %.60q; want it to begin with %q", i, d[i], want)
		}
	}
}

func TestParseWhatWasWritten(t *testing.T) {
	for _, n := range []int{1, 2, 879, 880, 881, 1760, 1761, 4567, 20000, datagram.MaxTrace} {
		trace := random(n)
		size, pieces, parity := datagram.Plan(n)
		if pieces+parity > datagram.MaxPieces || size > datagram.MaxPiece {
			t.Fatalf("Plan(%d) = %d, %d, %d", n, size, pieces, parity)
		}
		var got []byte
		for i, b := range all(sample, trace) {
			if len(b) > datagram.MaxPayload {
				t.Fatalf("datagram %d of %d bytes has %d", i, n, len(b))
			}
			p, why := datagram.Parse(b)
			if why != datagram.None {
				t.Fatalf("datagram %d of %d bytes: %v", i, n, why)
			}
			if !bytes.Equal(p.Build, sample.Build) || p.Boot != sample.Boot || p.Seq != sample.Seq || p.Cut {
				t.Fatalf("datagram %d of %d bytes is read as %+v", i, n, p)
			}
			if i < pieces {
				if p.Parity || p.No != uint32(i) || p.Last != (i == pieces-1) {
					t.Fatalf("piece %d of %d bytes is read as %+v", i, n, p)
				}
				got = append(got, p.Chunk...)
			} else if !p.Parity || p.No != uint32(i-pieces) || int(p.Total) != n || len(p.Chunk) != size {
				t.Fatalf("parity %d of %d bytes is read as %+v", i-pieces, n, p)
			}
		}
		if !bytes.Equal(got, trace) {
			t.Fatalf("the pieces of %d bytes are not the trace", n)
		}
	}
}

// TestEnoughParity computes the chance that a trace is lost if 3 of 10 datagrams are lost.
func TestEnoughParity(t *testing.T) {
	lost, kept := big.NewRat(3, 10), big.NewRat(7, 10)
	power := func(r *big.Rat, n int) *big.Rat {
		p := big.NewRat(1, 1)
		for range n {
			p.Mul(p, r)
		}
		return p
	}
	for n := 1; n <= datagram.MaxTrace; n += 200 {
		_, pieces, parity := datagram.Plan(n)
		chance := new(big.Rat)
		for arrived := range pieces {
			c := new(big.Rat).SetInt(new(big.Int).Binomial(int64(pieces+parity), int64(arrived)))
			c.Mul(c, power(kept, arrived))
			chance.Add(chance, c.Mul(c, power(lost, pieces+parity-arrived)))
		}
		if f, _ := chance.Float64(); f > 1e-7 {
			t.Errorf("%d pieces with %d parity pieces are lost with a chance of %g; want at most 1e-7", pieces, parity, f)
		}
	}
}

func TestRejects(t *testing.T) {
	good := string(all(sample, random(3000))[0])
	header, piece, _ := strings.Cut(good, "\n")
	fields := strings.Fields(header)
	with := func(at int, field string) string {
		f := append([]string(nil), fields...)
		f[at] = field
		covered := strings.Join(f[:6], " ")
		sum := crc32.Checksum([]byte(covered+piece), crc32.MakeTable(crc32.Castagnoli))
		return fmt.Sprintf("%s %08x\n%s", covered, sum, piece)
	}
	if _, why := datagram.Parse([]byte(with(3, "7"))); why != datagram.None {
		t.Fatalf("the datagram as it was: %v", why)
	}
	for _, tt := range []struct {
		name, b string
		want    datagram.Reject
	}{
		{"nothing", "", datagram.Foreign},
		{"a log line", "hello\n", datagram.Foreign},
		{"a trace's own line", "zf1 begin 1 fault early thread=0 build=-\n", datagram.Foreign},
		{"a trace number with a zero in front", with(3, "07"), datagram.Foreign},
		{"a trace number of 33 bits", with(3, "4294967296"), datagram.Foreign},
		{"a build ID in upper case", with(1, "AB"), datagram.Foreign},
		{"half a byte of a build ID", with(1, "abc"), datagram.Foreign},
		{"a build ID of 33 bytes", with(1, strings.Repeat("ab", 33)), datagram.Foreign},
		{"a short boot number", with(2, "12345"), datagram.Foreign},
		{"another flag", with(5, "?"), datagram.Foreign},
		{"parity without a length", with(5, "x"), datagram.Foreign},
		{"two blanks", strings.Replace(good, " ", "  ", 1), datagram.Foreign},
		{"a byte more", good + "x", datagram.Damaged},
		{"a byte less", good[:len(good)-1], datagram.Damaged},
		{"more than a datagram holds", good + strings.Repeat("x", 200), datagram.Foreign},
		{"trace 0", with(3, "0"), datagram.Impossible},
		{"piece 256", with(4, "256"), datagram.Impossible},
		{"a piece beyond the longest trace", with(4, "90"), datagram.Impossible},
		{"parity of less than a piece", with(5, "x3"), datagram.Impossible},
		{"parity of more than the longest trace", with(5, "x65537"), datagram.Impossible},
	} {
		if p, why := datagram.Parse([]byte(tt.b)); why != tt.want {
			t.Errorf("%s: %v, %+v; want %v", tt.name, why, p, tt.want)
		}
	}
	for i := range good {
		b := []byte(good)
		b[i] ^= 0x10
		if _, why := datagram.Parse(b); why == datagram.None {
			t.Errorf("byte %d changed: accepted", i)
		}
	}
}

// TestField checks the arithmetic against the laws of a field.
func TestField(t *testing.T) {
	mul := datagram.Multiply
	for a := range 256 {
		for b := range 256 {
			p := mul(byte(a), byte(b))
			if p != mul(byte(b), byte(a)) {
				t.Fatalf("%d*%d != %d*%d", a, b, b, a)
			}
			for _, c := range []byte{2, 77, 255} {
				if mul(p, c) != mul(byte(a), mul(byte(b), c)) || mul(byte(a)^c, byte(b)) != p^mul(c, byte(b)) {
					t.Fatalf("%d, %d, %d: not associative or not distributive", a, b, c)
				}
			}
		}
		if a != 0 && mul(byte(a), datagram.Inverse(byte(a))) != 1 {
			t.Errorf("%d times its inverse is not 1", a)
		}
	}
	if mul(0x80, 2) != 0x1d {
		t.Errorf("0x80*2 = %#x; want 0x1d", mul(0x80, 2))
	}
	src, dst := random(256), random(300)
	want := bytes.Clone(dst)
	for i, v := range src {
		want[i] ^= mul(v, 0xa7)
	}
	datagram.AddMultiple(dst, src, 0xa7)
	if !bytes.Equal(dst, want) {
		t.Error("AddMultiple and Multiply differ")
	}
}

// FuzzParse: Write would have written each datagram that is accepted.
func FuzzParse(f *testing.F) {
	for _, n := range []int{1, 900, 5000} {
		for _, b := range all(sample, random(n))[:3] {
			f.Add(b)
		}
	}
	d := all(datagram.Part{Boot: 1, Seq: 1<<32 - 1, Cut: true}, random(1800))
	f.Add(d[2])
	f.Add(d[4])
	f.Add([]byte("zf1 begin 1 fault early thread=0 build=-\n"))
	f.Add([]byte("zf1 - 0000000000000000 0 0 . 00000000\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, why := datagram.Parse(b)
		if why != datagram.None {
			if p.Chunk != nil || p.Boot != 0 {
				t.Errorf("rejected as %v, with %+v", why, p)
			}
			return
		}
		flag := "+"
		switch {
		case p.Parity:
			flag = fmt.Sprintf("x%d", p.Total)
			if p.Cut {
				flag += "!"
			}
		case p.Cut:
			flag = "!"
		case p.Last:
			flag = "."
		}
		build := string(p.Build)
		if build == "" {
			build = "-"
		}
		header := fmt.Sprintf("zf1 %s %016x %d %d %s", build, p.Boot, p.Seq, p.No, flag)
		sum := crc32.Checksum(append([]byte(header), p.Chunk...), crc32.MakeTable(crc32.Castagnoli))
		if again := fmt.Sprintf("%s %08x\n%s", header, sum, p.Chunk); again != string(b) {
			t.Errorf("%q is read as %+v, which is written %q", b, p, again)
		}
	})
}
