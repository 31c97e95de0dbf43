// Package depot stores stacks: it gives each distinct stack a number, in fixed memory, so that an
// allocation, a handle or a sample can name its stack in four bytes.
//
// # Layout
//
// Stacks that end in the same outer frames share them. The memory holds units of three bytes (four
// when the text and the memory do not fit three). A unit is a frame, the end of a stack, or a link;
// the frames of a stack follow each other, innermost first, until a link says where they go on. A
// stack's number, its ID, is the index of its first unit:
//
//	17  f  g  link 4          f called by g, which is called by the stack at 4
//	 4  h  main  end          h called by main, which nobody called
//
// So ID 5 is the stack of main alone, ID 4 that of h called by main, ID 17 that of f. A stack that
// is the outer part of another one takes no room.
//
//	unit                      says
//	0 ...                     a return address, less the start of the text
//	S ...                     an exact pc, less the start of the text; S is the text's size
//	2S + vector               the frames within belong to the handler of a trap; it is
//	                          the last frame where a stack is cut at an interrupt
//	2S + 512 + number         the entry of the system call with that number
//	2S + 1280                 an address outside the text, which is not stored
//	2S + 1281 + end           the end, with the reason as tracer.End has it, or EndCut
//	2S + 1313 + index         a link
//
// Beside the units lies an index, a hash table of the IDs of all units that are no links, by a hash
// of the stack from that unit on. The hash is a sum with a power of a constant for each frame, so
// it is complete when the walk arrives at the outermost frame, and the hashes of all tails of a new
// stack follow on the way back in. A hit is compared in full, so two stacks never get the same ID.
//
// The stacks that were found last are kept a second time, in one piece (recent.go), because most
// lookups are for one of them.
//
// # Memory and interrupts
//
// Nothing is ever moved or freed, so an ID is valid as long as the depot. Room is taken with one
// atomic instruction, filled, and published by one store; an interrupt may intern a stack at any
// point of that. (A stack that is added just then may be added once more later, with another ID for
// the same frames.) There is one CPU.
//
// An interrupt handler that interns a stack ends it with the trap frame ([Depot.Trap]), because the
// interrupted code is there by chance: each function would be stored together with each handler,
// and the depot would fill up.
//
// A full depot gives no new IDs, counts the stacks that it refused, and still finds those that it
// has.
//
// The package allocates nothing and calls nothing of the runtime: any context. [Image] is for the
// host.
//
// In the order of reading:
//
//	depot.go   a depot, in memory that its owner gives it
//	recent.go  the stacks that were found last
//	cursor.go  the frames of a stack
package depot
