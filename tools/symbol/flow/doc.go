// Package flow follows the machine code of a Go function: what its registers and the words of its
// frame hold before each instruction, as far as the code alone says.
//
//	value.go     what a place holds, as an expression
//	state.go     what is known before an instruction; where two ways meet
//	function.go  a function's instructions, where its blocks begin
//	run.go       the way through its blocks
//	step.go      what one instruction does
//
// What a place holds is an expression over what the function began with. Equal expressions have one
// number: places with the same number hold equal values.
//
// There are two ways to follow a function. With Function.Strict all that is said is proved: a word
// of the frame to which a pointer may lead is not followed, and memory outside of the frame is
// unknown. Without it memory is taken to stay as it is until the function itself writes to the same
// expression, and pointers into the frame are taken not to be written through.
//
// Context: the host; code for the 64-bit x86. It imports nothing of ours.
package flow
