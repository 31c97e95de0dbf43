// Package clock tells the time and interrupts at a given one. The time stamp
// counter is the clock: it is read in one instruction and made nanoseconds by a
// multiplication. How fast it counts, and what interrupts, is for the board to find
// (package arch). The counter is arch.ReadCounter and no other; where the CPUs' are not one, package smp
// has found what is to be added.
//
// It imports arch. Early and kernel context, with interrupts off: no
// allocation, globals free of pointers.
//
// Where to look:
//
//	clock.go  Init, Now, Wall
//	shot.go   Arm and the interrupt
//	skew.go   CPUs whose counters are not one
//	scale.go  the arithmetic
package clock
