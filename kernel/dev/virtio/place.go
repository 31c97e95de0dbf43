package virtio

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
)

// Devices without PCI cannot be enumerated: the command line says where they are (Firecracker and
// QEMU add that), or the machine is known.

// The places of the devices of QEMU's microvm (hw/i386/microvm.h). They are used only on a machine
// without PCI, because elsewhere something else may be there.
const (
	microvmBase  = 0xfeb00000
	microvmCount = 24
)

const maxPlaces = 32

// Set once at boot.
var (
	places    [maxPlaces]uintptr
	numPlaces int
)

// AddPlace tells [Places] where a device may be, in the form of Linux's option virtio_mmio.device=
// (drivers/virtio/virtio_mmio.c): <size>@<address>:<interrupt>, of which only the address counts.
// It returns what is wrong, or "". Early context.
func AddPlace(words []byte) (wrong string) {
	size, rest, ok := number(words)
	if !ok || len(rest) == 0 || rest[0] != '@' {
		return errPlace
	}
	base, rest, ok := number(rest[1:])
	if !ok || len(rest) == 0 || rest[0] != ':' {
		return errPlace
	}
	switch {
	case size < MMIOBytes || base%4 != 0 || base < 1<<20 || base > arch.MaxPhysical-MMIOBytes:
		return "no device can be there"
	case numPlaces == maxPlaces:
		return "only 32 devices are looked at"
	}
	places[numPlaces] = uintptr(base)
	numPlaces++
	return ""
}

const errPlace = "want SIZE@ADDRESS:INTERRUPT, such as 4K@0xd0000000:5"

// number reads a number, decimal or hexadecimal after 0x, with an optional K, M or G, and returns
// what follows.
func number(b []byte) (v uint64, rest []byte, ok bool) {
	base := uint64(10)
	if len(b) > 1 && b[0] == '0' && b[1]|0x20 == 'x' {
		base, b = 16, b[2:]
	}
	i := 0
	for ; i < len(b); i++ {
		digit := uint64(99)
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			digit = uint64(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			digit = uint64(c|0x20-'a') + 10
		}
		if digit >= base {
			break
		}
		if v >= 1<<59 {
			return 0, nil, false
		}
		v = v*base + digit
	}
	if i == 0 {
		return 0, nil, false
	}
	if i < len(b) {
		shift := uint(0)
		switch b[i] | 0x20 {
		case 'k':
			shift = 10
		case 'm':
			shift = 20
		case 'g':
			shift = 30
		}
		if shift != 0 {
			if v >= 1<<(63-shift) {
				return 0, nil, false
			}
			v <<= shift
			i++
		}
	}
	return v, b[i:], true
}

// Places iterates over the devices that are not on PCI. The zero Places is before the first: those
// of AddPlace, or if there are none and the machine has no PCI, those of QEMU's microvm.
type Places struct{ next int }

// Next finds the next device of that type, and sets d to it. It returns false after the last one.
// Early context.
func (p *Places) Next(d *Device, typ uint32) bool {
	for ; p.next < numPlaces; p.next++ {
		if e := mem.Mapped(arch.Virtual(places[p.next])); e != 0 && e&arch.PTEUncached == 0 {
			continue // RAM
		}
		if base := mem.MapDevice(places[p.next], MMIOBytes); base != 0 && d.at(base, typ) {
			p.next++
			return true
		}
	}
	if numPlaces > 0 || arch.HasPCI() {
		return false
	}
	base := mem.MapDevice(microvmBase, microvmCount*MMIOBytes)
	if base == 0 {
		return false
	}
	for ; p.next < microvmCount; p.next++ {
		if d.at(base+uintptr(p.next)*MMIOBytes, typ) {
			p.next++
			return true
		}
	}
	return false
}

// at sets d to the device of that type whose registers are at base, if there is one.
func (d *Device) at(base uintptr, typ uint32) bool {
	const magic = 0x74726976 // "virt"
	if arch.Load32(base+mmioMagic) != magic || arch.Load32(base+mmioDevice) != typ {
		return false
	}
	version := arch.Load32(base + mmioVersion)
	if version != 1 && version != 2 {
		return false
	}
	d.FromMemory(base, version)
	return true
}
