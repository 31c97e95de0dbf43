// Package share fetches files of the host into the tree, and asks the host to make changes: it
// drives virtio-9p devices and speaks 9P2000.L with them, the protocol by which QEMU serves folders
// of its host.
//
//	share.go    the shares: Init, Open, Fetch, Poll
//	device.go   one device, and a message to it
//	fetch.go    fetching, message by message
//	change.go   changes, message by message
//	message.go  how messages are written and read
//
// It never waits long: it sends a message, and looks for the answer now and then. Each device
// fetches or changes one thing at a time. A device's messages are never trusted.
//
// It is part of the kernel and not a goroutine, because a package's init may read a file, and a
// goroutine that served it would not have started yet.
//
// It imports arch, kernel/mem, kernel/vfs, kernel/dev/pci and kernel/dev/virtio. Early and kernel
// context, with interrupts off: it does not allocate, and its globals hold no pointers.
package share
