//go:build !amd64

package tracer

func paint(base, words, signature uintptr) {
	for i := range words {
		*(*uintptr)(pointer(base + i*8)) = signature
	}
}

func unpainted(base, blocks, signature uintptr) (n uintptr) {
	for ; n < blocks; n++ {
		b := (*[8]uintptr)(pointer(base + n*64))
		// One branch for eight words: paint leaves no bit set in the differences.
		if (b[0]^signature)|(b[1]^signature)|(b[2]^signature)|(b[3]^signature)|
			(b[4]^signature)|(b[5]^signature)|(b[6]^signature)|(b[7]^signature) != 0 {
			break
		}
	}
	return n
}
