// Package pci finds devices on the PCI buses, and reads their configuration space.
//
//	config.go     reading and writing configuration space
//	scan.go       finding the functions
//	header.go     a function's base addresses, capabilities and interrupts; pure
//	interrupt.go  interrupts that are messages
//
// It imports arch. Early context; single accesses in any context, with interrupts off: it does not
// allocate, and its globals hold no pointers. Loops are bounded, whatever the hardware answers.
package pci
