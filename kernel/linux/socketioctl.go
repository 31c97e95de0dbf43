package linux

// ioctl of sockets: how much is in their buffers (Linux: include/uapi/linux/sockios.h). Netlink
// lists the interfaces (socketlink.go).

// ioctl is the call for sockets.
func (s *socket) ioctl(op, at uintptr) int64 {
	const inQueue, outQueue, atMark = 0x541b, 0x5411, 0x8905
	n := uint32(0) // sent bytes are already at the receiver
	switch {
	case op == inQueue:
		n = uint32(s.unread())
		fallthrough
	case op == outQueue:
		if s.stage == listening {
			return -eINVAL
		}
	case op == atMark && s.isLocal():
		return -eOPNOTSUPP
	case op == atMark && s.kind == sockStream: // there is no urgent byte
	default:
		return s.gatewayIoctl(op, at)
	}
	return copied(out32(at, n))
}
