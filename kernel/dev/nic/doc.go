// Package nic drives one network card of the machine, the first one that works or the requested
// one: virtio-net, on PCI or memory-mapped, and Intel's e1000. It sends and receives whole Ethernet
// frames, without their checksum; other packages handle their contents. A network stack may leave
// it to a virtio card to cut packets of TCP into frames and to join them, if the card offers that.
//
//	nic.go         the table of drivers; the face: Want, Init, Send, Receive, Restart
//	interrupt.go   the interrupt for a received frame
//	virtio.go      virtio-net: features, sending
//	virtqueue.go   its queues
//	checksum.go    checksums that have been left open
//	e1000.go       e1000 and e1000e
//
// It is made for the panic path: a frame is copied into memory that the card has had since boot,
// and sending waits until it is gone. There are 64 buffers of 2 KiB for sending and 64 for
// receiving, with e1000 256, taken from RAM at Init. The card's writes are never trusted: all
// lengths and indices are checked, all waits end.
//
// It imports arch, kernel/mem, kernel/dev/pci and kernel/dev/virtio. Early and kernel context, as
// each function says, with interrupts off: it does not allocate, and its globals hold no pointers.
package nic
