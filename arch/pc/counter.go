package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The frequencies of the time stamp counter (TSC) and of the APIC's timer. All counters of the
// machine are read at the two ends of a short window and in its middle. Each reading of a counter
// is taken between two of the TSC, and of several readings the one with the smallest gap counts,
// because an emulator's host may take the processor away for milliseconds at any point. The two
// halves must agree, or the window is measured again: that also finds a PIT that has wrapped
// unseen, and a counter that jumps.
//
// A stated frequency of the TSC is believed, in the order of the constants below, if a measurement
// is within 2 % of it. If no two agree, measurements come before statements, and the HPET, which
// states its own frequency, before the others. The local APIC's timer is a reference only under TCG
// and KVM, whose source says that it counts at 1 GHz.
//
// The PIT is not gated by port 0x61, as is usual, because -M microvm does not have that port. It
// runs free, and its status and count show whether it exists.

// reference is a clock that the TSC is measured against.
type reference uint8

// In the order of trust.
const (
	refCPUID      reference = iota // leaf 0x15, with its crystal
	refHypervisor                  // leaf 0x40000010
	refAPIC
	refHPET
	refPM
	refPIT
	refNone

	refFirst = refAPIC // the first one that counts
)

// refs is the table of the references. Never written.
var refs = [refNone]struct {
	name string
	mask uint32 // the bits that count; 0: it does not count, but states the TSC's frequency
}{
	refCPUID:      {"CPUID 0x15", 0},
	refHypervisor: {"CPUID 0x40000010", 0},
	refAPIC:       {"local APIC's 1 GHz", 1<<32 - 1},
	refHPET:       {"HPET", 1<<32 - 1},
	refPM:         {"PM timer", pmMask},
	refPIT:        {"PIT", 1<<16 - 1},
}

// verdict is the result of checking a reference.
type verdict uint8

const (
	notThere verdict = iota
	still
	impossible
	uneven
	says
	agrees
	taken
)

// verdictText is [CounterCheck]'s text for each verdict. Never written.
var verdictText = [...]string{notThere: "is not there", still: "stands still",
	impossible: "names an impossible period",
	uneven:     "counts unevenly", says: "says", agrees: "", taken: ""}

// Set once at boot.
var (
	usedRef  = refNone        // what the TSC was measured against
	verdicts [refNone]verdict // of each reference
	measured [refNone]uint64  // Hz of the TSC by each, 0 if unknown
)

// MeasureCounter returns the frequency of ReadTSC's counter. It takes 11 ms, or less if the machine
// allows exact readings. mapped says that AlarmRegisters are mapped. Early context, interrupts off,
// after FindCPUs, MaskInterrupts and StartInterrupts.
func MeasureCounter(mapped bool) (hz uint64) {
	hz, apicHz, usedRef = calibrate(mapped)
	return hz
}

// CounterReference returns what MeasureCounter measured against, or "" if there was nothing: then
// the frequency is a guess. Any context, after MeasureCounter.
func CounterReference() string {
	if usedRef == refNone {
		return ""
	}
	return refs[usedRef].name
}

// CounterCheck returns the verdict on reference number i: its name, what is wrong with it, "" if it
// agrees, and its frequency in Hz if that is what is wrong. found is false if the machine does not
// have it, and for the one that CounterReference names; more is false after the last. Any context,
// after MeasureCounter.
func CounterCheck(i int) (name, wrong string, hz uint64, found, more bool) {
	if uint(i) >= uint(refNone) {
		return "", "", 0, false, false
	}
	v := verdicts[i]
	if v == says {
		hz = measured[i]
	}
	return refs[i].name, verdictText[v], hz, v != notThere && v != taken, true
}

const (
	assumedHz  = 1_000_000_000 // of the TSC, if nothing is known
	emulatedHz = 1_000_000_000 // of the APIC's timer under QEMU and KVM

	leastHz = 1_000_000 // a TSC slower or faster than these is a mistake; Bochs has 4 MHz
	mostHz  = 20_000_000_000

	window      = 10_000_000 // ns between the ends
	shortWindow = 500_000    // ns, if readings are exact
	exactness   = 10_000     // a window is long enough if it is that many times a reading

	readings = 8 // of a counter at each point, of which the best one counts
	attempts = 20
	// looks bounds how often all counters are read before a window must be over: many times what it
	// takes, so that only a stopped counter reaches it.
	looks = 1 << 20
)

// reading is what a counter showed when the TSC was at tsc, plus or minus half of width.
type reading struct {
	tsc, width uint64
	count      uint32
}

// point is a reading of each counter.
type point [refNone]reading

// machine is the set of clocks to measure with.
type machine struct {
	counts [refNone]bool
	// hz is the frequency of each, 0 if unknown; for one that states the TSC's frequency, that one.
	hz    [refNone]uint64
	hyper amd64.Hypervisor
}

// calibrate returns the frequencies of the TSC and the APIC's timer.
func calibrate(mapped bool) (tsc, apicRate uint64, ref reference) {
	m := survey(mapped)
	var a, b, c point
	var even [refNone]bool
	for try, agreed := 0, false; try < attempts && !agreed; try++ {
		if m.counts[refAPIC] {
			startAPIC(1<<32 - 1)
		}
		a = m.read()
		b = m.after(&a, 1)
		c = m.after(&a, 2)
		even, agreed = m.agree(&a, &b, &c)
	}
	pitStop()
	if m.counts[refHPET] {
		hpetStop()
	}
	if m.counts[refAPIC] {
		startAPIC(0)
	}
	return m.judge(&a, &c, &even)
}

// survey finds the counters that count, and starts them.
func survey(mapped bool) (m machine) {
	hyper, max := amd64.FindHypervisor()
	m.hyper = hyper
	m.hz[refCPUID], m.hz[refHypervisor] = amd64.ReportedTSC(), amd64.HypervisorTSC(max)
	var there [refNone]bool
	if apic != 0 {
		oneShot(0)
		startAPIC(1<<32 - 1)
		there[refAPIC] = true
		if hyper == amd64.HypervisorQEMU || hyper == amd64.HypervisorKVM {
			m.hz[refAPIC] = emulatedHz
		}
	}
	if mapped {
		m.hz[refHPET], there[refHPET] = hpetStart()
	}
	m.hz[refPM], there[refPM] = pmHz, pmPort != 0
	m.hz[refPIT], there[refPIT] = pitHz, pitRound()
	for r := refFirst; r < refNone; r++ {
		switch {
		case !there[r]:
		case r == refHPET && m.hz[r] == 0:
			verdicts[r] = impossible
		default:
			verdicts[r] = still
			m.counts[r] = moves(r)
		}
	}
	return m
}

// moves reports whether a counter counts.
func moves(r reference) bool {
	// One tick of the PIT is many reads under an emulator that counts instructions, but less than
	// one on an ISA bus.
	const enough = 400
	first := count(r)
	for range enough {
		if count(r) != first {
			return true
		}
	}
	return false
}

// count reads a counter; it counts up.
func count(r reference) uint32 {
	switch r {
	case refAPIC:
		return ^apicTimer()
	case refHPET:
		return hpetCount()
	case refPM:
		return pmCount()
	}
	return uint32(^pitCount())
}

func sane(hz uint64) bool { return hz >= leastHz && hz <= mostHz }

// read reads all counters.
func (m *machine) read() (p point) {
	for r := range p {
		p[r].width = ^uint64(0)
	}
	for range readings {
		for r := refFirst; r < refNone; r++ {
			if m.counts[r] {
				before := amd64.ReadTSC()
				n := count(r)
				p[r].keep(before, amd64.ReadTSC(), n)
			}
		}
	}
	return p
}

// keep takes a reading if it is better than the previous one.
func (r *reading) keep(before, after uint64, count uint32) {
	if width := after - before; width < r.width {
		*r = reading{before + width/2, width, count}
	}
}

// after waits until that many halves of the window have passed since a, by half of the clocks, and
// then reads: so a clock that is wrong about its own frequency makes the window neither too long
// nor too short.
func (m *machine) after(a *point, halves uint64) point {
	var passed [refNone]uint64
	last, start := *a, amd64.ReadTSC()
	for range looks {
		amd64.Pause()
		tsc := amd64.ReadTSC()
		clocks, over := 0, 0
		for r := range refNone {
			ns := uint64(0)
			switch {
			case m.counts[r]:
				// Continuous reading finds wraps.
				now := count(r)
				passed[r] += ticks(r, last[r].count, now)
				last[r].count = now
				hz := m.hz[r]
				if hz == 0 {
					continue // the APIC's, of unknown frequency
				}
				ns = mulDiv(passed[r], second, hz)
			case refs[r].mask == 0 && sane(m.hz[r]):
				ns = mulDiv(tsc-start, second, m.hz[r])
			default:
				continue
			}
			clocks++
			if 2*ns >= halves*window {
				over++
			}
		}
		if clocks == 0 || 2*over >= clocks || m.exact(a, tsc, passed[refAPIC], halves) {
			break
		}
	}
	return m.read()
}

// exact reports whether the APIC's timer has already been measured well enough, after ns. It only
// matters where that timer can be expected to count at 1 GHz.
func (m *machine) exact(a *point, tsc, ns, halves uint64) bool {
	return m.counts[refAPIC] && m.hz[refAPIC] != 0 && 2*ns >= halves*shortWindow &&
		2*(tsc-a[refAPIC].tsc) >= halves*exactness*a[refAPIC].width
}

// ticks returns how far a counter has advanced from a to b.
func ticks(r reference, a, b uint32) uint64 { return uint64((b - a) & refs[r].mask) }

// agree reports by which counters the TSC has the same rate in both halves, and whether by all.
func (m *machine) agree(a, b, c *point) (even [refNone]bool, all bool) {
	all = true
	for r := refFirst; r < refNone; r++ {
		if !m.counts[r] {
			continue
		}
		even[r] = steady(b[r].tsc-a[r].tsc, ticks(r, a[r].count, b[r].count), c[r].tsc-b[r].tsc,
			ticks(r, b[r].count, c[r].count)) &&
			(r != refAPIC || c[r].count != 1<<32-1) // it has run out
		all = all && even[r]
	}
	return even, all
}

// steady reports whether two stretches have the same rate within 1 %: TSC ticks per ticks of a
// counter, each of which may be off by one.
func steady(tsc1, n1, tsc2, n2 uint64) bool {
	if n1 == 0 || n2 == 0 {
		return false
	}
	const unit = 1 << 20
	r1, r2 := mulDiv(tsc1, unit, n1), mulDiv(tsc2, unit, n2)
	return distance(r1, r2) <= r1/100+4*(r1/min(n1, n2))
}

// judge computes frequencies from the window from a to c, and verdicts. even is agree's result: if
// no counter was even, the host has taken the processor away in each attempt. Then a PIT wraps, but
// the others, which count for seconds, do not.
func (m *machine) judge(a, c *point, even *[refNone]bool) (tsc, apicRate uint64, ref reference) {
	m.measure(a, c, even)
	ref = refNone
	for r := range refNone {
		if confirmed(r) {
			ref = r
			break
		}
	}
	if ref == refNone {
		order := [...]reference{refHPET, refPM, refPIT, refAPIC, refCPUID, refHypervisor}
		if !even[refPIT] {
			order[2], order[3] = refAPIC, refPIT
		}
		for _, r := range order {
			if measured[r] != 0 {
				ref = r
				break
			}
		}
	}
	tsc = assumedHz
	if ref != refNone {
		tsc = measured[ref]
	}
	for r := range refNone {
		switch {
		case r == ref:
			verdicts[r] = taken
		case measured[r] != 0 && near(tsc, measured[r]):
			verdicts[r] = agrees
		case measured[r] != 0:
			verdicts[r] = says
		}
	}
	if d := c[refAPIC].tsc - a[refAPIC].tsc; m.counts[refAPIC] && d != 0 {
		apicRate = mulDiv(ticks(refAPIC, a[refAPIC].count, c[refAPIC].count), tsc, d)
	}
	return tsc, apicRate, ref
}

// measure records what each reference says about the TSC. Uneven ones do not count, unless all are
// uneven.
func (m *machine) measure(a, c *point, even *[refNone]bool) {
	some := *even != [refNone]bool{}
	for r := range refNone {
		hz := m.hz[r]
		switch {
		case refs[r].mask == 0:
		case !m.counts[r] || hz == 0:
			hz = 0
			if r == refAPIC {
				verdicts[r] = notThere // it is no reference
			}
		case some && !even[r]:
			hz, verdicts[r] = 0, uneven
		default:
			n := ticks(r, a[r].count, c[r].count)
			if n == 0 {
				hz, verdicts[r] = 0, still
				break
			}
			hz = mulDiv(c[r].tsc-a[r].tsc, hz, n)
			verdicts[r] = uneven // if that is no possible frequency
		}
		if !sane(hz) {
			hz = 0
		}
		measured[r] = hz
	}
}

// confirmed reports whether another, counting reference has measured what r says.
func confirmed(r reference) bool {
	for other := refFirst; other < refNone; other++ {
		if measured[r] != 0 && other != r && measured[other] != 0 && near(measured[r], measured[other]) {
			return true
		}
	}
	return false
}

// second is one second in nanoseconds.
const second = 1_000_000_000

// mulDiv returns a*b/den, rounded down, or 0 if that does not fit in 64 bits.
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

// near reports whether b is within 2 % of a.
func near(a, b uint64) bool { return distance(a, b) <= a/50 }
