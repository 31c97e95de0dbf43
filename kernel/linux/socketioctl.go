package linux

import "unsafe"

// ioctl of sockets: what there is in their buffers, and what the interface lo is (Linux:
// include/uapi/linux/sockios.h, net/core/dev_ioctl.c).

const (
	siocInQ      = 0x541b
	siocOutQ     = 0x5411
	siocAtMark   = 0x8905
	siocGIfName  = 0x8910
	siocGIfConf  = 0x8912
	siocGIfFlags = 0x8913
	siocGIfAddr  = 0x8915
	siocGIfDst   = 0x8917
	siocGIfBrd   = 0x8919
	siocGIfMask  = 0x891b
	siocGIfMet   = 0x891d
	siocGIfMTU   = 0x8921
	siocGIfHW    = 0x8927
	siocGIfIndex = 0x8933
	siocGIfTxQ   = 0x8942
	siocEthtool  = 0x8946
	siocGIfMap   = 0x8970

	sizeIfReq   = 40 // struct ifreq: a name of 16 bytes, and what it is about
	hardwareLo  = 772
	queueLo     = 1000
	loFlagsSeen = loFlags & 0xffff
)

// ioctl is the call for sockets.
func (s *socket) ioctl(op, at uintptr) int64 {
	switch op {
	case siocInQ:
		if s.stage == listening {
			return -eINVAL
		}
		return copied(out32(at, uint32(s.unread())))
	case siocOutQ: // what has been sent lies with the receiver
		if s.stage == listening {
			return -eINVAL
		}
		return copied(out32(at, 0))
	case siocAtMark:
		if s.isLocal() {
			return -eOPNOTSUPP
		}
		if s.kind == sockStream {
			return copied(out32(at, 0)) // there is no urgent byte
		}
		return -eNOTTY
	case siocGIfConf:
		return listInterfaces(at)
	case siocGIfName, siocGIfFlags, siocGIfMet, siocGIfMTU, siocGIfHW, siocGIfIndex, siocGIfTxQ, siocGIfMap, siocEthtool:
	case siocGIfAddr, siocGIfDst, siocGIfBrd, siocGIfMask:
		if s.family != afInet {
			return -eNOTTY
		}
	default:
		return -eNOTTY
	}
	var r [sizeIfReq / 4]uint32
	if !copyIn(uintptr(unsafe.Pointer(&r)), at, sizeIfReq) {
		return -eFAULT
	}
	if op == siocGIfName {
		if r[4] != loIndex {
			return -eNODEV
		}
		r[0] = r[0]&^0xffffff | nameLo
	} else if r[0]&0xffffff != nameLo {
		return -eNODEV
	}
	const loopback = 127 | 1<<24 // as it lies in memory
	switch op {
	case siocGIfFlags:
		r[4] = r[4]&^0xffff | loFlagsSeen
	case siocGIfAddr, siocGIfDst:
		r[4], r[5] = afInet, loopback
	case siocGIfBrd:
		r[4], r[5] = afInet, 0
	case siocGIfMask:
		r[4], r[5] = afInet, 0xff
	case siocGIfMet:
		r[4] = 0
	case siocGIfMTU:
		r[4] = loMTU
	case siocGIfHW:
		r[4] = hardwareLo
		r[5] = 0
	case siocGIfIndex:
		r[4] = loIndex
	case siocGIfTxQ:
		r[4] = queueLo
	case siocEthtool: // lo has no driver
		return -eOPNOTSUPP
	}
	return copied(copyOut(at, uintptr(unsafe.Pointer(&r)), sizeIfReq))
}

// listInterfaces answers SIOCGIFCONF, whose struct ifconf is at an address: room for so many
// bytes, and where. Without an address it says how much room it takes.
func listInterfaces(at uintptr) int64 {
	size, ok1 := in32(at)
	to, ok2 := in64(at + 8)
	if !ok1 || !ok2 {
		return -eFAULT
	}
	n := uint32(sizeIfReq)
	if to != 0 {
		if int32(size) < sizeIfReq {
			n = 0
		} else {
			r := [sizeIfReq / 4]uint32{0: nameLo, 4: afInet, 5: 127 | 1<<24}
			if !copyOut(uintptr(to), uintptr(unsafe.Pointer(&r)), sizeIfReq) {
				return -eFAULT
			}
		}
	}
	return copied(out32(at, n))
}
