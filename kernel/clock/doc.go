// Package clock tells the time and interrupts at a given one. The time stamp
// counter is the clock: it is read in one instruction and made nanoseconds by a
// multiplication. How fast it counts is found at boot, against whatever the
// machine has that counts at a known rate; the local APIC's timer, or the PIT
// where there is none, interrupts.
//
// It imports arch/amd64. Early and kernel context, with interrupts off: no
// allocation, globals free of pointers.
//
// Where to look:
//
//	clock.go      Init, Now, Wall
//	shot.go       Arm and the interrupt
//	calibrate.go  how fast the counters count
//	scale.go      the arithmetic
package clock
