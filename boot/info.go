package boot

import "github.com/zeroframe/zeroframe/arch/amd64"

// The loader's information, copied out of its memory at once, because others use that memory later.
// Nothing in it is believed: lengths are bounded, and only addresses below 4 GiB, which the first
// page tables map, are read.

// Region is a range of physical memory: Lo <= address < Hi.
type Region struct {
	Lo, Hi uint64
	// Usable is set for RAM that is free for use.
	Usable bool
}

// Limits of what is stored.
const (
	MaxRegions = 128
	MaxCmdline = 4096
	MaxModules = 8
	maxLoader  = 32
)

// Info is the result of Read.
type Info struct {
	regions  [MaxRegions]Region
	nRegions int
	cmdline  [MaxCmdline]byte
	nCmdline int
	given    [MaxCmdline]byte
	nGiven   int
	loader   [maxLoader]byte
	nLoader  int
	modules  [MaxModules]Module
	nModules int

	screen    Framebuffer
	hasScreen bool

	// Root is the address of ACPI's root table from the loader, or 0.
	Root uintptr
	// Protocol says how the loader entered the image.
	Protocol Protocol
	// Truncated is set when the loader gave more than the limits allow.
	Truncated bool
}

// Module is what the loader loaded besides the image, such as an initial archive: Lo <= address <
// Hi.
type Module struct{ Lo, Hi uint64 }

// Modules returns the modules, in the loader's order.
func (i *Info) Modules() []Module { return i.modules[:i.nModules] }

func (i *Info) addModule(lo, hi uint64) {
	if lo == 0 || hi <= lo {
		return
	}
	if i.nModules == MaxModules {
		i.Truncated = true
		return
	}
	i.modules[i.nModules].Lo, i.modules[i.nModules].Hi = lo, hi
	i.nModules++
}

// Protocol is a boot protocol.
type Protocol uint8

// The protocols. The zero value means that neither loader's mark was found.
const (
	Multiboot Protocol = iota + 1 // Multiboot 1
	PVH                           // Xen's direct boot ABI for HVM guests
)

// String returns the protocol's name.
func (p Protocol) String() string {
	switch p {
	case Multiboot:
		return "multiboot"
	case PVH:
		return "PVH"
	}
	return "unknown"
}

// Regions returns the memory map, in the loader's order.
func (i *Info) Regions() []Region { return i.regions[:i.nRegions] }

// Cmdline returns the kernel command line, without its terminating zero.
func (i *Info) Cmdline() []byte { return i.cmdline[:i.nCmdline] }

// Given returns the command line as the loader gave it, even if the bytes of Cmdline have changed.
func (i *Info) Given() []byte { return i.given[:i.nGiven] }

// Loader returns the loader's name; it may be empty.
func (i *Info) Loader() []byte { return i.loader[:i.nLoader] }

// Magic numbers in EAX (multiboot) and in the first word at EBX (PVH).
const (
	multibootMagic = 0x2badb002
	pvhMagic       = 0x336ec578
)

// Read fills i from what the loader left. Early context, while the first page
// tables (4 GiB) are in use.
func (i *Info) Read() {
	switch {
	case u32(info) == pvhMagic:
		// Checked first, because qboot, microvm's firmware, enters a PVH kernel with the multiboot
		// magic in EAX.
		i.Protocol = PVH
		i.readPVH(info)
	case magic == multibootMagic:
		i.Protocol = Multiboot
		i.readMultiboot(info)
	}
}

// readMultiboot: Multiboot Specification 0.6.96, 3.3.
func (i *Info) readMultiboot(p uintptr) {
	const (
		hasMemory  = 1 << 0
		hasCmdline = 1 << 2
		hasModules = 1 << 3
		hasMap     = 1 << 6
		hasName    = 1 << 9
		hasScreen  = 1 << 12
	)
	flags := u32(p)
	if flags&hasCmdline != 0 {
		i.setCmdline(uintptr(u32(p + 16)))
	}
	if flags&hasModules != 0 {
		for a, n := uintptr(u32(p+24)), u32(p+20); n > 0 && readable(a, 16); n-- {
			i.addModule(uint64(u32(a)), uint64(u32(a+4)))
			a += 16
		}
	}
	if flags&hasName != 0 {
		i.setLoader(uintptr(u32(p + 64)))
	}
	if i.byGRUB() {
		i.decodeGRUB()
	}
	if flags&hasScreen != 0 {
		i.readFramebuffer(p + 88)
	}
	if flags&hasMap != 0 {
		// Each entry is preceded by its own size, which does not count itself.
		a, end := uintptr(u32(p+48)), uintptr(u32(p+48))+uintptr(u32(p+44))
		for a+24 <= end && readable(a, 24) && i.nRegions < MaxRegions {
			size := uintptr(u32(a))
			base, n, kind := u64(a+4), u64(a+12), u32(a+20)
			i.add(base, n, kind == 1)
			if size < 20 {
				break
			}
			a += size + 4
		}
		i.Truncated = i.Truncated || a+24 <= end && i.nRegions == MaxRegions
	}
	if i.nRegions == 0 && flags&hasMemory != 0 {
		// Only "lower" and "upper" memory, in KiB from 0 and from 1 MiB.
		i.add(0, uint64(u32(p+4))<<10, true)
		i.add(1<<20, uint64(u32(p+8))<<10, true)
	}
}

// readPVH: Xen public/arch-x86/hvm/start_info.h. The memory map exists since version 1.
func (i *Info) readPVH(p uintptr) {
	i.setCmdline(uintptr(u64(p + 24)))
	i.Root = uintptr(u64(p + 32))
	for a, n := uintptr(u64(p+16)), u32(p+12); n > 0 && readable(a, 32); n-- {
		lo := u64(a)
		i.addModule(lo, lo+u64(a+8))
		a += 32
	}
	if u32(p+4) < 1 {
		return
	}
	a, n := uintptr(u64(p+40)), u32(p+48)
	for ; n > 0 && i.nRegions < MaxRegions; n-- {
		if !readable(a, 24) {
			i.Truncated = true
			return
		}
		i.add(u64(a), u64(a+8), u32(a+16) == 1)
		a += 24
	}
	i.Truncated = i.Truncated || n > 0
}

//go:noinline
func (i *Info) add(base, n uint64, usable bool) {
	if n == 0 || base+n < base {
		return
	}
	i.regions[i.nRegions].Lo = base
	i.regions[i.nRegions].Hi = base + n
	i.regions[i.nRegions].Usable = usable
	i.nRegions++
}

func (i *Info) setCmdline(a uintptr) {
	n := 0
	for readable(a, 1) && u8(a) != 0 {
		if n == MaxCmdline {
			i.Truncated = true
			break
		}
		i.cmdline[n], i.given[n] = u8(a), u8(a)
		n++
		a++
	}
	i.nCmdline, i.nGiven = n, n
}

func (i *Info) setLoader(a uintptr) {
	n := 0
	for n < maxLoader && readable(a, 1) && u8(a) != 0 {
		i.loader[n] = u8(a)
		n++
		a++
	}
	i.nLoader = n
}

// The readable range: lowest <= address < highest. That is what the first page tables map; a test
// has less.
var lowest, highest uintptr = 1, 4 << 30

// readable reports whether the n bytes at a may be read.
func readable(a uintptr, n uintptr) bool { return a >= lowest && a < highest && highest-a >= n }

func u8(a uintptr) uint8 { return *(*uint8)(amd64.Pointer(amd64.Virtual(a))) }

//go:noinline
func u32(a uintptr) uint32 {
	if !readable(a, 4) {
		return 0
	}
	return *(*uint32)(amd64.Pointer(amd64.Virtual(a)))
}

func u64(a uintptr) uint64 { return uint64(u32(a)) | uint64(u32(a+4))<<32 }
