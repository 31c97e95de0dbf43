package netconsole

// The options, as in Linux's Documentation/networking/netconsole.rst and
// admin-guide/nfs/nfsroot.rst. If one is wrong, the functions here return a text that says why, for
// the boot report.

// Ports that are used if the option has none.
const (
	defaultSource      = 6665
	defaultDestination = 6666
)

// Address is an IPv4 address in the order of the wire.
type Address [4]byte

// IsZero reports whether a is 0.0.0.0, which stands for none.
func (a Address) IsZero() bool { return a == Address{} }

// Hardware is an Ethernet address.
type Hardware [6]byte

// Broadcast is the address of all machines on the wire. Never written.
var Broadcast = Hardware{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// Config is the result of the options.
type Config struct {
	On              bool // there is a valid netconsole=
	Extended        bool // log lines have Linux's extended header
	Release         bool // and the release before it
	Source          Address
	SourcePort      uint16
	Destination     Address
	DestinationPort uint16
	Hardware        Hardware // Destination's, if Fixed
	Fixed           bool     // the option says it
	Card            Hardware // the card of this machine to use; 0: any
	Gateway         Address  // 0: none
	Mask            Address  // 0: unknown
}

// ToMany reports whether a is the address of more than one machine: of a group, or of all on this
// wire.
func (c *Config) ToMany(a Address) bool {
	if isGroup(a) || a == (Address{255, 255, 255, 255}) {
		return true
	}
	many := c.Mask[3] < 254 // a network of 31 bits has no such address (RFC 3021)
	for i := range a {
		if a[i]&c.Mask[i] != c.Source[i]&c.Mask[i] || a[i]|c.Mask[i] != 255 {
			many = false
		}
	}
	return many && !c.Mask.IsZero()
}

// isGroup reports whether a is the address of a multicast group.
func isGroup(a Address) bool { return a[0]>>4 == 14 }

// NextHop returns the address of the machine on this wire that takes datagrams for a: a itself or,
// if it is elsewhere, the gateway. Without a mask every other address is elsewhere.
func (c *Config) NextHop(a Address) Address {
	if c.Gateway.IsZero() || c.ToMany(a) {
		return a
	}
	for i := range a {
		if (a[i]^c.Source[i])&c.Mask[i] != 0 || c.Mask.IsZero() {
			return c.Gateway
		}
	}
	return a
}

// readIP reads the option ip=CLIENT:[SERVER]:[GATEWAY]:[NETMASK][:...]. SERVER and everything after
// the mask are ignored.
func (c *Config) readIP(option []byte) (wrong string) {
	p := parser{b: option}
	var a, gateway, mask Address
	if !p.address(&a) {
		return "want ip=CLIENT::GATEWAY:NETMASK, each of the form 192.0.2.1; there is no DHCP here, so give this machine's address"
	}
	if p.take(':') {
		p.skipTo(':')
		if p.take(':') {
			if !p.at(':') && !p.end() && !p.address(&gateway) {
				return "its third part, the gateway, is no address like 192.0.2.1"
			}
			if p.take(':') {
				if !p.at(':') && !p.end() && !p.address(&mask) {
					return "its fourth part, the netmask, is no address like 255.255.255.0"
				}
			}
		}
	}
	if !p.at(':') && !p.end() {
		return "want colons between its parts: ip=CLIENT::GATEWAY:NETMASK"
	}
	if !isMask(mask) {
		return "its fourth part is no netmask: want one like 255.255.255.0"
	}
	c.Source, c.Gateway, c.Mask = a, gateway, mask
	return ""
}

// isMask reports whether a has its ones before its zeros.
func isMask(a Address) bool {
	v := uint32(a[0])<<24 | uint32(a[1])<<16 | uint32(a[2])<<8 | uint32(a[3])
	return ^v&(^v+1) == 0
}

// readConsole reads the option netconsole=. The own address of ip= has been read already.
func (c *Config) readConsole(option []byte) (wrong string) {
	p := parser{b: option}
	c.Extended = p.take('+')
	if c.Release = p.take('r'); c.Release && !c.Extended {
		return "the release (r) is a part of the extended format: put +r in front" + form
	}
	c.SourcePort, c.DestinationPort = defaultSource, defaultDestination
	if !p.at('@') && !p.port(&c.SourcePort) {
		return "want a port, 1 to 65535, or nothing before the first @" + form
	}
	if !p.take('@') {
		return "want an @ behind the first port" + form
	}
	if !p.at('/') && !p.address(&c.Source) {
		return "behind the first @, want this machine's address, such as 192.0.2.2" + form
	}
	if c.Source.IsZero() {
		return "this machine's address is missing: there is no DHCP here; give it behind the first @, or with ip=ADDRESS"
	}
	if !p.take('/') {
		return "want a / behind this machine's address" + form
	}
	// Only one card is used, whatever its name; a hardware address selects it.
	start, colon := p.pos, false
	for ; !p.end() && !p.at(','); p.pos++ {
		colon = colon || p.at(':')
	}
	if end := p.pos; colon {
		p.pos = start
		if !p.hardware(&c.Card) || p.pos != end {
			return "behind this machine's address and the /, want a card's name, or its hardware address, such as 52:54:00:12:34:56" + form
		}
	}
	if !p.take(',') {
		return "want a comma, and behind it where to send to" + form
	}
	if !p.at('@') && !p.port(&c.DestinationPort) {
		return "want a port, 1 to 65535, or nothing before the second @" + form
	}
	if !p.take('@') {
		return "want an @ behind the second port" + form
	}
	if !p.address(&c.Destination) || c.Destination.IsZero() {
		return "behind the second @, want the address to send to, such as 192.0.2.1" + form
	}
	if !p.take('/') {
		return "want a / behind the address to send to" + form
	}
	if !p.end() {
		if !p.hardware(&c.Hardware) || !p.end() {
			return "behind the last /, want the receiver's hardware address, such as 52:54:00:12:34:56, or nothing" + form
		}
		c.Fixed = true
	}
	c.On = true
	return ""
}

// form ends the text of an error.
const form = " (netconsole=[+[r]][SRCPORT]@SRCIP/[DEV],[DSTPORT]@DSTIP/[DSTMAC])"

// parser reads an option from left to right.
type parser struct {
	b   []byte
	pos int
}

func (p *parser) end() bool { return p.pos >= len(p.b) }

//go:noinline
func (p *parser) at(c byte) bool { return !p.end() && p.b[p.pos] == c }

func (p *parser) skipTo(end byte) {
	for !p.end() && !p.at(end) {
		p.pos++
	}
}

// take takes c if it is next.
//
//go:noinline
func (p *parser) take(c byte) bool {
	if !p.at(c) {
		return false
	}
	p.pos++
	return true
}

// number reads a decimal number up to max.
func (p *parser) number(max uint32) (v uint32, ok bool) {
	start := p.pos
	for ; !p.end() && p.b[p.pos]-'0' <= 9; p.pos++ {
		if v = v*10 + uint32(p.b[p.pos]-'0'); v > max {
			return 0, false
		}
	}
	return v, p.pos > start
}

func (p *parser) port(port *uint16) bool {
	v, ok := p.number(1<<16 - 1)
	*port = uint16(v)
	return ok && v != 0
}

func (p *parser) address(a *Address) bool {
	for i := range a {
		v, ok := p.number(255)
		if !ok || i < len(a)-1 && !p.take('.') {
			return false
		}
		a[i] = byte(v)
	}
	return true
}

func (p *parser) hardware(h *Hardware) bool {
	for i := range h {
		if i > 0 && !p.take(':') {
			return false
		}
		v := byte(0)
		for n := 0; n < 2; n++ {
			if p.end() {
				return false
			}
			c := p.b[p.pos] | 0x20 // lower case, for letters
			switch {
			case p.b[p.pos]-'0' <= 9:
				v = v<<4 | (p.b[p.pos] - '0')
			case c-'a' <= 5:
				v = v<<4 | (c - 'a' + 10)
			default:
				return false
			}
			p.pos++
		}
		h[i] = v
	}
	return true
}
