package image

import (
	"bytes"
	"fmt"
	"slices"
)

// screenFields is what follows the address fields of a multiboot header that asks for a
// screen (Multiboot 0.6.96, section 3.1.4).
type screenFields struct {
	ModeType             uint32 // 0 pixels, 1 text
	Width, Height, Depth uint32 // 0: no preference
}

const (
	screenFlag = 1 << 2 // section 3.1.2, bit 2
	screenSize = 16     // bytes of a screenFields
)

// WantScreen returns a copy of a finished image that asks its multiboot loader for a
// screen: text where there is such a thing, and otherwise pixels, as under UEFI. GRUB
// gives it; QEMU's loader knows no screens and complains, so an image does not ask by
// itself. Nothing else changes, the build ID least of all. Errors wrap [ErrLayout].
func WantScreen(file []byte) ([]byte, error) {
	h, off, ok := findMultiboot(file)
	if !ok {
		return nil, fmt.Errorf("%w: it has no multiboot header; make it with -loaders multiboot",
			ErrLayout)
	}
	at := off + multibootSize
	if at+screenSize > multibootSearch || at+screenSize > uint64(len(file)) ||
		h.Flags&screenFlag == 0 && !bytes.Equal(file[at:at+screenSize], make([]byte, screenSize)) {
		return nil, fmt.Errorf(
			"%w: there is no room for a screen behind the multiboot header; make the image with this version of zf", ErrLayout)
	}
	out := slices.Clone(file)
	h.Flags |= screenFlag
	h.Checksum = -(h.Magic + h.Flags)
	writeStruct(out, off, &h)
	writeStruct(out, at, screenFields{ModeType: 1})
	return out, nil
}
