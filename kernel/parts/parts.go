// Package parts says which parts of the kernel an image has.
//
// A program that is built with the go command alone has all of them. zf replaces this file by one
// in which some of the constants are false, and the compiler and the linker then leave out all code
// that only they lead to: zf run and zf test link what their flags and kernel options ask for,
// zf build what its flag -parts says. What a death needs is in every image.
//
// Context: any.
package parts

// The parts: in lower case, the words of -parts.
const (
	Dump    = true // sends the memory of a dead machine (package memdump, option core=)
	Monitor = true // the prompt (package monitor)
	Network = true // network cards, and the console by network (packages nic and netconsole)
	Observe = true // profiles, handles and probes (package observe)
	Shares  = true // folders of the host (package share)
	Sockets = true // sockets (socket*.go of package linux)
)
