// Package virtio drives the transport of virtio devices: it finds their registers on PCI and
// without, agrees on features, and hands queues over. What goes through the queues is the
// business of the packages that drive network cards, consoles and shared folders.
//
//	device.go     a device: reset, features, readiness
//	layout.go     where its registers are on PCI
//	place.go      and where without
//	registers.go  reading and writing them
//	queue.go      its queues
//
// What a device writes is never trusted: who takes something from a queue checks it, and all
// waits end.
//
// It imports arch, kernel/mem and kernel/dev/pci. Early and kernel context, and the panic
// path for devices that it uses, with interrupts off: no allocation, globals free of pointers.
package virtio
