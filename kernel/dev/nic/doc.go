// Package nic drives one network card of the machine, the first one that works or the one
// that is asked for: virtio-net, on PCI or memory-mapped, and Intel's e1000. It sends and
// receives whole Ethernet frames, without their checksum; what is in them is others' business.
//
//	nic.go         the table of drivers; the face: Want, Init, Send, Receive, Restart
//	interrupt.go   being told that a frame has come
//	virtio.go      virtio-net: features, sending
//	virtqueue.go   its queues
//	e1000.go       e1000 and e1000e
//
// It is made for the panic path: a frame is copied into memory that the card has had since
// boot, and sending waits until it is gone. There are 16 buffers of 2 KiB to send from and
// 16 to receive in, taken from RAM at Init. What the card writes is never trusted: all
// lengths and indices are checked, all waits end.
//
// It imports arch, kernel/mem, kernel/dev/pci and kernel/dev/virtio. Early and kernel context, as each
// function says, with interrupts off: no allocation, globals free of pointers.
package nic
