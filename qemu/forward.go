package qemu

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Forward returns the option of QEMU's -netdev user for a port of the guest that others reach by
// one of the host's, as users write it: PORT, HOST:PORT or ADDRESS:HOST:PORT, with /tcp or /udp
// behind. Without an address only programs on the host reach it.
func Forward(s string) (option string, err error) {
	ports, protocol, _ := strings.Cut(s, "/")
	if protocol == "" && !strings.Contains(s, "/") {
		protocol = "tcp"
	}
	address := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	rest, guest := "", ports
	if i := strings.LastIndexByte(ports, ':'); i >= 0 {
		rest, guest = ports[:i], ports[i+1:]
	}
	host := guest
	if rest != "" || guest != ports {
		host = rest
		if i := strings.LastIndexByte(rest, ':'); i >= 0 {
			host = rest[i+1:]
			address, err = netip.ParseAddr(strings.Trim(rest[:i], "[]"))
		}
	}
	switch {
	case err != nil:
		return "", fmt.Errorf(
			"%q: no address of the host; want ADDRESS:HOST:PORT, such as 0.0.0.0:8080:80", s)
	case protocol != "tcp" && protocol != "udp":
		return "", fmt.Errorf("%q: no protocol is called %q; want /tcp or /udp", s, protocol)
	case !address.Is4():
		return "", fmt.Errorf("%q: QEMU forwards ports of addresses of version 4 only", s)
	case !isPort(host) || !isPort(guest):
		return "", fmt.Errorf(
			"%q: want PORT, HOST:PORT or ADDRESS:HOST:PORT, with ports from 1 to 65535", s)
	}
	return fmt.Sprintf("hostfwd=%s:%s:%s-:%s", protocol, address, host, guest), nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}
