package receive

// recent remembers what was used last: at least the n latest keys, at most twice as many.
// Senders make up what they like, so nothing that they name may be kept for ever.
type recent[K comparable, V any] struct {
	n          int
	young, old map[K]V
}

func (r *recent[K, V]) get(k K) (v V, ok bool) {
	if v, ok = r.young[k]; ok {
		return v, true
	}
	if v, ok = r.old[k]; ok {
		r.put(k, v)
	}
	return v, ok
}

func (r *recent[K, V]) put(k K, v V) {
	if r.young == nil || len(r.young) >= r.n {
		r.old, r.young = r.young, make(map[K]V)
	}
	r.young[k] = v
}
