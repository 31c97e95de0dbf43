package pc

import (
	"math/big"
	"testing"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// exactly returns v*num/den, rounded down, by big numbers.
func exactly(v, num, den uint64) *big.Int {
	b := new(big.Int).SetUint64(v)
	b.Mul(b, new(big.Int).SetUint64(num))
	return b.Div(b, new(big.Int).SetUint64(den))
}

// points makes the three points of a machine whose TSC runs at tscHz, whose APIC
// timer at apicHz, with a PIT.
func points(tscHz, apicHz uint64, at [3]uint64) (p [3]point) {
	for i, ns := range at {
		tsc := exactly(ns, tscHz, second).Uint64()
		pit := exactly(ns, pitHz, second).Uint64()
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
	for i, tt := range []struct {
		name   string
		m      machine
		apicHz uint64
		ref    reference
		want   uint64
	}{
		{"no halves that agree", machine{apic: true, pit: true, hyper: amd64.HypervisorQEMU}, apic, refAPIC, tsc},
		{"all of QEMU", machine{apic: true, pit: true, hyper: amd64.HypervisorQEMU}, apic, refPITAndAPIC, tsc},
		{"PIT alone", machine{pit: true}, 0, refPIT, tsc},
		{"real hardware", machine{apic: true, pit: true}, apic, refPIT, tsc},
		{"microvm without a PIT", machine{apic: true, hyper: amd64.HypervisorKVM}, apic, refAPIC, tsc},
		{"nothing", machine{}, 0, refNone, assumedHz},
		{"an APIC of unknown rate", machine{apic: true}, 385184000, refNone, assumedHz},
		{"CPUID", machine{apic: true, pit: true, known: 2_600_000_000}, apic, refCPUID, 2_600_000_000},
		{"CPUID without a PIT", machine{apic: true, known: 2_600_000_000}, apic, refCPUID, 2_600_000_000},
		{"CPUID that is wrong", machine{apic: true, pit: true, known: 2_000_000_000}, apic, refPIT, tsc},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ref := refNone
			if tt.m.known != 0 {
				ref = refCPUID
			}
			c, agreed := p[2], i > 0
			if !agreed { // the PIT has wrapped
				c.pit.count += 40_000
			}
			got, apicHz, ref := tt.m.judge(p[0], c, agreed, ref)
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
	both := machine{apic: true, pit: true, hyper: amd64.HypervisorQEMU}
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
