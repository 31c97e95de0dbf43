package handle

import (
	"encoding/binary"
	"fmt"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// heapRecord is a record of the kind HeapKind.
func heapRecord() []byte {
	b := append([]byte(heapMagic), 2, 0xab, 0xcd)
	add := func(v ...uint64) {
		for _, n := range v {
			b = binary.AppendUvarint(b, n)
		}
	}
	add(2e9, 1e18, 4096)
	add(1, 512, 10, 2, 0, 0, 3, 100, 300, 200)
	add(1, 65536, 3, 3, 5, 0, 1, 200)
	add(0)
	return b
}

// namer names addresses after themselves; those below 200 are the runtime's.
type namer struct{}

func (namer) LookupAll(addrs []uint64, ret bool) (all [][]lookup.Call) {
	for _, a := range addrs {
		name := fmt.Sprintf("f%d", a)
		if a < 200 {
			name = "runtime." + name
		}
		all = append(all, []lookup.Call{{Function: name, File: "f.go", Line: int(a)}})
	}
	return all
}
