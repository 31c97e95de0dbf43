package clock

import (
	"math/big"
	"math/rand"
	"testing"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// exactly returns v*num/den, rounded down, by big numbers.
func exactly(v, num, den uint64) *big.Int {
	b := new(big.Int).SetUint64(v)
	b.Mul(b, new(big.Int).SetUint64(num))
	return b.Div(b, new(big.Int).SetUint64(den))
}

var frequencies = []uint64{leastHz, 24_000_000, 999_999_999, 1_000_000_000, 1_000_000_001, 1_193_182_000, 2_596_153_633, 1 << 32, mostHz}

// TestScale compares with big numbers: never above, at most 1 below, and never
// going back.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, hz := range frequencies {
		for _, f := range [][2]uint64{{second, hz}, {hz, second}, {amd64.PITHz, hz}} {
			s := ratio(f[0], f[1])
			last, lastV := uint64(0), uint64(0)
			check := func(v uint64) {
				want := exactly(v, f[0], f[1])
				got := s.of(v)
				below := new(big.Int).Sub(want, new(big.Int).SetUint64(got))
				if below.Sign() < 0 || below.Cmp(big.NewInt(1)) > 0 {
					t.Fatalf("%d * %d / %d = %d; want %d or one less", v, f[0], f[1], got, want)
				}
				if v >= lastV && got < last {
					t.Fatalf("%d after %d goes back from %d to %d", v, lastV, last, got)
				}
				last, lastV = got, v
			}
			// 2^57 ticks are 83 days at 20 GHz; the product fits for all.
			for v := uint64(0); v < 10_000; v++ {
				check(v)
			}
			for i := 0; i < 10_000; i++ {
				v := r.Uint64() >> (7 + r.Intn(50))
				check(v)
				check(v + 1)
			}
		}
	}
}

// TestSameUnit: at 1 GHz, a tick is a nanosecond, exactly.
func TestSameUnit(t *testing.T) {
	s := ratio(second, 1_000_000_000)
	for _, v := range []uint64{0, 1, 1 << 32, 1<<63 + 12345, 1<<64 - 1} {
		if got := s.of(v); got != v {
			t.Errorf("%d ticks at 1 GHz are %d ns", v, got)
		}
	}
}

// TestNotEarly: after the ticks of a shot, by an exact clock, the deadline has come;
// and not more than three ticks late.
func TestNotEarly(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for _, hz := range frequencies {
		nanos, ticks := ratio(second, hz), ratio(hz, second)
		for i := 0; i < 20_000; i++ {
			tsc := r.Uint64() >> (7 + r.Intn(50))
			now := nanos.of(tsc)
			deadline := now + uint64(r.Int63())>>(22+r.Intn(40))
			n := shotTicks(ticks, untilAt(deadline, now), 1<<63)
			if got := nanos.of(tsc + n); got < deadline && deadline-now <= longest {
				t.Fatalf("%d Hz: at %d for %d, a shot of %d ticks ends at %d", hz, tsc, deadline, n, got)
			}
			if n > 3 && deadline-now <= longest && nanos.of(tsc+n-4) > deadline {
				t.Fatalf("%d Hz: at %d for %d, a shot of %d ticks is late", hz, tsc, deadline, n)
			}
		}
	}
}

func TestShotTicks(t *testing.T) {
	s := ratio(1_000_000_000, second)
	for _, tt := range []struct{ deadline, now, max, want uint64 }{
		{0, 0, 100, 1},
		{5, 10, 100, 1},
		{Never - 1, 0, 1<<32 - 1, 1<<32 - 1},
		{Never - 1, 0, 1 << 63, longest + 2},
		{1000, 0, 65535, 1002},
	} {
		if got := shotTicks(s, untilAt(tt.deadline, tt.now), tt.max); got != tt.want {
			t.Errorf("ticks to %d from %d, at most %d = %d; want %d", tt.deadline, tt.now, tt.max, got, tt.want)
		}
	}
}

// points makes the three points of a machine whose TSC runs at tscHz, whose APIC
// timer at apicHz, with a PIT.
func points(tscHz, apicHz uint64, at [3]uint64) (p [3]point) {
	for i, ns := range at {
		tsc := exactly(ns, tscHz, second).Uint64()
		pit := exactly(ns, amd64.PITHz, second).Uint64()
		apic := exactly(ns, apicHz, second).Uint64()
		p[i] = point{
			pit:  reading{tsc, 2000, uint32(uint16(0 - pit))},
			apic: reading{tsc + 100, 500, 1<<32 - 1 - uint32(apic)},
		}
	}
	return p
}

// TestJudge: which reference is believed, and how near the result is.
func TestJudge(t *testing.T) {
	const tsc, apic = 2_596_153_633, 1_000_000_000
	p := points(tsc, apic, [3]uint64{1_000_000, 6_000_000, 11_000_000})
	const all = 1
	for _, tt := range []struct {
		name   string
		m      machine
		apicHz uint64
		ref    reference
		want   uint64
	}{
		{"all of QEMU", machine{apic: all, pit: true, hyper: amd64.HypervisorQEMU}, apic, refPITAndAPIC, tsc},
		{"PIT alone", machine{pit: true}, 0, refPIT, tsc},
		{"real hardware", machine{apic: all, pit: true}, apic, refPIT, tsc},
		{"microvm without a PIT", machine{apic: all, hyper: amd64.HypervisorKVM}, apic, refAPIC, tsc},
		{"nothing", machine{}, 0, refNone, assumedHz},
		{"an APIC of unknown rate", machine{apic: all}, 385184000, refNone, assumedHz},
		{"CPUID", machine{apic: all, pit: true, known: 2_600_000_000}, apic, refCPUID, 2_600_000_000},
		{"CPUID without a PIT", machine{apic: all, known: 2_600_000_000}, apic, refCPUID, 2_600_000_000},
		{"CPUID that is wrong", machine{apic: all, pit: true, known: 2_000_000_000}, apic, refPIT, tsc},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ref := refNone
			if tt.m.known != 0 {
				ref = refCPUID
			}
			got, apicHz, ref := tt.m.judge(p[0], p[2], ref)
			if ref != tt.ref || distance(tt.want, got) > tt.want/2000 {
				t.Errorf("TSC at %d Hz by reference %d; want %d by %d", got, ref, tt.want, tt.ref)
			}
			if distance(tt.apicHz, apicHz) > tt.apicHz/400 {
				t.Errorf("the APIC's timer at %d Hz; want %d", apicHz, tt.apicHz)
			}
		})
	}
}

// TestAgree: windows in which something went wrong are not believed.
func TestAgree(t *testing.T) {
	const tsc, apic = 2_596_153_633, 1_000_000_000
	both := machine{apic: 1, pit: true, hyper: amd64.HypervisorQEMU}
	pit := machine{pit: true}
	for _, tt := range []struct {
		name string
		m    machine
		at   [3]uint64
		bad  func(*[3]point)
		want bool
	}{
		{"undisturbed", both, [3]uint64{0, 5_000_000, 10_000_000}, nil, true},
		{"a short window", both, [3]uint64{0, 250_000, 500_000}, nil, true},
		{"unequal halves", both, [3]uint64{0, 5_000_000, 30_000_000}, nil, true},
		{"the PIT has wrapped unseen", pit, [3]uint64{0, 65_000_000, 70_000_000}, nil, false},
		{"the same with the APIC", both, [3]uint64{0, 5_000_000, 80_000_000}, nil, false},
		{"the APIC's timer has run out", both, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) { p[2].apic.count = 0 }, false},
		{"the PIT stands still", pit, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) { p[1].pit.count, p[2].pit.count = 0, 0 }, false},
		{"a reading taken apart by 1 ms", pit, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) { p[1].pit.tsc += 2_596_153 }, false},
	} {
		p := points(tsc, apic, tt.at)
		if tt.bad != nil {
			tt.bad(&p)
		}
		if got := tt.m.agree(p[0], p[1], p[2]); got != tt.want {
			t.Errorf("%s: agree = %v; want %v", tt.name, got, tt.want)
		}
	}
}
