package linux

import "github.com/zeroframe/zeroframe/kernel/dev/nic"

// hasEth0 reports whether the network card is an interface for sockets.
func hasEth0() bool { return stackLinked && nic.Up() }

// gateway4 is the router of version 4, as the stack has told it; 0 if there is none. Under the
// kernel lock.
var gateway4 uint32

// inMemory returns an address of version 4 as it lies in memory, which is how these files have it.
func inMemory(v uint32) uint64 {
	return uint64(v>>24 | v>>8&0xff00 | v<<8&0xff0000 | v<<24)
}
