// Package waits says who waits for whom in a Go program that has stopped, and names what keeps it
// from going on: rings of locks, channels that nobody serves, a loop that spins.
//
// It reads a core through Delve (github.com/go-delve/delve/pkg/proc). The runtime's own records
// say for what each goroutine waits: sudogs for channels, semaphores and conditions. Around a
// semaphore's word lies the Mutex, RWMutex or WaitGroup. Who has a lock is told by the machine
// code of the functions on the stacks (package locks), and so is who still comes to a send, a
// receive, a Done or a Signal. What is not certain is not said, or said with "perhaps".
//
//	Analyze            a core -> a Graph, with Findings
//	NewList            the traces of all goroutines -> a List, for Analyze in the place of a core
//	Graph.WriteText    and WriteJSON, WriteDOT, WriteSVG
//
// Context: the host; programs for amd64 of Go 1.25 to 1.27, with DWARF.
//
// In the order of reading:
//
//	graph.go      the graph, and how it is made
//	program.go    memory, types and variables of the program
//	goroutine.go  its goroutines
//	wait.go       what each waits for
//	holders.go    who has it
//	partners.go   who would end the wait later on; what the objects hold
//	timers.go     what the functions of timers lead to
//	spin.go       those that run and wait all the same
//	place.go      system calls, and waits of the standard library that mean more
//	io.go         which file or connection a wait for input or output is for
//	kernel.go     who has the kernel lock
//	list.go       a program made of the traces of all goroutines
//	names.go      an address -> the variable or field
//	find.go       who can run, who is stuck, what is named
//	words.go      in words
//	json.go       as text and JSON
//	draw.go       as DOT and SVG
package waits
