// Package pci finds devices on the PCI buses, and what their configuration space says
// of them.
//
//	config.go     reading and writing configuration space
//	scan.go       which functions there are
//	header.go     a function's base addresses, capabilities and interrupts; pure
//	interrupt.go  interrupts that are messages
//
// It imports arch. Early context; single accesses in any context, with interrupts
// off: no allocation, globals free of pointers. Loops have bounds whatever the hardware
// answers.
package pci
