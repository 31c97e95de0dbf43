package boot

// The screen that a multiboot loader set up (Multiboot Specification 0.6.96, 3.3, framebuffer_*).
// GRUB provides it; QEMU's loader, u-root's kexec and PVH do not.

// Framebuffer is a screen in memory.
type Framebuffer struct {
	Addr          uint64 // of its first byte
	Pitch         uint32 // bytes from one line to the next
	Width, Height uint32 // in pixels; for a text screen, in characters
	BPP           uint8  // bits a pixel
	Kind          FramebufferKind
	// Red, Green and Blue say where a colour is in a pixel: RGB only.
	Red, Green, Blue ColorField
}

// ColorField is the bits of a colour: Size of them, from bit Shift on.
type ColorField struct{ Shift, Size uint8 }

// FramebufferKind says what a framebuffer contains.
type FramebufferKind uint8

// The kinds, by the numbers of the specification.
const (
	Indexed FramebufferKind = iota // pixels are numbers of colours in a palette
	RGB                            // pixels are colours
	Text                           // characters and attributes, as the EGA's
)

// Framebuffer returns the screen; ok is false if the loader gave none that makes sense. It is not
// mapped: its memory need not be RAM, nor below 4 GiB. Any context.
func (i *Info) Framebuffer() (f Framebuffer, ok bool) { return i.screen, i.hasScreen }

// readFramebuffer reads the fields at p, which the loader says are there.
func (i *Info) readFramebuffer(p uintptr) {
	if !readable(p, 30) {
		return
	}
	f := &i.screen
	f.Addr, f.Pitch, f.Width, f.Height = u64(p), u32(p+8), u32(p+12), u32(p+16)
	f.BPP, f.Kind = u8(p+20), FramebufferKind(u8(p+21))
	perLine := uint64(f.Width) * uint64(f.BPP) / 8
	switch f.Kind {
	case RGB:
		// The specification has them at 22; GRUB aligns them, as a C compiler does.
		if !f.colors(p+22) && !f.colors(p+24) {
			return
		}
	case Text:
		perLine = 2 * uint64(f.Width)
	case Indexed:
	default:
		return
	}
	size := uint64(f.Pitch) * uint64(f.Height)
	i.hasScreen = f.Addr != 0 && f.Addr+size > f.Addr && size > 0 && perLine > 0 &&
		perLine <= uint64(f.Pitch)
}

// colors reads where colours are, and reports whether that is possible.
func (f *Framebuffer) colors(p uintptr) bool {
	f.Red = ColorField{u8(p), u8(p + 1)}
	f.Green = ColorField{u8(p + 2), u8(p + 3)}
	f.Blue = ColorField{u8(p + 4), u8(p + 5)}
	for _, c := range [...]ColorField{f.Red, f.Green, f.Blue} {
		if c.Size == 0 || c.Size > 16 || uint(c.Shift)+uint(c.Size) > uint(f.BPP) {
			return false
		}
	}
	return true
}
