// Package port sends text by a port of a virtio console, from which a host takes it in
// pieces of thousands of bytes, and receives input there.
//
//	port.go     finding the device, sending, waiting until all is out
//	receive.go  receiving
//
// What is sent is copied into memory that the device has had since boot, and Send returns
// before the host has it. Flush waits for that: who writes elsewhere, or ends the machine,
// calls it first.
//
// It imports arch, kernel/mem, kernel/dev/pci and kernel/dev/virtio. Early and kernel context,
// and the panic path, with interrupts off: no allocation, globals free of pointers.
package port
