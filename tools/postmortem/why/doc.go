// Package why says what a recorded death came from: it goes back from the value that an instruction
// died of to the instruction that made it, over copies, until a constant, an input or an
// allocation.
//
// A value in a register was set a short while ago: the last instructions are stepped through in a
// replay (path.go), and read backwards (slice.go). A word of memory may be old: a replay from the
// start watches it, and the last write counts (machine.go). Each replay does the same, so that an
// instruction is named by how many were run before it.
//
// What is proved is the way of the data. Where a value is computed of several, the one is followed
// that earlier rounds of the same instruction say is off; if they do not, each is, and nobody is
// blamed alone. Why a branch was taken is asked in five cases: a panic that a comparison led to, a
// nil that the standard library answers, an error that was made, a word that was written in earlier
// rounds and not in the last one, and one that was set anew in those.
//
// In the order of reading:
//
//	why.go      what is known of the image: functions, variables, the program's own code
//	machine.go  one replay: to an instruction, watching a word
//	path.go     the last instructions, without what has interrupted them
//	effects.go  what an instruction writes, and what of
//	slice.go    the way back
//	follow.go   which values take it, and those that they fork into
//	copies.go   copies and clearing, each as one step
//	operands.go which of several operands to follow
//	death.go    where it begins: what the machine died of
//	panic.go    what a panic was about
//	assert.go   a failed assertion of a test
//	errors.go   an error: what it wraps, and who made it
//	branch.go   why the code came to a place
//	control.go  why a word was not written again
//	again.go    why a word that is added to was not set anew
//	bound.go    whether a function had to come to where it gave up
//	missing.go  a key that was deleted, a channel that is closed
//	device.go   words that a device has written
//	writers.go  who has written a word
//	waits.go    who has made what a goroutine waits for what it is
//	story.go    the answer in words
//
// Context: the host. It imports Zeroframe's packages qemu, tools/symbol/code, tools/symbol/lookup,
// tools/postmortem/memory, tools/machine/replay, tools/format/source and tools/symbol, and
// golang.org/x/arch.
package why
