// Package clock tells the time and interrupts at a given time. The time stamp counter is the clock:
// it is read in one instruction and converted to nanoseconds by a multiplication. The board finds
// out its frequency and the timer (package arch). The only counter is arch.ReadCounter; if the
// CPUs' counters differ, package smp finds the offsets.
//
// It imports arch. Early and kernel context, with interrupts off: it does not allocate, and its
// globals hold no pointers.
//
// The files:
//
//	clock.go  Init, Now, Wall
//	shot.go   Arm and the interrupt
//	skew.go   CPUs whose counters differ
//	scale.go  the arithmetic
package clock
