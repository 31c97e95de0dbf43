// Secrets has what nobody may find in its memory when it has died.
package main

import (
	"fmt"

	"github.com/zeroframe/zeroframe/kernel"
)

var global [100]byte

// fill writes words that are nowhere else, not on the stack either: a test looks for them.
func fill(b []byte, first, second byte) {
	for i := range b {
		switch i % 8 {
		case 0:
			b[i] = first
		case 1:
			b[i] = second
		case 7:
			b[i] = first + 1
		default:
			b[i] = "  cret-"[i%8]
		}
	}
}

func main() {
	large, open := make([]byte, 3*4096+77), make([]byte, 5000)
	small := make([]byte, 24)
	kernel.Secret(large)
	kernel.Secret(small)
	kernel.Secret(global[3:91])
	fill(large, 'S', 'E')
	fill(small, 'T', 'E')
	fill(global[3:91], 'V', 'E')
	fill(open, 'O', 'P')
	was := make([]byte, 800)
	kernel.Secret(was)
	fill(was, 'W', 'A')
	kernel.Forget(was)
	fmt.Println("ready to die", len(large), len(small), len(open), len(was), global[0])
	var p *[2]int
	p[1] = int(large[0] + small[0] + open[0] + was[0])
}
