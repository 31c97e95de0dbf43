package netconsole

import (
	"unsafe"

	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/mem"
	"github.com/zeroframe/zeroframe/kernel/parts"
	"github.com/zeroframe/zeroframe/tracer/datagram"
)

// state is used by both kinds of datagrams. Under the kernel lock; the panic path takes none.
var state struct {
	config    Config
	ready     bool // datagrams can be sent
	late      bool // the card did not take the latest trace in time
	capturing bool // the console's text is a trace

	boot   uint64
	build  [datagram.MaxBuild]byte
	nBuild int

	release  [16]byte
	nRelease int
}

// Configure reads the options; nil means that an option is missing. It returns what is wrong with
// either, or "". Early context.
func Configure(console, ip []byte) (wrongConsole, wrongIP string) {
	c := &state.config
	*c = Config{}
	if ip != nil {
		wrongIP = c.readIP(ip)
	}
	if console != nil {
		if wrongConsole = c.readConsole(console); wrongConsole != "" {
			c.Card = Hardware{} // others may use any card
		}
	}
	switch {
	case c.Fixed:
	case isGroup(c.Destination): // RFC 1112, 6.4
		c.Hardware = Hardware{0x01, 0x00, 0x5e, c.Destination[1] & 0x7f, c.Destination[2],
			c.Destination[3]}
	default:
		c.Hardware = Broadcast
	}
	return wrongConsole, wrongIP
}

// Start begins to send, if a valid option asks for it, through a card that works, and reports
// whether there is memory for it. build is the ELF's build ID, boot a random number, release the
// kernel's version. Early context, once, after [Configure] and nic.Init, before mem.Release.
func Start(build []byte, boot uint64, release string) bool {
	if keptAt = mem.Contiguous(datagram.MaxTrace); keptAt == 0 {
		return false
	}
	arch.Keep(unsafe.Pointer(&keptAt), unsafe.Sizeof(keptAt))
	state.boot = boot
	const digits = "0123456789abcdef"
	for _, b := range build {
		if state.nBuild+2 <= len(state.build) {
			state.build[state.nBuild] = digits[b>>4]
			state.build[state.nBuild+1] = digits[b&15]
			state.nBuild += 2
		}
	}
	for i := 0; i < len(release) && i < len(state.release); i++ {
		state.release[i] = release[i]
		state.nRelease = i + 1
	}
	line.frame.prepare(&state.config)
	trace.frame.prepare(&state.config)
	state.ready = true
	return true
}

// Ready reports whether datagrams are sent. Any context.
func Ready() bool { return parts.Network && state.ready }

// Options returns the options. Any context.
func Options() Config { return state.config }

// Boot returns the number of this boot in the datagrams of traces. Any context.
func Boot() uint64 { return state.boot }

// SetHardware sets the hardware address that datagrams go to. Goroutine context, any time: each
// datagram has either the old or the new address.
func SetHardware(h Hardware) {
	state.config.Hardware = h
	line.frame.setHardware(h)
	trace.frame.setHardware(h)
}

// netup is true in an image that contains package net/netup, which answers other machines of the
// network and finds out their hardware addresses. That package sets it in its source, because none
// of its code has run when it is read here. Never written.
//
//go:linkname netup
var netup bool

// Neighbor reports whether the image contains that package. Any context.
func Neighbor() bool { return netup }
