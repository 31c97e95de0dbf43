package gotest

// work is what tests do, in small: it looks things up in a map, allocates, sorts and mixes
// bits. It is done by this host and by a machine, to compare their speed.
func work() (sum uint64) {
	const n = 20_000
	counts := make(map[uint64]int)
	words := make([][]byte, 0, n)
	x := uint64(88172645463325252)
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		counts[x%1000]++
		w := make([]byte, 8+x%32)
		for i := range w {
			w[i] = byte(x >> (i % 8 * 8))
		}
		words = append(words, w)
	}
	for gap := n / 2; gap > 0; gap /= 2 { // Shell's sort, by length and first byte
		for i := gap; i < n; i++ {
			for j := i; j >= gap; j -= gap {
				a, b := words[j-gap], words[j]
				if len(a) < len(b) || len(a) == len(b) && a[0] <= b[0] {
					break
				}
				words[j-gap], words[j] = b, a
			}
		}
	}
	for i, w := range words {
		sum = sum*31 + uint64(len(w))*uint64(i) + uint64(counts[uint64(i%1000)])
	}
	return sum
}
