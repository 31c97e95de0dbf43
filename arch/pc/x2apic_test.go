//go:build hostmsr

package pc

import (
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// msrs holds the model-specific registers, wrote the writes to them, in order.
var (
	msrs  = map[uint32]uint64{}
	wrote []string
)

func readMSR(msr uint32) uint64 { return msrs[msr] }

// writeMSR panics where a CPU would fault (SDM Vol. 3A, 10.12.1.2, 10.12.5).
func writeMSR(msr uint32, v uint64) {
	const mode = x2Enable | globalEnable
	is := msrs[amd64.MSRAPICBase] & mode
	switch {
	case msr == amd64.MSRAPICBase:
		switch to := v & mode; {
		case to == x2Enable, is == 0 && to == mode, is == mode && to == globalEnable:
			panic(fmt.Sprintf("the mode %#x is set in mode %#x", to, is))
		}
	case msr >= msrX2APIC && msr < msrX2APIC+0x100 && is != mode:
		panic(fmt.Sprintf("MSR %#x is written in mode %#x", msr, is))
	case msr == 0x80b && v != 0:
		panic(fmt.Sprintf("the end of an interrupt is %#x", v))
	case msr != 0x830 && msr != msrTSCDeadline && v>>32 != 0:
		panic(fmt.Sprintf("MSR %#x is %#x", msr, v))
	}
	msrs[msr] = v
	wrote = append(wrote, fmt.Sprintf("%x=%x", msr, v))
}

// page holds the registers in xAPIC mode.
var page [1024]uint32

// begin makes a machine whose firmware has left base in the register of the APIC's base. It returns
// the page's address.
func begin(base uint64, want bool) uintptr {
	clear(page[:])
	clear(msrs)
	wrote, apic, x2APIC, wantX2APIC, used, byPIC = nil, 0, false, want, timerNone, 0
	msrs[amd64.MSRAPICBase] = base
	return uintptr(unsafe.Pointer(&page))
}

// inPage returns the page's registers that are not 0.
func inPage() (all []string) {
	for i, v := range page {
		if v != 0 {
			all = append(all, fmt.Sprintf("%x=%x", i*4, v))
		}
	}
	return all
}

func check(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q; want %q", what, got, want)
	}
}

// TestModes: the firmware's mode is kept, unless a CPU needs x2APIC; each other CPU takes the mode
// of the first one, whatever its own was.
func TestModes(t *testing.T) {
	const off, on, wide = 0xfee00100, 0xfee00900, 0xfee00d00
	for _, tt := range []struct {
		first uint64
		want  bool
		x2    bool
		base  []string
		other map[uint64][]string // what is written to another CPU's MSRs
	}{
		{on, false, false, []string{"1b=fee00900"}, map[uint64][]string{off: {"1b=fee00900"}, on: {"1b=fee00900"}, wide: {"1b=fee00100", "1b=fee00900"}}},
		{off, false, false, []string{"1b=fee00900"}, nil},
		{wide, false, true, nil, map[uint64][]string{off: {"1b=fee00900", "1b=fee00d00"}, on: {"1b=fee00900", "1b=fee00d00"}, wide: nil}},
		{on, true, true, []string{"1b=fee00900", "1b=fee00d00"}, map[uint64][]string{on: {"1b=fee00900", "1b=fee00d00"}}},
		{off, true, true, []string{"1b=fee00900", "1b=fee00d00"}, nil},
		{wide, true, true, nil, nil},
	} {
		name := fmt.Sprintf("firmware %#x, wanted %v", tt.first, tt.want)
		StartInterrupts(begin(tt.first, tt.want))
		if x2APIC != tt.x2 || !LocalInterrupts() {
			t.Errorf("%s: x2APIC mode %v; want %v", name, x2APIC, tt.x2)
		}
		if tt.x2 {
			check(t, name, wrote, append(slices.Clone(tt.base), "808=0", "80f=1ff", "836=400")...)
			check(t, name+", page", inPage())
		} else {
			check(t, name, wrote, tt.base...)
			check(t, name+", page", inPage(), "f0=1ff", "360=400")
		}
		for was, want := range tt.other {
			name := fmt.Sprintf("%s, another CPU's %#x", name, was)
			clear(page[:])
			wrote, msrs[amd64.MSRAPICBase] = nil, was
			JoinInterrupts()
			if tt.x2 {
				check(t, name, wrote, append(slices.Clone(want), "808=0", "80f=1ff")...)
				continue
			}
			check(t, name, wrote, want...)
			check(t, name+", page", inPage(), "f0=1ff")
		}
	}
}

// TestRegisters: what the kernel does to the interrupt controller, in each mode.
func TestRegisters(t *testing.T) {
	for _, tt := range []struct {
		what string
		do   func()
		page []string
		msrs []string
	}{
		{"InterruptSelf", func() { InterruptSelf(0x47) }, []string{"300=44047"}, []string{"83f=47"}},
		{"InitCPU", func() { InitCPU(3) }, []string{"300=4500", "310=3000000"}, []string{"830=300004500"}},
		{"StartCPU", func() { StartCPU(3, 0x9f000) }, []string{"300=469f", "310=3000000"}, []string{"830=30000469f"}},
		{"InterruptCPU", func() { InterruptCPU(0xfe, 0x47) }, []string{"300=4047", "310=fe000000"}, []string{"830=fe00004047"}},
		{"StopCPU", func() { StopCPU(0x20) }, []string{"300=4400", "310=20000000"}, []string{"830=2000004400"}},
		{"a CPU above 254", func() {
			if x2APIC {
				StopCPU(0x12345678)
			}
		}, nil, []string{"830=1234567800004400"}},
		{"EndOfInterrupt", func() { page[0xb0/4] = 7; EndOfInterrupt(0x47) }, nil, []string{"80b=0"}},
		{"EndOfInterrupt of none", func() { EndOfInterrupt(vectorSpurious) }, nil, nil},
		{"passPIC", passPIC, []string{"350=700"}, []string{"835=700"}},
		{"the timer", func() { oneShot(InterruptTimer); startAPIC(12345) }, []string{"320=40", "380=3039", "3e0=b"}, []string{"838=0", "83e=b", "832=40", "838=3039"}},
		{"the timer, masked", func() { oneShot(0) }, []string{"320=10000", "3e0=b"}, []string{"838=0", "83e=b", "832=10000"}},
		{"JoinTimer", func() { used = timerDeadline; JoinTimer() }, []string{"320=40040"}, []string{"832=40040"}},
	} {
		StartInterrupts(begin(0xfee00900, false))
		clear(page[:])
		wrote = nil
		tt.do()
		check(t, tt.what, inPage(), tt.page...)
		check(t, tt.what+", MSRs", wrote)

		StartInterrupts(begin(0xfee00d00, false))
		clear(page[:])
		wrote = nil
		tt.do()
		check(t, tt.what+" by x2APIC", wrote, tt.msrs...)
		if tt.what != "EndOfInterrupt" {
			check(t, tt.what+" by x2APIC, page", inPage())
		}
	}

	StartInterrupts(begin(0xfee00900, false))
	page[apicID/4], page[apicCurrent/4] = 0x12000000, 99
	if id, left := ThisID(), apicTimer(); id != 0x12 || left != 99 {
		t.Errorf("the CPU is %#x, and %d ticks are left; want 0x12, 99", id, left)
	}
	StartInterrupts(begin(0xfee00d00, false))
	msrs[0x802], msrs[0x839] = 0x12345678, 99
	if id, left := ThisID(), apicTimer(); id != 0x12345678 || left != 99 {
		t.Errorf("by x2APIC the CPU is %#x, and %d ticks are left; want 0x12345678, 99", id, left)
	}
}
