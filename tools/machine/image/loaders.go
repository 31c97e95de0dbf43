package image

// A set of boot protocols is chosen when an image is finished, because a loader
// that knows several takes its own favourite: QEMU looks for multiboot before
// PVH, so only an image without a multiboot header proves the PVH path there.

import (
	"fmt"
	"strings"
)

// Loaders is a set of boot protocols an image is made for.
type Loaders uint8

const (
	// Multiboot is the Multiboot 1 protocol (Multiboot Specification 0.6.96).
	Multiboot Loaders = 1 << iota
	// PVH is Xen's 32-bit direct boot ABI (Xen docs/misc/pvh.pandoc).
	PVH

	// AllLoaders is every protocol there is; an image is made for all by default.
	AllLoaders = Multiboot | PVH
)

// String returns the protocols' names joined by commas, the form that
// [ParseLoaders] reads.
func (l Loaders) String() string {
	var names []string
	if l&Multiboot != 0 {
		names = append(names, "multiboot")
	}
	if l&PVH != 0 {
		names = append(names, "pvh")
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// ParseLoaders reads a comma-separated list of protocol names: "multiboot",
// "pvh". An unknown name and an empty list are errors.
func ParseLoaders(s string) (Loaders, error) {
	var l Loaders
	for _, name := range strings.Split(s, ",") {
		switch strings.TrimSpace(name) {
		case "multiboot":
			l |= Multiboot
		case "pvh":
			l |= PVH
		default:
			return 0, fmt.Errorf("unknown loader %q: use multiboot, pvh, or multiboot,pvh", name)
		}
	}
	return l, nil
}
