// Package code reads machine code of the 64-bit x86: which call a return address
// belongs to, who calls whom.
//
//	Decode             an instruction's length and its flow of control (inst.go)
//	Image              the code of a program with its functions (image.go)
//	Image.CallBefore   the call before a return address (call.go)
//	Image.TailPath     the tail calls between two functions (tail.go)
//	Image.HasFrame     whether a function has made its frame record (frame.go)
//	Image.Graph        the call graph (graph.go)
//
// It knows bytes and addresses, and neither ELF nor names: package symbol gives
// it the former and gets the latter. The bytes come from anywhere; time and memory
// are in proportion to them whatever they are.
//
// Context: the host. It imports the standard library only.
//
// In the order of reading:
//
//	image.go    the code of a program
//	inst.go     an instruction
//	call.go     what a return address proves
//	tail.go     tail calls
//	frame.go    frame records
//	graph.go    the call graph
package code
