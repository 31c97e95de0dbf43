package resource

// What zf handles tells, for those who show it in another form.

// Group is what is open of one kind from one stack.
type Group struct {
	Stack   uint32   // 0 if not known
	Handles []Handle // the oldest first
	Bytes   uint64   // sum of sizes
}

// Groups returns what is open of a kind by stack, the most first.
func (s *Snapshot) Groups(kind uint64) (all []Group) {
	for _, g := range s.groups(kind) {
		all = append(all, Group{g.stack, g.handles, g.bytes})
	}
	return all
}

// Describe tells a handle in a few words.
func (s *Snapshot) Describe(h Handle) string { return s.describe(h) }

// Kind returns the sums of a kind.
func (s *Snapshot) Kind(id uint64) Stats { return s.kind(id) }

// HasBytes reports whether the sizes of a kind are bytes.
func HasBytes(kind uint64) bool { return hasBytes(kind) }
