package boot

import (
	"encoding/binary"
	"syscall"
	"testing"
	"unsafe"

	"github.com/zeroframe/zeroframe/arch/amd64"
)

// The tests put the loaders' information blocks into memory below 4 GiB, where loaders put them.
// Reads outside the arena are refused as the kernel refuses reads above 4 GiB; a read that was not
// refused would fault.

// arena is memory below 4 GiB with inaccessible pages around it.
type arena struct {
	b    []byte
	base uintptr
}

const arenaSize = 16 << 10

func newArena(t testing.TB) *arena {
	t.Helper()
	const page, map32Bit = 4096, 0x40
	m, _, errno := syscall.Syscall6(syscall.SYS_MMAP, 0, arenaSize+2*page, syscall.PROT_NONE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE|map32Bit, ^uintptr(0), 0)
	if errno != 0 {
		t.Fatalf("mmap: %v", errno)
	}
	a := &arena{base: m + page}
	if _, _, errno := syscall.Syscall(syscall.SYS_MPROTECT, a.base, arenaSize, syscall.PROT_READ|syscall.PROT_WRITE); errno != 0 {
		t.Fatalf("mprotect: %v", errno)
	}
	a.b = unsafe.Slice((*byte)(amd64.Pointer(a.base)), arenaSize)
	oldLowest, oldHighest, oldMagic, oldInfo := lowest, highest, magic, info
	lowest, highest = a.base, a.base+arenaSize
	t.Cleanup(func() {
		lowest, highest, magic, info = oldLowest, oldHighest, oldMagic, oldInfo
		syscall.Syscall(syscall.SYS_MUNMAP, m, arenaSize+2*page, 0)
	})
	return a
}

func (a *arena) u32(off int, v uint32) { binary.LittleEndian.PutUint32(a.b[off:], v) }
func (a *arena) u64(off int, v uint64) { binary.LittleEndian.PutUint64(a.b[off:], v) }

// at returns the address of the arena's byte at off.
func (a *arena) at(off int) uint32 { return uint32(a.base) + uint32(off) }

// multiboot fills in multiboot information (Multiboot Specification 0.6.96, 3.3)
// at offset 0: command line at 0x400, name at 0x500, map at 0x600.
func (a *arena) multiboot() {
	a.u32(0, 1<<0|1<<2|1<<6|1<<9)
	a.u32(16, a.at(0x400))
	copy(a.b[0x400:], "kernel.elf crash=early.panic\x00")
	a.u32(64, a.at(0x500))
	copy(a.b[0x500:], "GRUB 2.06\x00")
	off := 0x600
	for _, r := range []struct {
		size  uint32
		lo, n uint64
		kind  uint32
	}{{20, 0, 0x9fc00, 1}, {24, 0x100000, 0x7ee0000, 1}, {20, 0xfffc0000, 0x40000, 2}, {20, 1 << 32, 1 << 30, 1}} {
		a.u32(off, r.size)
		a.u64(off+4, r.lo)
		a.u64(off+12, r.n)
		a.u32(off+20, r.kind)
		off += int(r.size) + 4
	}
	a.u32(44, uint32(off-0x600))
	a.u32(48, a.at(0x600))
	magic, info = multibootMagic, a.base
}

var wantRegions = []Region{
	{0, 0x9fc00, true}, {0x100000, 0x7fe0000, true}, {0xfffc0000, 1 << 32, false}, {1 << 32, 1<<32 + 1<<30, true},
}

func checkInfo(t *testing.T, i *Info, p Protocol, loader string) {
	t.Helper()
	if i.Protocol != p || string(i.Loader()) != loader || string(i.Cmdline()) != "kernel.elf crash=early.panic" || i.Truncated {
		t.Errorf("protocol, loader, command line, truncated = %v, %q, %q, %v", i.Protocol, i.Loader(), i.Cmdline(), i.Truncated)
	}
	got := i.Regions()
	if len(got) != len(wantRegions) {
		t.Fatalf("regions = %+v; want %+v", got, wantRegions)
	}
	for n := range got {
		if got[n] != wantRegions[n] {
			t.Errorf("region %d = %+v; want %+v", n, got[n], wantRegions[n])
		}
	}
}

func TestReadMultiboot(t *testing.T) {
	a := newArena(t)
	a.multiboot()
	var i Info
	i.Read()
	checkInfo(t, &i, Multiboot, "GRUB 2.06")
}

// TestReadMultibootNoMap: without a map, Read takes the lower and upper memory.
func TestReadMultibootNoMap(t *testing.T) {
	a := newArena(t)
	a.u32(0, 1)
	a.u32(4, 639)
	a.u32(8, 130944)
	magic, info = multibootMagic, a.base
	var i Info
	i.Read()
	want := []Region{{0, 639 << 10, true}, {1 << 20, 1<<20 + 130944<<10, true}}
	if got := i.Regions(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("regions = %+v; want %+v", got, want)
	}
}

// pvh fills in a start_info (Xen public/arch-x86/hvm/start_info.h), version 1.
func (a *arena) pvh() {
	a.u32(0, pvhMagic)
	a.u32(4, 1)
	a.u64(24, uint64(a.at(0x400)))
	copy(a.b[0x400:], "kernel.elf crash=early.panic\x00")
	a.u64(40, uint64(a.at(0x600)))
	a.u32(48, uint32(len(wantRegions)))
	for n, r := range wantRegions {
		a.u64(0x600+24*n, r.Lo)
		a.u64(0x600+24*n+8, r.Hi-r.Lo)
		kind := uint32(2)
		if r.Usable {
			kind = 1
		}
		a.u32(0x600+24*n+16, kind)
	}
	info = a.base
}

// TestReadPVH also runs with multiboot's magic in EAX, where qboot leaves it.
func TestReadPVH(t *testing.T) {
	for _, eax := range []uintptr{0, multibootMagic} {
		a := newArena(t)
		a.pvh()
		magic = eax
		var i Info
		i.Read()
		checkInfo(t, &i, PVH, "")
	}
}

func TestReadNothing(t *testing.T) {
	newArena(t)
	for _, at := range []uintptr{0, 8, 1 << 40} {
		magic, info = 0, at
		var i Info
		i.Read()
		if i.Protocol != 0 || len(i.Regions()) != 0 || i.Protocol.String() != "unknown" {
			t.Errorf("information at %#x: %v with %d regions; want none", at, i.Protocol, len(i.Regions()))
		}
	}
}

// TestReadLimits: values that are longer than the kernel's room are cut, and Read says so.
func TestReadLimits(t *testing.T) {
	a := newArena(t)
	a.multiboot()
	for n := range MaxCmdline + 10 {
		a.b[0x400+n] = 'a'
	}
	var i Info
	i.Read()
	if len(i.Cmdline()) != MaxCmdline || !i.Truncated {
		t.Errorf("a long command line: %d bytes, truncated = %v; want %d, true", len(i.Cmdline()), i.Truncated, MaxCmdline)
	}

	a = newArena(t)
	a.pvh()
	a.u32(48, 1<<32-1)
	for n := range MaxRegions + 1 {
		a.u64(0x600+24*n, uint64(n)<<20)
		a.u64(0x600+24*n+8, 1<<20)
	}
	i = Info{}
	i.Read()
	if len(i.Regions()) != MaxRegions || !i.Truncated {
		t.Errorf("a long map: %d regions, truncated = %v; want %d, true", len(i.Regions()), i.Truncated, MaxRegions)
	}
}

// FuzzRead takes the arena's contents from the fuzzer. Read must stay in the arena, end, and give
// plausible regions.
func FuzzRead(f *testing.F) {
	for _, fill := range []func(*arena){(*arena).multiboot, (*arena).pvh} {
		a := newArena(f)
		fill(a)
		f.Add(append([]byte(nil), a.b[:0x700]...), fill != nil, uint16(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, mb bool, at uint16) {
		a := newArena(t)
		copy(a.b, data)
		// Addresses in the data point anywhere; make the three that matter, and that of the map,
		// point into the arena.
		for _, off := range []int{16, 48, 64} {
			a.u32(off, a.at(int(binary.LittleEndian.Uint32(a.b[off:]))%(2*arenaSize)))
		}
		magic, info = 0, a.base+uintptr(at)
		if mb {
			magic = multibootMagic
		}
		var i Info
		i.Read()
		for _, r := range i.Regions() {
			if r.Hi <= r.Lo {
				t.Errorf("region %+v is empty or wraps", r)
			}
		}
	})
}
