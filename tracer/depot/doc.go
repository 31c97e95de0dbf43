// Package depot keeps stacks: it gives each different stack a number, in fixed memory,
// so that an allocation, a handle or a sample can name the stack that it came from in
// four bytes.
//
// # How stacks lie in it
//
// Stacks that end in the same outer frames share them. The memory holds units of three
// bytes (four when the text and the memory do not fit three). A unit is a frame, the end
// of a stack, or a link; the frames of a stack follow each other from the innermost on
// until a link says where they go on. A stack's number, its ID, is the index of its
// first unit:
//
//	17  f  g  link 4          f called by g called by what is at 4
//	 4  h  main  end          h called by main, which nobody called
//
// So ID 5 is the stack of main alone, ID 4 that of h called by main, ID 17 that of f. A
// stack that is the outer part of another one takes nothing.
//
//	unit                      says
//	0 ...                     a return address, less the start of the text
//	S ...                     an exact pc, less the start of the text; S is the text's size
//	2S + vector               the frames within belong to the handler of a trap; it is
//	                          the last frame where a stack is cut at an interrupt
//	2S + 512 + number         the entry of the system call with that number
//	2S + 1280                 an address outside of the text, which is lost
//	2S + 1281 + end           the end, with the reason as tracer.End has it, or EndCut
//	2S + 1313 + index         a link
//
// Beside the units lies an index, a hash table of the IDs of all units that are no
// links, by a hash of the stack from there on. It is a sum with a power of a constant
// for each frame, so the walk has it when it arrives at the outermost frame, and a new
// stack has those of all its tails on the way back in. A hit is compared in full: two
// stacks never get one ID.
//
// The stacks that were found last are kept once more in one piece (recent.go), since most
// that come are among them.
//
// # Memory and interrupts
//
// Nothing is ever moved or taken back, so an ID holds as long as the depot. Room is taken
// with one atomic instruction, filled, and made known by one store; an interrupt may
// intern while the code that it has interrupted is anywhere in that. (What one of them adds
// just then may be added once more later, with another ID that names the same frames.)
// There is one CPU.
//
// Who interns in an interrupt handler ends the stack with the trap frame
// ([Depot.Trap]), as what lies behind is by chance: each function would come in the
// company of each handler, and the depot fill up.
//
// A full depot gives no new IDs, counts what it had to refuse, and finds what it has.
//
// The package allocates nothing and calls nothing of the runtime: any context.
// [Image] is for the host.
//
// In the order of reading:
//
//	depot.go   a depot, in memory that its owner gives it
//	recent.go  the stacks that were found last
//	cursor.go  the frames of a stack
package depot
