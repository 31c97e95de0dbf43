package amd64

import (
	"testing"
	"unsafe"
)

// TestBranchDecode: how the registers of a record are decoded, for each form of record. The bits
// are those in the manuals.
func TestBranchDecode(t *testing.T) {
	const high = uintptr(0xffffff00_00000000) // an address in the upper half, whose highest bits a record may lack
	for _, tt := range []struct {
		name           string
		format         branchFormat
		from, to, info uint64
		want           Branch
		ok             bool
	}{
		{"plain", branchPlain, 0x401000, 0x402000, 1<<63 | 7, Branch{From: 0x401000, To: 0x402000}, true},
		{"flag", branchFlag, 1<<63 | 0x401000, 0x402000, 0, Branch{From: 0x401000, To: 0x402000, Missed: true}, true},
		{"flag, upper half, predicted", branchFlag, uint64(high&^(1<<63) | 0x1000), uint64(high), 0, Branch{From: high | 0x1000, To: high}, true},
		{"flags, in a transaction", branchFlags, 1<<62 | 0x401000, 0x402000, 0, Branch{From: 0x401000, To: 0x402000}, true},
		{"flags, upper half without extension", branchFlags, uint64(high)&(1<<61-1) | 1<<63 | 0x10, uint64(high), 0, Branch{From: high | 0x10, To: high, Missed: true}, true},
		{"time", branchTime, 0x401000, 0x12<<48 | 0x402000, 0, Branch{From: 0x401000, To: 0x402000, Cycles: 0x12}, true},
		{"time, upper half", branchTime, 1<<63 | 0x401000, 0xff<<48 | uint64(high)&(1<<48-1), 0, Branch{From: 0x401000, To: high, Cycles: 0xff, Missed: true}, true},
		{"info", branchInfo, 0x401000, uint64(high), 1<<63 | 1<<62 | 0x2345, Branch{From: 0x401000, To: high, Cycles: 0x2345, Missed: true}, true},
		{"architectural, no cycles", branchArch, 0x401000, 0x402000, 5<<56 | 0x2345, Branch{From: 0x401000, To: 0x402000}, true},
		{"architectural", branchArch, 0x401000, 0x402000, 1<<63 | 1<<60 | 0x2345, Branch{From: 0x401000, To: 0x402000, Cycles: 0x2345, Missed: true}, true},
		{"AMD", branchAMD, 1<<63 | 0x401000, 1<<63 | 0x402000, 0, Branch{From: 0x401000, To: 0x402000, Missed: true}, true},
		{"AMD, upper half, speculated and right", branchAMD, uint64(high) & (1<<57 - 1), 3<<62 | uint64(high)&(1<<57-1), 0, Branch{From: high, To: high}, true},
		{"AMD, speculated and wrong", branchAMD, 0x401000, 1<<62 | 0x402000, 0, Branch{From: 0x401000, To: 0x402000}, false},
	} {
		got, ok := tt.format.decode(tt.from, tt.to, tt.info)
		if ok != tt.ok || ok && got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

// TestBranchRecords: where the records are, according to CPUID.
func TestBranchRecords(t *testing.T) {
	for _, tt := range []struct {
		name    string
		c       branchCPU
		format  branchFormat
		n       uint32
		from    uint32
		control uint32
		on      uint64
	}{
		{"QEMU's emulation", branchCPU{family: 15, model: 107, amd: true}, branchNone, 0, 0, 0, 0},
		{"Intel without capabilities", branchCPU{intel: true, family: 6, model: 0x4e, format: 5}, branchNone, 0, 0, 0, 0},
		{"Intel, records of 32 bits", branchCPU{intel: true, capabilities: true, family: 6, model: 0x4e}, branchNone, 0, 0, 0, 0},
		{"a model that is not known", branchCPU{intel: true, capabilities: true, family: 6, model: 0xff, format: 5}, branchNone, 0, 0, 0, 0},
		{"a format that is not known", branchCPU{intel: true, capabilities: true, family: 6, model: 0x4e, format: 0x3f}, branchNone, 0, 0, 0, 0},
		{"NetBurst", branchCPU{intel: true, capabilities: true, family: 15, model: 6, format: 2}, branchNone, 0, 0, 0, 0},
		{"Core 2", branchCPU{intel: true, capabilities: true, family: 6, model: 0x17, format: 2}, branchPlain, 4, 0x40, 0x1d9, 1},
		{"Silvermont", branchCPU{intel: true, capabilities: true, family: 6, model: 0x37, format: 2}, branchPlain, 8, 0x40, 0x1d9, 1},
		{"Sandy Bridge", branchCPU{intel: true, capabilities: true, family: 6, model: 0x2a, format: 3}, branchFlag, 16, 0x680, 0x1d9, 1},
		{"Haswell", branchCPU{intel: true, capabilities: true, family: 6, model: 0x3c, format: 4}, branchFlags, 16, 0x680, 0x1d9, 1},
		{"Skylake", branchCPU{intel: true, capabilities: true, family: 6, model: 0x5e, format: 5}, branchInfo, 32, 0x680, 0x1d9, 1},
		{"Goldmont", branchCPU{intel: true, capabilities: true, family: 6, model: 0x5c, format: 6}, branchTime, 32, 0x680, 0x1d9, 1},
		{"Alder Lake", branchCPU{intel: true, capabilities: true, family: 6, model: 0x97, format: 0x3f, arch: 0x4000000b}, branchArch, 32, 0x1500, 0x14ce, 0x7f0007},
		{"architectural, 8 or 16", branchCPU{intel: true, family: 6, arch: 3}, branchArch, 16, 0x1500, 0x14ce, 0x7f0007},
		{"architectural, 64 alone", branchCPU{intel: true, family: 6, arch: 0x80}, branchNone, 0, 0, 0, 0},
		{"Zen 4", branchCPU{amd: true, family: 15, amdRecords: 16}, branchAMD, 16, 0xc0010300, 0xc000010f, 1 << 6},
		{"Zen 3", branchCPU{amd: true, family: 15}, branchNone, 0, 0, 0, 0},
	} {
		r := tt.c.records()
		if r.format != tt.format || r.n != tt.n || tt.n != 0 && (r.from != tt.from || r.control != tt.control || r.on != tt.on) {
			t.Errorf("%s: %+v; want format %d, %d records from %#x, on by %#x in %#x", tt.name, r, tt.format, tt.n, tt.from, tt.on, tt.control)
		}
		if old := r.format != branchNone && r.format < branchArch; old != (r.keep && r.selects == msrBranchSelect) {
			t.Errorf("%s: %+v; old is %v", tt.name, r, old)
		}
	}
}

// TestReadBranches: the records come in the order of time wherever their ring begins, and records
// that no branch has filled yet are left out.
func TestReadBranches(t *testing.T) {
	defer func() { branches, branchMSR, fakeMSRs.at, fakeMSRs.n = branchRecords{}, 0, 0, 0 }()
	for _, n := range []int{0, 1, 3, 20, MaxBranches} {
		all := make([]Branch, n)
		for i := range all {
			all[i] = Branch{From: uintptr(0x401000 + i), To: uintptr(0x501000 + i), Cycles: uint16(i), Missed: i%3 == 0}
		}
		var room [FakeBranchMSRs]FakeMSR
		FakeBranches(&room, all)
		var got [MaxBranches]Branch
		if k := ReadBranches(&got); k != n {
			t.Errorf("%d of %d records", k, n)
		}
		for i := range all {
			if got[i] != all[i] {
				t.Errorf("of %d records number %d is %+v; want %+v", n, i, got[i], all[i])
			}
		}
	}
	// These forms have no ring: register 0 is the latest.
	for _, tt := range []struct {
		c branchCPU
		m []FakeMSR
	}{
		{branchCPU{intel: true, arch: 1}, []FakeMSR{{0x1500, 3}, {0x1600, 4}, {0x1200, 0}, {0x1501, 1}, {0x1601, 2}, {0x1201, 0}, {0x1502, 0}, {0x1602, 0}, {0x1202, 0}}},
		{branchCPU{amd: true, amdRecords: 3}, []FakeMSR{{0xc0010300, 3}, {0xc0010301, 1<<63 | 4}, {0xc0010302, 1}, {0xc0010303, 1<<63 | 2}, {0xc0010304, 0}, {0xc0010305, 0}}},
	} {
		branches = tt.c.records()
		fakeMSRs.at, fakeMSRs.n = uintptr(unsafe.Pointer(&tt.m[0])), uintptr(len(tt.m))
		var got [MaxBranches]Branch
		n := ReadBranches(&got)
		if n != 2 || got[0] != (Branch{From: 1, To: 2}) || got[1] != (Branch{From: 3, To: 4}) {
			t.Errorf("%+v: %d records, %+v", tt.c, n, got[:n])
		}
	}
	branches, fakeMSRs.n = branchRecords{}, 0
	var got [MaxBranches]Branch
	if n := ReadBranches(&got); n != 0 {
		t.Errorf("%d records of a CPU that has none", n)
	}
}
