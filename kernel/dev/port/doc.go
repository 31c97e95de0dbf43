// Package port sends text through a port of a virtio console, from which a host takes it in pieces
// of thousands of bytes, and receives input there.
//
//	port.go     finding the device, sending, waiting until all is out
//	receive.go  receiving
//
// Output is copied into memory that the device has had since boot, and Send returns before the host
// has it. Flush waits for that: call it before writing elsewhere or ending the machine.
//
// It imports arch, kernel/mem, kernel/dev/pci and kernel/dev/virtio. Early and kernel context, and
// the panic path, with interrupts off: it does not allocate, and its globals hold no pointers.
package port
