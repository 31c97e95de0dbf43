package pc

import (
	"encoding/binary"
	"math/big"
	"runtime"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// exactly returns v*num/den, rounded down, computed with big numbers.
func exactly(v, num, den uint64) *big.Int {
	b := new(big.Int).SetUint64(v)
	b.Mul(b, new(big.Int).SetUint64(num))
	return b.Div(b, new(big.Int).SetUint64(den))
}

// rates holds the real frequencies of a machine's counters in Hz; 0 means that the counter is
// missing.
type rates map[reference]uint64

// points makes three points of a machine. Counters begin near their wraps.
func points(tscHz uint64, real rates, at [3]uint64) (p [3]point) {
	for i, ns := range at {
		for r, hz := range real {
			n := uint32(exactly(ns, hz, second).Uint64())
			if r != refAPIC { // which starts at its beginning
				n -= 1000
			}
			p[i][r] = reading{exactly(ns, tscHz, second).Uint64() + 100*uint64(r), 500, n}
		}
	}
	return p
}

// with returns a machine that has these counters and assumes these frequencies.
func with(believed rates) (m machine) {
	for r, hz := range believed {
		m.hz[r], m.counts[r] = hz, refs[r].mask != 0
	}
	return m
}

const tscHz = 2_596_153_633

// TestJudge: which reference is believed, how exact the result is, and what is reported about the
// others.
func TestJudge(t *testing.T) {
	const hz, hpetHz, stated = 1_000_000_000, 14_318_179, 2_600_000_000
	for _, tt := range []struct {
		name     string
		believed rates
		real     rates // if it differs
		even     []reference
		ref      reference
		want     uint64
		others   map[reference]verdict
	}{
		{name: "all of QEMU", believed: rates{refAPIC: hz, refHPET: hz / 10, refPM: pmHz, refPIT: pitHz}, ref: refAPIC,
			others: map[reference]verdict{refHPET: agrees, refPM: agrees, refPIT: agrees}},
		{name: "real hardware", believed: rates{refAPIC: 0, refHPET: hpetHz, refPM: pmHz, refPIT: pitHz}, ref: refHPET},
		{name: "no HPET", believed: rates{refAPIC: 0, refPM: pmHz, refPIT: pitHz}, ref: refPM},
		{name: "the PM timer alone", believed: rates{refAPIC: 0, refPM: pmHz}, ref: refPM},
		{name: "the PIT alone", believed: rates{refPIT: pitHz}, ref: refPIT},
		{name: "microvm without a PIT", believed: rates{refAPIC: hz}, ref: refAPIC},
		{name: "nothing", ref: refNone, want: assumedHz},
		{name: "an APIC of unknown rate", believed: rates{refAPIC: 0}, real: rates{refAPIC: 385_184_000}, ref: refNone, want: assumedHz},
		{name: "CPUID", believed: rates{refCPUID: stated, refPIT: pitHz}, ref: refCPUID, want: stated},
		{name: "CPUID without a PIT", believed: rates{refCPUID: stated, refAPIC: 0}, ref: refCPUID, want: stated},
		{name: "CPUID that is wrong", believed: rates{refCPUID: 2_000_000_000, refPIT: pitHz}, ref: refPIT,
			others: map[reference]verdict{refCPUID: says}},
		{name: "CPUID that is wrong, a hypervisor that is right", believed: rates{refCPUID: 2_000_000_000, refHypervisor: tscHz, refPM: pmHz},
			ref: refHypervisor, others: map[reference]verdict{refCPUID: says, refPM: agrees}},
		{name: "an HPET with a wrong period", believed: rates{refHPET: 25_000_000, refPM: pmHz, refPIT: pitHz},
			real: rates{refHPET: hpetHz, refPM: pmHz, refPIT: pitHz}, ref: refPM, others: map[reference]verdict{refHPET: says, refPIT: agrees}},
		{name: "a PIT that is too slow", believed: rates{refHPET: hpetHz, refPM: pmHz, refPIT: pitHz},
			real: rates{refHPET: hpetHz, refPM: pmHz, refPIT: pitHz / 2}, ref: refHPET, others: map[reference]verdict{refPIT: says}},
		{name: "two that disagree", believed: rates{refPM: pmHz, refPIT: pitHz}, real: rates{refPM: pmHz, refPIT: pitHz / 2}, ref: refPM,
			others: map[reference]verdict{refPIT: says}},
		{name: "an HPET that jumps", believed: rates{refHPET: hpetHz, refPM: pmHz}, even: []reference{refPM}, ref: refPM,
			others: map[reference]verdict{refHPET: uneven}},
		{name: "one that has stopped", believed: rates{refHPET: hpetHz, refPM: pmHz}, real: rates{refPM: pmHz}, ref: refPM,
			others: map[reference]verdict{refHPET: still}},
		{name: "all uneven", believed: rates{refAPIC: hz, refPIT: pitHz}, real: rates{refAPIC: hz, refPIT: pitHz / 3}, even: []reference{}, ref: refAPIC},
		{name: "a frequency that cannot be", believed: rates{refPM: pmHz}, real: rates{refPM: 1}, ref: refNone, want: assumedHz},
	} {
		t.Run(tt.name, func(t *testing.T) {
			verdicts, measured = [refNone]verdict{}, [refNone]uint64{}
			real := tt.real
			if real == nil {
				real = tt.believed
				if hz, ok := real[refAPIC]; ok && hz == 0 {
					real = rates{refAPIC: 100_000_000}
					for r, hz := range tt.believed {
						real[r] = max(hz, real[r])
					}
				}
			}
			m, p := with(tt.believed), points(tscHz, real, [3]uint64{1_000_000, 6_000_000, 11_000_000})
			even := m.counts
			if tt.even != nil {
				even = [refNone]bool{}
				for _, r := range tt.even {
					even[r] = true
				}
			}
			want := tt.want
			if want == 0 {
				want = tscHz
			}
			got, apicHz, ref := m.judge(&p[0], &p[2], &even)
			if ref != tt.ref || distance(want, got) > want/2000 {
				t.Errorf("TSC at %d Hz by reference %d; want %d by %d", got, ref, want, tt.ref)
			}
			if want := uint64(float64(real[refAPIC]) * float64(got) / tscHz); distance(want, apicHz) > want/400 {
				t.Errorf("the APIC's timer at %d Hz; want %d", apicHz, want)
			}
			for r, want := range tt.others {
				if _, wrong, hz, found, _ := CounterCheck(int(r)); verdicts[r] != want || wrong != verdictText[want] || !found || hz != 0 != (want == says) {
					t.Errorf("%s: wrong is %q, %d Hz, found %v; want %q", refs[r].name, wrong, hz, found, verdictText[want])
				}
			}
		})
	}
	if _, _, _, _, more := CounterCheck(int(refNone)); more {
		t.Error("there is no end of references")
	}
}

// TestAgree: a window in which something went wrong is not believed; a counter may wrap.
func TestAgree(t *testing.T) {
	both := rates{refAPIC: 1_000_000_000, refPIT: pitHz}
	pm, pit := rates{refPM: pmHz}, rates{refPIT: pitHz}
	for _, tt := range []struct {
		name string
		m    rates
		at   [3]uint64
		bad  func(*[3]point)
		want bool
	}{
		{"undisturbed", both, [3]uint64{0, 5_000_000, 10_000_000}, nil, true},
		{"a short window", both, [3]uint64{0, 250_000, 500_000}, nil, true},
		{"unequal halves", both, [3]uint64{0, 5_000_000, 30_000_000}, nil, true},
		{"the PIT has wrapped unseen", pit, [3]uint64{0, 65_000_000, 70_000_000}, nil, false},
		{"the same with the APIC", both, [3]uint64{0, 5_000_000, 80_000_000}, nil, false},
		{"24 bits of the PM timer have wrapped", pm, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) {
			for i := range p {
				p[i][refPM].count = (p[i][refPM].count + 1000 + pmMask - 100) & pmMask
			}
		}, true},
		{"the PM timer has wrapped unseen", pm, [3]uint64{0, 4_700_000_000, 4_710_000_000}, nil, false},
		{"the APIC's timer has run out", both, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) { p[2][refAPIC].count = 1<<32 - 1 }, false},
		{"the PIT stands still", pit, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) {
			p[1][refPIT].count, p[2][refPIT].count = p[0][refPIT].count, p[0][refPIT].count
		}, false},
		{"a reading taken apart by 1 ms", pit, [3]uint64{0, 5_000_000, 10_000_000}, func(p *[3]point) { p[1][refPIT].tsc += tscHz / 1000 }, false},
	} {
		p := points(tscHz, tt.m, tt.at)
		if tt.bad != nil {
			tt.bad(&p)
		}
		m := with(tt.m)
		if _, got := m.agree(&p[0], &p[1], &p[2]); got != tt.want {
			t.Errorf("%s: agree = %v; want %v", tt.name, got, tt.want)
		}
	}
}

// TestHPET: which registers belong to an HPET that can serve as a reference. The HPET counts while
// it is used and is left as it was found.
func TestHPET(t *testing.T) {
	registers := make([]uint64, 128)
	set := func(off int, v uint64) { registers[off/8] = v }
	saved := hpet
	hpet = uintptr(unsafe.Pointer(&registers[0]))
	defer func() { hpet = saved }()
	for _, tt := range []struct {
		id    uint64
		hz    uint64
		there bool
	}{
		{10_000_000<<32 | 0x8086a201, 100_000_000, true},
		{69_841_279<<32 | 0x8086a201, 14_318_179, true},
		{100_000_000<<32 | 0x8086a201, 10_000_000, true},
		{100_000_001<<32 | 0x8086a201, 0, true},
		{1<<32 | 0x8086a201, 0, true},
		{0x8086a201, 0, true},
		{0, 0, false},
		{^uint64(0), 0, false},
	} {
		set(hpetID, tt.id)
		set(hpetConfig, 2)
		hz, there := hpetStart()
		if hz != tt.hz || there != tt.there {
			t.Errorf("ID %#x: %d Hz, there %v; want %d, %v", tt.id, hz, there, tt.hz, tt.there)
		}
		if on := registers[hpetConfig/8] == 2|hpetEnable; on != (hz != 0) {
			t.Errorf("ID %#x: the configuration is %#x", tt.id, registers[hpetConfig/8])
		}
		if hz != 0 {
			hpetStop()
		}
		if registers[hpetConfig/8] != 2 {
			t.Errorf("ID %#x: afterwards the configuration is %#x; want 2", tt.id, registers[hpetConfig/8])
		}
	}
	if moves(refHPET) {
		t.Error("it stands still, and is said to count")
	}
	// A reference that stops counting does not stop the boot.
	m := with(rates{refHPET: 100_000_000})
	a := m.read()
	if b := m.after(&a, 1); b[refHPET].count != a[refHPET].count {
		t.Error("it has counted")
	}
	runtime.KeepAlive(registers)
}

// TestClockTables: what ACPI reports about the HPET and the PM timer.
func TestClockTables(t *testing.T) {
	savedHPET, savedPort := hpet, pmPort
	defer func() { hpet, pmPort = savedHPET, savedPort }()
	for _, tt := range []struct {
		space byte
		at    uint64
		cut   int
		want  uintptr
	}{{0, 0xfed01000, 0, 0xfed01000}, {0, 0xfed00000, 0, 0xfed00000}, {1, 0xfed00000, 0, 0}, {0, 1 << 32, 0, 0}, {0, 0xfed00000, 45, 0}, {0, 0, 0, 0}} {
		b := make([]byte, 56)
		b[40] = tt.space
		binary.LittleEndian.PutUint64(b[44:], tt.at)
		hpet = 1
		if readHPET(b[:len(b)-tt.cut]); AlarmRegisters() != tt.want {
			t.Errorf("%+v: the HPET is at %#x", tt, AlarmRegisters())
		}
	}
	for _, tt := range []struct {
		name     string
		port     uint32
		length   byte
		flags    uint32
		space    byte
		extended uint64
		size     int
		want     uint16
	}{
		{"ACPI 1.0", 0x608, 4, 0, 0, 0, 116, 0x608},
		{"32 bits", 0x608, 4, 1 << 8, 0, 0, 116, 0x608},
		{"with an extended address", 0x608, 4, 0, 1, 0xb008, 244, 0xb008},
		{"whose extended address is 0", 0x608, 4, 0, 1, 0, 244, 0x608},
		{"whose extended address is memory", 0x608, 4, 0, 0, 0xfed80808, 244, 0x608},
		{"that is cut", 0x608, 4, 0, 1, 0xb008, 219, 0x608},
		{"without the timer", 0, 0, 0, 0, 0, 244, 0},
		{"with a length of 0", 0x608, 0, 0, 0, 0, 244, 0},
		{"without fixed hardware", 0x608, 4, 1 << 20, 0, 0, 244, 0},
		{"with no port's number", 0x10608, 4, 0, 0, 0, 244, 0},
		{"that is too short", 0x608, 4, 0, 0, 0, 115, 0},
	} {
		b := make([]byte, 244)
		binary.LittleEndian.PutUint32(b[76:], tt.port)
		b[91] = tt.length
		binary.LittleEndian.PutUint32(b[112:], tt.flags)
		b[208] = tt.space
		binary.LittleEndian.PutUint64(b[212:], tt.extended)
		pmPort = 0
		if readFADT(b[:tt.size]); pmPort != tt.want {
			t.Errorf("a table %s: port %#x; want %#x", tt.name, pmPort, tt.want)
		}
	}
}

// FuzzClockTables: whatever the tables contain, the result is only a page below 4 GiB and a port.
func FuzzClockTables(f *testing.F) {
	f.Add(make([]byte, 244))
	f.Fuzz(func(t *testing.T, b []byte) {
		readFADT(b)
		readHPET(b)
		if hpet%amd64.PageSize != 0 || hpet >= 4<<30 || pmPort > 0xfffc {
			t.Fatalf("%#x, %#x", hpet, pmPort)
		}
	})
}
