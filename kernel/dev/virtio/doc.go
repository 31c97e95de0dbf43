// Package virtio drives the transport of virtio devices: it finds their registers on PCI and
// without, negotiates features, and hands over queues. The packages that drive network cards,
// consoles and shared folders handle the contents of the queues.
//
//	device.go     a device: reset, features, readiness
//	layout.go     where its registers are on PCI
//	place.go      where its registers are without PCI
//	registers.go  reading and writing them
//	queue.go      its queues
//
// A device's writes are never trusted: whoever takes something from a queue checks it, and all
// waits end.
//
// It imports arch, kernel/mem and kernel/dev/pci. Early and kernel context, and the panic path for
// devices that it uses, with interrupts off: it does not allocate, and its globals hold no
// pointers.
package virtio
