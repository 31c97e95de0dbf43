package crashlog

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/boot"
)

// Where a record lies. A warm reset keeps RAM, but firmware, loaders and a Linux that kexecs
// overwrite much of it before the next kernel runs. To measure which of the first 640 KiB each of
// them overwrites, all of it was filled with a pattern, and checked when the kernel was up again
// after a reset (QEMU 7.2; pc, q35, microvm; SeaBIOS, qboot, OVMF; GRUB 2.06; Linux 6.1 with
// u-root's kexec):
//
//	SeaBIOS                   0x06400-0x90000, 0x9fc00-0xa0000
//	qboot (microvm)           0x01000-0x02000, 0x07400-0x09800, 0x9fc00-0xa0000
//	GRUB from BIOS            as SeaBIOS, and some pages below 0x6400
//	OVMF and GRUB             0x01000-0x01400, 0x10000-0x10400
//	Linux (reserves 1 MiB)    as SeaBIOS, and its trampoline, 0x98000-0x9f000
//
// So all of them leave 0x90000 to 0x98000 alone. Nothing above 1 MiB is left: GRUB's heap and
// u-root's segments begin there, and Linux uses all of it. The kernel itself hands out no RAM below
// 1 MiB (mem.Release).

const (
	// Size is the size in bytes of one copy of a record; the two copies follow each other.
	Size = 16 << 10
	// Place is the address of the first copy, unless the loader's map has no RAM there.
	Place = 0x90000
	// lowestPlace is the lowest place for a machine whose firmware has reserved more below 640 KiB,
	// in steps of both copies.
	lowestPlace = 0x10000
	areaSize    = 2 * Size
)

// base is the address of the first copy; 0: there is no place, and no record. Set once at boot.
var base uintptr = arch.DirectMap + Place

// Choose chooses by the loader's memory map where records lie: the highest possible place that is
// RAM. If there is none it returns false, and there will be no record, because what is not RAM for
// us belongs to the firmware. The same firmware gives the next boot the same map, and so the same
// place. Early context.
func Choose(regions []boot.Region) bool {
	for lo := uint64(Place); lo >= lowestPlace; lo -= areaSize {
		if usable(regions, lo, lo+areaSize) {
			base = arch.Virtual(uintptr(lo))
			return true
		}
	}
	base = 0
	return false
}

// usable reports whether lo <= address < hi is RAM and nothing else.
func usable(regions []boot.Region, lo, hi uint64) bool {
	inside := false
	for i := range regions {
		r := &regions[i]
		if r.Usable {
			inside = inside || r.Lo <= lo && hi <= r.Hi
		} else if r.Lo < hi && lo < r.Hi {
			return false
		}
	}
	return inside
}
