package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// How fast the time stamp counter (TSC) and the APIC's timer count. All counters
// of the machine are read at the two ends of a short window and in its middle. A
// reading of a counter stands between two of the TSC, and of several the one with
// the least between them counts, since an emulator's host may take the processor
// away for milliseconds anywhere. The two halves must agree, or the window is
// measured anew: that also finds a PIT that has wrapped unseen.
//
// The PIT is not gated by port 0x61, as is usual: -M microvm does not have that
// port. It runs free, and its status and count show whether it is there.

// reference is what the TSC was measured against.
type reference uint8

const (
	refNone reference = iota
	refCPUID
	refHypervisor
	refPIT
	refPITAndAPIC
	refAPIC
)

// usedRef is what the TSC was measured against. Set once at boot.
var usedRef reference

// MeasureCounter returns the frequency of ReadTSC's counter. It takes 11 ms, or less where
// the machine allows exact readings. Early context, interrupts off, after MaskInterrupts and
// StartInterrupts.
func MeasureCounter() (hz uint64) {
	hz, apicHz, usedRef = calibrate()
	return hz
}

// CounterReference returns what MeasureCounter has measured against.
func CounterReference() string {
	switch usedRef {
	case refCPUID:
		return "CPUID"
	case refHypervisor:
		return "the hypervisor's CPUID"
	case refPIT:
		return "the PIT"
	case refPITAndAPIC:
		return "the PIT and the local APIC's 1 GHz"
	case refAPIC:
		return "the local APIC, taken for 1 GHz"
	}
	return "none: assumed 1 GHz"
}

const (
	assumedHz  = 1_000_000_000 // of the TSC, if nothing is known
	emulatedHz = 1_000_000_000 // of the APIC's timer under QEMU and KVM

	leastHz = 10_000_000 // a TSC slower or faster than these is a mistake
	mostHz  = 20_000_000_000

	window      = 10_000_000 // ns between the ends
	shortWindow = 500_000    // ns, if readings are exact
	exactness   = 10_000     // a window is long enough if it is so many times a reading's

	readings = 8 // of a counter at each point, of which the best counts
	attempts = 20
)

// reading is what a counter showed when the TSC was at tsc, give or take half of
// width.
type reading struct {
	tsc, width uint64
	count      uint32
}

// point is a reading of each counter.
type point struct{ pit, apic reading }

// machine is what there is to measure with.
type machine struct {
	apic  bool // its timer counts
	pit   bool
	known uint64 // Hz of the TSC by CPUID, 0 if unknown
	hyper amd64.Hypervisor
}

// calibrate returns the frequencies of the TSC and the APIC's timer.
func calibrate() (tsc, apicRate uint64, ref reference) {
	m, ref := survey()
	var a, b, c point
	agreed := false
	for try := 0; try < attempts && !agreed; try++ {
		if m.apic {
			startAPIC(1<<32 - 1)
		}
		a = m.read()
		b = m.after(a, 1)
		c = m.after(a, 2)
		agreed = m.agree(a, b, c)
	}
	pitStop()
	if m.apic {
		startAPIC(0)
	}
	return m.judge(a, c, agreed, ref)
}

// survey finds the counters that count, and starts them.
func survey() (m machine, ref reference) {
	hyper, max := amd64.FindHypervisor()
	m.hyper = hyper
	if m.known, ref = amd64.ReportedTSC(), refCPUID; !sane(m.known) {
		if m.known, ref = amd64.HypervisorTSC(max), refHypervisor; !sane(m.known) {
			m.known, ref = 0, refNone
		}
	}
	// One tick of the PIT is many reads under an emulator that counts
	// instructions, less than one on an ISA bus.
	const enough = 400
	if pitRound() {
		first := pitCount()
		for i := 0; i < enough && !m.pit; i++ {
			m.pit = pitCount() != first
		}
	}
	if apic != 0 {
		oneShot(0)
		startAPIC(1<<32 - 1)
		first := apicTimer()
		for i := 0; i < enough && !m.apic; i++ {
			if apicTimer() != first {
				m.apic = true
			}
		}
	}
	return m, ref
}

func sane(hz uint64) bool { return hz >= leastHz && hz <= mostHz }

// read reads all counters.
func (m *machine) read() (p point) {
	p.pit.width, p.apic.width = ^uint64(0), ^uint64(0)
	for i := 0; i < readings; i++ {
		if m.pit {
			before := amd64.ReadTSC()
			count := pitCount()
			p.pit.keep(before, amd64.ReadTSC(), uint32(count))
		}
		if m.apic {
			before := amd64.ReadTSC()
			count := apicTimer()
			p.apic.keep(before, amd64.ReadTSC(), count)
		}
	}
	return p
}

// keep takes a reading if it is better than the one before.
func (r *reading) keep(before, after uint64, count uint32) {
	if width := after - before; width < r.width {
		*r = reading{before + width/2, width, count}
	}
}

// after waits until so many halves of the window are over since a, and reads.
func (m *machine) after(a point, halves uint64) point {
	if !m.pit && !m.apic {
		return a // nothing to measure, so nothing to wait for
	}
	// The PIT's wraps are seen by reading it all the time.
	last, passed := uint16(a.pit.count), uint64(0)
	for {
		amd64.Pause()
		tsc := amd64.ReadTSC()
		var ns uint64
		switch {
		case m.pit:
			now := pitCount()
			passed += uint64(last - now)
			last = now
			ns = mulDiv(passed, second, pitHz)
		case m.known != 0:
			ns = mulDiv(tsc-a.apic.tsc, second, m.known)
		default:
			left := apicTimer()
			if left == 0 {
				return m.read() // it has run out; agree will say no
			}
			ns = uint64(a.apic.count - left)
		}
		if 2*ns >= halves*window || m.exact(a, tsc, ns, halves) {
			return m.read()
		}
	}
}

// exact reports whether the APIC's timer has already been measured well enough.
// It only decides where that timer can be expected to count at 1 GHz.
func (m *machine) exact(a point, tsc, ns, halves uint64) bool {
	return m.apic && (m.hyper == amd64.HypervisorQEMU || m.hyper == amd64.HypervisorKVM) && 2*ns >= halves*shortWindow &&
		2*(tsc-a.apic.tsc) >= halves*exactness*a.apic.width
}

// Ticks between two readings.
func pitTicks(a, b reading) uint64  { return uint64(uint16(a.count) - uint16(b.count)) }
func apicTicks(a, b reading) uint64 { return uint64(a.count - b.count) }

// agree reports whether the TSC has the same rate in both halves, by all counters.
func (m *machine) agree(a, b, c point) bool {
	if m.pit && !steady(b.pit.tsc-a.pit.tsc, pitTicks(a.pit, b.pit), c.pit.tsc-b.pit.tsc, pitTicks(b.pit, c.pit)) {
		return false
	}
	if !m.apic {
		return true
	}
	return c.apic.count != 0 &&
		steady(b.apic.tsc-a.apic.tsc, apicTicks(a.apic, b.apic), c.apic.tsc-b.apic.tsc, apicTicks(b.apic, c.apic))
}

// steady reports whether two stretches have the same rate within 1 %, TSC ticks
// against ticks of a counter, each of which may be counted one too many or few.
func steady(tsc1, n1, tsc2, n2 uint64) bool {
	if n1 == 0 || n2 == 0 {
		return false
	}
	const unit = 1 << 20
	r1, r2 := mulDiv(tsc1, unit, n1), mulDiv(tsc2, unit, n2)
	return distance(r1, r2) <= r1/100+4*(r1/min(n1, n2))
}

// judge makes frequencies of the window from a to c. Where its halves have not agreed, the
// host has taken the processor away in each attempt: a PIT wraps then, the APIC's timer,
// which counts for seconds, does not.
func (m *machine) judge(a, c point, agreed bool, ref reference) (tsc, apicRate uint64, _ reference) {
	byPIT, byAPIC := uint64(0), uint64(0)
	if n := pitTicks(a.pit, c.pit); m.pit && n != 0 {
		byPIT = mulDiv(c.pit.tsc-a.pit.tsc, pitHz, n)
	}
	if n := apicTicks(a.apic, c.apic); m.apic && n != 0 && m.hyper != amd64.HypervisorNone {
		byAPIC = mulDiv(c.apic.tsc-a.apic.tsc, emulatedHz, n)
	}
	switch {
	case m.known != 0 && (!sane(byPIT) || near(m.known, byPIT)):
		tsc = m.known
	case sane(byPIT) && sane(byAPIC) && near(byPIT, byAPIC):
		// The APIC's timer is the same clock, in finer ticks.
		tsc, ref = byAPIC, refPITAndAPIC
	case sane(byPIT) && (agreed || !sane(byAPIC)):
		tsc, ref = byPIT, refPIT
	case sane(byAPIC):
		tsc, ref = byAPIC, refAPIC
	default:
		tsc, ref = assumedHz, refNone
	}
	if m.apic {
		if d := c.apic.tsc - a.apic.tsc; d != 0 {
			apicRate = mulDiv(apicTicks(a.apic, c.apic), tsc, d)
		}
	}
	return tsc, apicRate, ref
}

// second is one second in nanoseconds.
const second = 1_000_000_000

// mulDiv returns a*b/den, rounded down, or 0 if that is no number of 64 bits.
func mulDiv(a, b, den uint64) uint64 {
	hi, lo := amd64.Mul64(a, b)
	if hi >= den {
		return 0
	}
	q, _ := amd64.Div64(hi, lo, den)
	return q
}

func distance(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return b - a
}

// near reports whether b is a within 2 %.
func near(a, b uint64) bool { return distance(a, b) <= a/50 }
