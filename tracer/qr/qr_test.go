package qr_test

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/encoder"
	"github.com/zeroframe/zeroframe/tracer/qr"
)

// digits returns the digits that a reader must find, computed with big numbers.
func digits(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		n := min(len(b), 7)
		fmt.Fprintf(&s, "%0*s", []int{0, 3, 5, 8, 10, 13, 15, 17}[n], new(big.Int).SetBytes(b[:n]))
		b = b[n:]
	}
	return s.String()
}

// bits returns the modules of a code in the decoder's form.
func bits(t *testing.T, c *qr.Code) *gozxing.BitMatrix {
	t.Helper()
	m, err := gozxing.NewSquareBitMatrix(c.Size())
	if err != nil {
		t.Fatal(err)
	}
	for y := range c.Size() {
		for x := range c.Size() {
			if c.Dark(x, y) {
				m.Set(x, y)
			}
		}
	}
	return m
}

var code qr.Code

// TestEncode: another implementation decodes what was encoded, in each version and level, full and
// not, even with as many wrong words as the level allows. Its encoder makes the same code with the
// chosen mask, and its penalties show that this mask is the best.
func TestEncode(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for version := 1; version <= qr.MaxVersion; version++ {
		for level := qr.L; level <= qr.H; level++ {
			room := qr.Capacity(version, level)
			for _, n := range []int{room, room - 1, r.IntN(room + 1)} {
				b := make([]byte, n)
				for i := range b {
					b[i] = byte(r.Uint32())
				}
				k := min(n, 7)
				if !code.Encode(version, level, b[:k], b[k:]) {
					t.Fatalf("version %d-%d does not take %d bytes", version, level, n)
				}
				m := bits(t, &code)
				got, err := decoder.NewDecoder().Decode(m, nil)
				if err != nil || got.GetText() != digits(b) {
					t.Fatalf("version %d-%d, %d bytes: read %v, %v; want %s", version, level, n, got, err, digits(b))
				}
			}
			if code.Encode(version, level, nil, make([]byte, room+1)) {
				t.Errorf("version %d-%d takes %d bytes", version, level, room+1)
			}
		}
	}
}

// TestMask compares with another implementation's encoder: the code is the same, and by the
// standard's penalties no mask is better.
func TestMask(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	levels := []decoder.ErrorCorrectionLevel{decoder.ErrorCorrectionLevel_L, decoder.ErrorCorrectionLevel_M, decoder.ErrorCorrectionLevel_Q, decoder.ErrorCorrectionLevel_H}
	for range 60 {
		version, level := 1+r.IntN(qr.MaxVersion), qr.Level(r.IntN(4))
		b := make([]byte, 1+r.IntN(qr.Capacity(version, level)))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		code.Encode(version, level, nil, b)
		var masks [8]int
		best, same := 1<<30, false
		for m := range 8 {
			want, err := encoder.Encoder_encode(digits(b), levels[level], map[gozxing.EncodeHintType]any{
				gozxing.EncodeHintType_QR_VERSION: version, gozxing.EncodeHintType_QR_MASK_PATTERN: m})
			if err != nil {
				t.Fatal(err)
			}
			w := want.GetMatrix()
			masks[m] = encoder.MaskUtil_applyMaskPenaltyRule1(w) + encoder.MaskUtil_applyMaskPenaltyRule2(w) +
				encoder.MaskUtil_applyMaskPenaltyRule3(w) + encoder.MaskUtil_applyMaskPenaltyRule4(w)
			best = min(best, masks[m])
			if m == int(code.Mask) {
				same = true
				for y := range code.Size() {
					for x := range code.Size() {
						same = same && code.Dark(x, y) == (w.Get(x, y) == 1)
					}
				}
			}
		}
		if !same {
			t.Errorf("version %d-%d, %d bytes, mask %d: another encoder makes another code", version, level, len(b), code.Mask)
		}
		if masks[code.Mask] != best {
			t.Errorf("version %d-%d, %d bytes: mask %d was chosen, of the penalties %d", version, level, len(b), code.Mask, masks)
		}
	}
}

// TestPlan: the parts of a trace make up the whole trace, with no more codes than needed.
func TestPlan(t *testing.T) {
	for size := 0; size < 200; size++ {
		for _, n := range []int{0, 1, 7, 100, 1000, 5000, 20000} {
			p := qr.PlanFor(n, size)
			if p.Parts == 0 {
				if n > 0 && size >= 21 && n < 255*(qr.Capacity(qr.Version(size), qr.L)-7) && qr.Capacity(qr.Version(size), qr.L) > 7 {
					t.Errorf("no codes for %d bytes in %d modules", n, size)
				}
				continue
			}
			if qr.Size(p.Version) > size || p.Parts*p.Bytes < n || (p.Parts-1)*p.Bytes >= n || p.Parts > qr.MaxParts {
				t.Errorf("%d bytes in %d modules: %+v", n, size, p)
			}
		}
	}
	trace := bytes.Repeat([]byte("0123456789"), 50)
	p := qr.PlanFor(len(trace), 45)
	var all []byte
	for i := range p.Parts {
		if !code.Part(p, i, trace, qr.Sum(trace)) {
			t.Fatalf("part %d of %+v does not fit", i, p)
		}
		got, err := decoder.NewDecoder().Decode(bits(t, &code), nil)
		if err != nil {
			t.Fatal(err)
		}
		want := append([]byte{'Z', byte(p.Parts), byte(i), 0, 0, 0, 0}, trace[i*p.Bytes:min((i+1)*p.Bytes, len(trace))]...)
		crc := qr.Sum(trace)
		want[3], want[4], want[5], want[6] = byte(crc>>24), byte(crc>>16), byte(crc>>8), byte(crc)
		if got.GetText() != digits(want) {
			t.Errorf("part %d is %s; want %s", i, got.GetText(), digits(want))
		}
		all = append(all, want[7:]...)
	}
	if !bytes.Equal(all, trace) {
		t.Error("the parts are not the trace")
	}
}

func TestNoAllocation(t *testing.T) {
	b := make([]byte, 1000)
	if n := testing.AllocsPerRun(3, func() { code.Encode(40, qr.L, nil, b) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, v := range []int{7, 20, 40} {
		data := make([]byte, qr.Capacity(v, qr.L))
		b.Run(fmt.Sprint(v), func(b *testing.B) {
			for b.Loop() {
				code.Encode(v, qr.L, nil, data)
			}
		})
	}
}
