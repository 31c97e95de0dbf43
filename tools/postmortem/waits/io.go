package waits

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// IO is what is known of a wait for input or output.
type IO struct {
	// Descriptor is the system's number of the file or connection, -1 if that is not known;
	// Operation what is done with it: read, write, accept.
	Descriptor int    `json:"-"`
	Operation  string `json:"operation"`
	// Network is that of a connection, such as tcp, with the addresses of both sides; Peer is empty
	// for a listener. File is the name of another file.
	Network string `json:"network,omitempty"`
	Local   string `json:"local,omitempty"`
	Peer    string `json:"peer,omitempty"`
	File    string `json:"file,omitempty"`
	// Deadline is how long after it began the wait is to end, 0 if it has no deadline; Late is set if
	// that has passed.
	Deadline Seconds `json:"deadline_s,omitempty"`
	Late     bool    `json:"late,omitempty"`
	// DeadlineAt is the address of the word in which the runtime has the deadline, 0 if there is none.
	DeadlineAt uint64 `json:"-"`
}

// Seconds is a time in nanoseconds, which JSON has in seconds.
type Seconds time.Duration

// MarshalJSON writes the seconds.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// String says in a line what is waited for.
func (x *IO) String() string {
	s := x.Operation
	if x.Descriptor >= 0 {
		s = strings.TrimSpace(s + " of descriptor " + strconv.Itoa(x.Descriptor))
	}
	if x.Network != "" {
		s += ", " + x.Network
		if x.Local != "" {
			s += " " + x.Local
		}
		if x.Peer != "" {
			s += " with " + x.Peer
		}
	}
	if x.File != "" {
		s += ", " + x.File
	}
	switch {
	case x.Late:
		s += ", whose deadline has passed"
	case x.Deadline > 0:
		s += fmt.Sprintf(", with a deadline %v after it began",
			time.Duration(x.Deadline).Round(time.Millisecond))
	}
	return strings.TrimPrefix(s, ", ")
}

// ioWait finds out for what a goroutine waits in the runtime's poller: by the poll.FD whose method
// is on its stack.
func (p *program) ioWait(g *Goroutine) *IO {
	const method = "internal/poll.(*FD)."
	for i := range g.frames {
		name := funcName(&g.frames[i])
		if !strings.HasPrefix(name, method) {
			continue
		}
		x := &IO{Descriptor: -1, Operation: strings.ToLower(strings.TrimPrefix(name, method))}
		fd := p.receiver(g, i, "fd")
		if fd == 0 || !p.has(fd, "internal/poll.FD.Sysfd") {
			return x
		}
		// What is waited on is this one's, if the address is that of an FD.
		desc := p.get(fd, "internal/poll.FD.pd.runtimeCtx")
		reads := desc != 0 && p.get(desc, "runtime.pollDesc.rg") == g.g
		if !reads && (desc == 0 || p.get(desc, "runtime.pollDesc.wg") != g.g) {
			return x
		}
		x.Descriptor = int(int64(p.get(fd, "internal/poll.FD.Sysfd")))
		p.deadline(g, desc, reads, x)
		for k := i + 1; k < len(g.frames); k++ {
			switch f := funcName(&g.frames[k]); {
			case strings.HasPrefix(f, "net.(*netFD)."):
				p.connection(p.holder(fd, "net.netFD.pfd"), x)
				return x
			case strings.HasPrefix(f, "os.(*File)."):
				x.File = p.text(p.at(p.holder(fd, "os.file.pfd"), "os.file.name"))
				return x
			}
		}
		return x
	}
	return nil
}

// deadline reads that of a runtime.pollDesc.
func (p *program) deadline(g *Goroutine, desc uint64, reads bool, x *IO) {
	field := "runtime.pollDesc.wd"
	if reads {
		field = "runtime.pollDesc.rd"
	}
	// 0: when it began is not known
	at, since := int64(p.get(desc, field)), int64(p.get(g.g, "runtime.g.waitsince"))
	if at != 0 {
		x.DeadlineAt = p.at(desc, field)
	}
	switch {
	case at < 0:
		x.Late = true
	case at > 0 && since > 0 && at > since:
		x.Deadline = Seconds(at - since)
	}
}

// connection reads the addresses of a net.netFD.
func (p *program) connection(c uint64, x *IO) {
	x.Network = p.text(p.at(c, "net.netFD.net"))
	switch x.Network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	case "unix", "unixgram", "unixpacket":
		x.Local = p.text(p.at(p.word(p.at(c, "net.netFD.laddr")+8), "net.UnixAddr.Name"))
		x.Peer = p.text(p.at(p.word(p.at(c, "net.netFD.raddr")+8), "net.UnixAddr.Name"))
		return
	default:
		return
	}
	x.Local, x.Peer = p.address(p.at(c, "net.netFD.laddr")), p.address(p.at(c, "net.netFD.raddr"))
}

// address reads a net.Addr that is a *net.TCPAddr or a *net.UDPAddr, which look the same.
func (p *program) address(iface uint64) string {
	a := p.word(iface + 8)
	if iface == 0 || a == 0 || !p.has(a, "net.TCPAddr.Port") {
		return ""
	}
	at := p.at(a, "net.TCPAddr.IP")
	ptr, n, port := p.word(at), p.word(at+8), uint16(p.get(a, "net.TCPAddr.Port"))
	if n == 0 {
		return fmt.Sprintf(":%d", port)
	}
	ip, ok := netip.AddrFromSlice(p.bytes(ptr, min(n, 16)))
	if !ok {
		return ""
	}
	return netip.AddrPortFrom(ip.Unmap(), port).String()
}

// text reads a string that is to be shown.
func (p *program) text(addr uint64) string {
	if addr == 0 {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, p.str(addr))
}
