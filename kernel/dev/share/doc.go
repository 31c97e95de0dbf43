// Package share brings files of the host into the tree, and has the host make changes: it drives virtio-9p devices and speaks
// 9P2000.L with them, in which QEMU serves folders of its host.
//
//	share.go    the shares: Init, Open, Fetch, Poll
//	device.go   one device, and a message to it
//	fetch.go    what is fetched, message by message
//	change.go   what is changed, message by message
//	message.go  how messages are written and read
//
// It never waits long: a message is sent, and its answer looked for now and then. One thing is
// fetched or changed at a time by each device. What a device sends is never trusted.
//
// It is the kernel's own and no program of goroutines, since a package's init may read a file,
// and a goroutine that served it would not have begun then.
//
// It imports arch, kernel/mem, kernel/vfs, kernel/dev/pci and kernel/dev/virtio. Early and
// kernel context, with interrupts off: no allocation, globals free of pointers.
package share
