// Package capture reads UDP datagrams out of capture files, pcap and pcapng, as tcpdump,
// Wireshark and QEMU's filter-dump write them, compressed by gzip or not. It looks
// through Ethernet, VLAN tags (also several), Linux's cooked captures, raw IP and
// loopback, and puts fragments of IPv4 together.
//
// The package is apart from its only user because gopacket's tables take milliseconds
// to set up, whether they are used or not. Host.
//
//	capture.go  captures -> datagrams
package capture
