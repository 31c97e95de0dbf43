package symbol

// sortByAddr sorts by address and keeps the order of what has the same. Addresses
// differ in few of their bytes, each of which takes one pass over the list: a
// fifth of the time that a sort by comparisons takes.
func sortByAddr(list []funcSymbol) {
	var differ uint64
	for i := range list {
		differ |= list[i].addr ^ list[0].addr
	}
	from, to := list, []funcSymbol(nil)
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		if to == nil {
			to = make([]funcSymbol, len(list))
		}
		var at [256]int
		for i := range from {
			at[byte(from[i].addr>>shift)]++
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for i := range from {
			b := byte(from[i].addr >> shift)
			to[at[b]] = from[i]
			at[b]++
		}
		from, to = to, from
	}
	if len(list) > 0 && &from[0] != &list[0] {
		copy(list, from)
	}
}
