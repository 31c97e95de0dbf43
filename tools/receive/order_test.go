package receive

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
)

// TestOrder: whatever the order in which arrivals are resolved, those of a machine are shown
// in theirs, none is left out, and nothing is remembered.
func TestOrder(t *testing.T) {
	const machines, each = 5, 20
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		var o order
		var results []*result
		for seq := range uint32(each) {
			for m := range machines {
				a := &Arrival{Addr: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(m)}), 6665), Seq: seq}
				o.join(a)
				results = append(results, &result{a: a})
			}
		}
		r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
		next := make(map[netip.AddrPort]uint32)
		for len(results) > 0 {
			n := 1 + r.IntN(len(results))
			var shown []*result
			for _, res := range results[:n] {
				shown = ready(shown, res)
			}
			results = results[n:]
			for _, res := range shown {
				if res.a.Seq != next[res.a.Addr] {
					t.Fatalf("seed %d: %v's arrival %d is shown; want %d", seed, res.a.Addr, res.a.Seq, next[res.a.Addr])
				}
				next[res.a.Addr]++
				o.leave(res.a)
			}
		}
		for a, n := range next {
			if n != each {
				t.Errorf("seed %d: %d arrivals of %v were shown; want %d", seed, n, a, each)
			}
		}
		if len(next) != machines || len(o.latest) != 0 {
			t.Errorf("seed %d: %d machines, %s; want %d, and none under way", seed, len(next), fmt.Sprint(o.latest), machines)
		}
	}
}
