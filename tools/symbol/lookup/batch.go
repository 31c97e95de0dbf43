package lookup

// Many questions at once, which cost far less than one by one (symbol.File.LookupAll).

// MaxAhead bounds the addresses of one batch.
const MaxAhead = 1 << 18

// Batcher is a Resolver that answers many at once. A *symbol.File is one.
type Batcher interface {
	LookupAll(addrs []uint64, ret bool) [][]Call
}

// A Question is what Resolver.Lookup is asked.
type Question struct {
	Addr uint64
	Ret  bool
}

// Answers are the answers to what was asked ahead of one image.
type Answers map[Question][]Call

// Lookup asks the image, unless it has been asked.
func (a Answers) Lookup(sym Resolver, addr uint64, ret bool) []Call {
	if calls, ok := a[Question{addr, ret}]; ok {
		return calls
	}
	return sym.Lookup(addr, ret)
}

// AskAll asks the image all of them, if it takes many at once; otherwise it returns nil.
func AskAll(sym Resolver, all []Question) Answers {
	calls := AskInOrder(sym, all)
	if calls == nil {
		return nil
	}
	a := make(Answers, len(all))
	for i, q := range all {
		a[q] = calls[i]
	}
	return a
}

// AskInOrder is AskAll that returns the answers in the order of the questions.
func AskInOrder(sym Resolver, all []Question) [][]Call {
	b, ok := sym.(Batcher)
	if !ok || len(all) < 2 {
		return nil
	}
	answers := make([][]Call, len(all))
	addrs, of := make([]uint64, 0, len(all)), make([]int, 0, len(all))
	for _, ret := range [...]bool{true, false} {
		addrs, of = addrs[:0], of[:0]
		for i, q := range all {
			if q.Ret == ret {
				addrs, of = append(addrs, q.Addr), append(of, i)
			}
		}
		if len(addrs) == 0 {
			continue
		}
		for i, calls := range b.LookupAll(addrs, ret) {
			answers[of[i]] = calls
		}
	}
	return answers
}
