package amd64

import "unsafe"

// Branch records: the CPU keeps the sources and targets of its latest branches in model-specific
// registers. Intel calls them last branch records (LBR) and has two forms of them: one that depends
// on the CPU's model (SDM Vol. 3B, 18.4 to 18.12; MSRs in Vol. 4), whose format
// IA32_PERF_CAPABILITIES tells, and an architectural one (Vol. 3B, 19). AMD's has been the same
// since Zen 4 (APM Vol. 2, 13.1.8; registers in 13.1.1.8 and 13.1.1.9). QEMU's emulation has none,
// so this is untested on hardware: its tests read fakeMSRs.
//
// A trap's own branches would replace those that led to it. So the entry code stops recording at an
// exception, and the exit starts it again (trap_amd64.s). An interrupt does not stop it, because
// interrupts are too frequent.

// MaxBranches is the largest number of records that are read.
const MaxBranches = 32

// Branch is a branch that was taken.
type Branch struct {
	From, To uintptr
	Cycles   uint16 // since the previous branch, if the CPU counts them; else 0
	Missed   bool   // it was mispredicted
}

// branchFormat says how a record is laid out.
type branchFormat uint8

const (
	branchNone  branchFormat = iota
	branchPlain              // only From and To
	branchFlag               // bit 63 of From: mispredicted
	branchFlags              // also bits 62 and 61: transactions
	branchTime               // bit 63 of From, and 16 bits of To count cycles
	branchInfo               // a third register
	branchArch               // a third register, the latest record first
	branchAMD                // pairs of registers, the latest record first
)

// branchRecords says where a CPU's records are.
type branchRecords struct {
	format         branchFormat
	n              uint32 // number of records, a power of two if there is a register tos
	from, to, info uint32 // the first register of each; info: in the formats that have it
	step           uint32 // to the next one
	control        uint32 // the register that turns them on
	on             uint64 // the bits of it that turn them on
	keep           bool   // the other bits keep their values
	selects        uint32 // the register that leaves out kinds of branches, 0: there is none
}

// Model-specific registers.
const (
	msrPerfCapabilities = 0x345
	msrBranchSelect     = 0x1c8
	msrBranchTop        = 0x1c9
	msrDebugControl     = 0x1d9
	msrArchBranchCtl    = 0x14ce
	msrArchBranchDepth  = 0x14cf
	msrAMDBranchSelect  = 0xc000010e
	msrAMDDebugExtended = 0xc000010f
	msrAMDBranchFrom    = 0xc0010300
)

// States of CPU.branches.
const (
	branchesOff  = 0
	branchesOn   = 1
	branchesHeld = 2 // until the exception that is being handled is over
)

// This machine's records, and the value written to branchMSR. Set once at boot.
var (
	branches            branchRecords
	branchMSR           uint32
	branchOn, branchOff uint64
)

// branchCPU is what CPUID says of a CPU's branch records.
type branchCPU struct {
	intel, amd    bool
	family, model uint32
	capabilities  bool   // it has msrPerfCapabilities
	format        uint32 // its lowest six bits
	arch          uint32 // EAX of leaf 0x1c, 0: it has no architectural records
	amdRecords    uint32 // number of AMD's records, 0: it has none
}

// FindBranches looks for branch records and returns their number; virtual says that this is a
// virtual machine. Early context, on the first CPU, when traps are handled.
func FindBranches() (n int, virtual bool) {
	c := readBranchCPU()
	branches = c.records()
	branchMSR = branches.control
	hypervisor, _ := FindHypervisor()
	return int(branches.n), hypervisor != HypervisorNone
}

// BranchesName names the kind of records that FindBranches found.
func BranchesName() string {
	switch branches.format {
	case branchNone:
		return "none"
	case branchArch:
		return "architectural LBR"
	case branchAMD:
		return "AMD's LBR"
	}
	return "LBR"
}

func readBranchCPU() (c branchCPU) {
	max, vendor, vendorEnd, _ := CPUID(0, 0)
	c.intel = vendor == 0x756e6547 && vendorEnd == 0x6c65746e // "Genu...ntel"
	c.amd = vendor == 0x68747541 && vendorEnd == 0x444d4163   // "Auth...cAMD"
	signature, _, features, _ := CPUID(1, 0)
	c.family, c.model = signature>>8&15, signature>>4&15|signature>>12&0xf0
	if c.capabilities = c.intel && features&(1<<15) != 0; c.capabilities {
		v, ok := TryReadMSR(msrPerfCapabilities)
		c.capabilities, c.format = ok, uint32(v)&0x3f
	}
	if c.intel && max >= 0x1c {
		if _, _, _, edx := CPUID(7, 0); edx&(1<<19) != 0 {
			c.arch, _, _, _ = CPUID(0x1c, 0)
		}
	}
	if top, _, _, _ := CPUID(0x80000000, 0); c.amd && top >= 0x80000022 && top>>31 != 0 {
		if eax, ebx, _, _ := CPUID(0x80000022, 0); eax&(1<<1) != 0 {
			c.amdRecords = ebx >> 4 & 0x3f
		}
	}
	return c
}

// records returns where such a CPU has its branch records.
func (c *branchCPU) records() (r branchRecords) {
	switch {
	case c.amd && c.amdRecords != 0:
		return branchRecords{format: branchAMD, n: min(c.amdRecords, MaxBranches), from: msrAMDBranchFrom,
			to:   msrAMDBranchFrom + 1,
			step: 2, control: msrAMDDebugExtended, on: 1 << 6, keep: true, selects: msrAMDBranchSelect}
	case c.intel && c.arch&0xff != 0:
		// Bit n of the lowest byte: there may be 8 (n+1) records. Turned on for the kernel's ring
		// and the others, all kinds.
		for n := uint32(MaxBranches); n != 0; n -= 8 {
			if c.arch>>(n/8-1)&1 != 0 {
				return branchRecords{format: branchArch, n: n, from: 0x1500, to: 0x1600, info: 0x1200, step: 1,
					control: msrArchBranchCtl, on: 0x7f<<16 | 7}
			}
		}
		return r
	case !c.intel || !c.capabilities || c.family != 6:
		return r
	}
	switch c.format {
	case 1, 2:
		r.format = branchPlain
	case 3:
		r.format = branchFlag
	case 4:
		r.format = branchFlags
	case 5, 7:
		r.format = branchInfo
	case 6:
		r.format = branchTime
	default:
		return r
	}
	r.from, r.to, r.info, r.step = 0x680, 0x6c0, 0xdc0, 1
	switch c.model {
	case 0x0f, 0x16, 0x17, 0x1d: // Core 2
		r.n, r.from, r.to = 4, 0x40, 0x60
	case 0x1c, 0x26, 0x27, 0x35, 0x36, 0x37, 0x4a, 0x4c, 0x4d, 0x5a, 0x5d: // Atom, Silvermont, Airmont
		r.n, r.from, r.to = 8, 0x40, 0x60
	case 0x57, 0x85: // Knights Landing and Mill
		r.n = 8
	case 0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f, // Nehalem, Westmere
		0x2a, 0x2d, 0x3a, 0x3e, // Sandy and Ivy Bridge
		0x3c, 0x3f, 0x45, 0x46, 0x3d, 0x47, 0x4f, 0x56: // Haswell, Broadwell
		r.n = 16
	case 0x4e, 0x5e, 0x55, 0x8e, 0x9e, 0xa5, 0xa6, 0x66, // Skylake to Cannon Lake
		0x7d, 0x7e, 0x6a, 0x6c, 0x8c, 0x8d, 0xa7, // Ice, Tiger and Rocket Lake
		0x5c, 0x5f, 0x7a, 0x86, 0x96, 0x9c: // Goldmont, Tremont
		r.n = 32
	default:
		return branchRecords{}
	}
	r.control, r.on, r.keep, r.selects = msrDebugControl, 1, true, msrBranchSelect
	return r
}

// StartBranches starts recording. It returns false if there are no records, or if a register that
// should exist does not. Early context, on each CPU.
func StartBranches() bool {
	r := &branches
	c := ThisCPU()
	if r.format == branchNone || c.branches != branchesOff {
		return false
	}
	if branchOn == 0 { // on the first CPU; the others use the same values
		if r.keep {
			v, ok := TryReadMSR(r.control)
			if !ok {
				return false
			}
			branchOff = v &^ r.on
		}
		branchOn = branchOff | r.on
	}
	if r.selects != 0 {
		TryWriteMSR(r.selects, 0) // some CPUs record all kinds, and have nothing to select
	}
	if r.format == branchArch && !TryWriteMSR(msrArchBranchDepth, uint64(r.n)) {
		return false
	}
	if !TryWriteMSR(r.control, branchOff) || !TryWriteMSR(r.control, branchOn) {
		return false
	}
	c.branches = branchesOn
	return true
}

// StopBranches stops recording, so that the records stay as they are. It returns false if there are
// none. Kernel and early context.
func StopBranches() bool {
	c := ThisCPU()
	was := c.branches
	c.branches = branchesOff
	if was == branchesOn {
		WriteMSR(branchMSR, branchOff)
	}
	return was != branchesOff
}

// BranchesHeld reports whether the entry code has stopped recording, so that the records are those
// before the exception that is being handled. Kernel context.
func BranchesHeld() bool { return ThisCPU().branches == branchesHeld }

// ReadBranches reads the records of the running CPU, which must be stopped, into to, the oldest
// first, and returns their number. Kernel and early context; it takes no lock.
func ReadBranches(to *[MaxBranches]Branch) (n int) {
	r := &branches
	for i := r.n; i > 0; i-- {
		if b, ok := r.read(i - 1); ok {
			to[n] = b
			n++
		}
	}
	return n
}

// read reads the i'th latest record; ok is false if there was no such branch yet.
func (r *branchRecords) read(i uint32) (b Branch, ok bool) {
	if r.format < branchArch {
		top, ok := branchValue(msrBranchTop)
		if !ok {
			return b, false
		}
		i = (uint32(top) - i) & (r.n - 1)
	}
	from, ok1 := branchValue(r.from + i*r.step)
	to, ok2 := branchValue(r.to + i*r.step)
	info, ok3 := uint64(0), true
	if r.format == branchInfo || r.format == branchArch {
		info, ok3 = branchValue(r.info + i*r.step)
	}
	if !ok1 || !ok2 || !ok3 || from == 0 && to == 0 {
		return b, false
	}
	return r.format.decode(from, to, info)
}

// decode converts a record's registers to a branch.
func (f branchFormat) decode(from, to, info uint64) (b Branch, ok bool) {
	const missed = 1 << 63 // in From, or in the third register
	extend := func(v uint64, bits uint) uintptr { return uintptr(int64(v<<bits) >> bits) }
	b.From, b.To = uintptr(from), uintptr(to)
	switch f {
	case branchFlag:
		b.From, b.Missed = extend(from, 1), from&missed != 0
	case branchFlags:
		b.From, b.Missed = extend(from, 3), from&missed != 0
	case branchTime:
		b.From, b.Missed = extend(from, 1), from&missed != 0
		b.To, b.Cycles = extend(to, 16), uint16(to>>48)
	case branchInfo:
		b.Missed, b.Cycles = info&missed != 0, uint16(info)
	case branchArch:
		b.Missed = info&missed != 0
		if info&(1<<60) != 0 {
			b.Cycles = uint16(info)
		}
	case branchAMD:
		const valid = 1 << 63 // without it the branch was only speculative
		if to&valid == 0 {
			return b, false
		}
		b.From, b.To, b.Missed = extend(from, 7), extend(to, 7), from&missed != 0
	}
	return b, true
}

// FakeMSR is a model-specific register and its value.
type FakeMSR struct {
	Number uint32
	Value  uint64
}

// fakeMSRs replace the registers of branch records: their address and number, 0: the CPU's own are
// read. Set once at boot, by the crash lab, and by tests on the host.
var fakeMSRs struct{ at, n uintptr }

// branchValue reads one of the registers.
func branchValue(msr uint32) (v uint64, ok bool) {
	if fakeMSRs.n == 0 {
		return TryReadMSR(msr)
	}
	for i := range fakeMSRs.n {
		if m := (*FakeMSR)(Pointer(fakeMSRs.at + i*unsafe.Sizeof(FakeMSR{}))); m.Number == msr {
			return m.Value, true
		}
	}
	return 0, false
}

// FakeBranchMSRs is the number of registers for which FakeBranches needs room.
const FakeBranchMSRs = 3*MaxBranches + 1

// FakeBranches makes the machine look like one with branch records of Skylake's form, with these
// branches, the oldest first. room holds their registers, and must stay. For tests, and for the
// crash lab in early context: there the entry code stops and starts the records as on such a CPU;
// for QEMU's emulation these are writes to a register without a meaning.
func FakeBranches(room *[FakeBranchMSRs]FakeMSR, all []Branch) {
	c := branchCPU{intel: true, family: 6, model: 0x4e, capabilities: true, format: 5}
	branches = c.records()
	branchMSR = branches.control
	const first = MaxBranches - 3 // the top, where the ring has wrapped
	top := uint32(first - 1)
	for i := range uint32(MaxBranches) {
		room[3*i], room[3*i+1], room[3*i+2] = FakeMSR{branches.from + i, 0}, FakeMSR{branches.to + i, 0},
			FakeMSR{branches.info + i, 0}
	}
	for i := range all {
		top = uint32(first+i) % MaxBranches
		b := &all[i]
		room[3*top].Value, room[3*top+1].Value, room[3*top+2].Value = uint64(b.From), uint64(b.To),
			uint64(b.Cycles)
		if b.Missed {
			room[3*top+2].Value |= 1 << 63
		}
	}
	room[3*MaxBranches] = FakeMSR{msrBranchTop, uint64(top)}
	fakeMSRs.at, fakeMSRs.n = uintptr(unsafe.Pointer(room)), uintptr(len(room))
}
