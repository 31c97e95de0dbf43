package capture

// Fragments of IPv6, which gopacket does not put together. A datagram whose fragments
// overlap is dropped, as RFC 5722 wants it.

import (
	"net/netip"
	"sort"
	"time"

	"github.com/google/gopacket/layers"
)

const (
	// maxDatagrams6 is the number of datagrams that wait for fragments, maxParts6 the
	// number of fragments of one.
	maxDatagrams6 = 256
	maxParts6     = 128
	maxLength6    = 1 << 16
)

type fragmentKey struct {
	from, to netip.Addr
	id       uint32
}

type part6 struct {
	offset int
	data   []byte
}

// datagram6 is a datagram of which fragments are missing.
type datagram6 struct {
	parts []part6
	bytes int
	total int // 0: not known
	heard time.Time
}

type fragments6 struct {
	open map[fragmentKey]*datagram6
}

// add takes a fragment, and returns the datagram if it is whole now.
func (f *fragments6) add(k fragmentKey, frag *layers.IPv6Fragment, when time.Time) (payload []byte, whole bool) {
	if f.open == nil {
		f.open = make(map[fragmentKey]*datagram6)
	}
	d := f.open[k]
	if d == nil {
		if len(f.open) >= maxDatagrams6 {
			f.forget(when)
		}
		d = new(datagram6)
		f.open[k] = d
	}
	d.heard = when
	p := part6{int(frag.FragmentOffset) * 8, frag.LayerPayload()}
	end := p.offset + len(p.data)
	for _, other := range d.parts {
		if p.offset < other.offset+len(other.data) && other.offset < end {
			if p.offset == other.offset && len(p.data) == len(other.data) {
				return nil, false // the same once more
			}
			delete(f.open, k)
			return nil, false
		}
	}
	if !frag.MoreFragments {
		d.total = end
	}
	if len(d.parts) >= maxParts6 || end > maxLength6 || len(p.data) == 0 {
		delete(f.open, k)
		return nil, false
	}
	d.parts = append(d.parts, p)
	d.bytes += len(p.data)
	if d.total == 0 || d.bytes < d.total {
		return nil, false
	}
	delete(f.open, k)
	sort.Slice(d.parts, func(i, j int) bool { return d.parts[i].offset < d.parts[j].offset })
	for _, p := range d.parts {
		if p.offset != len(payload) {
			return nil, false
		}
		payload = append(payload, p.data...)
	}
	return payload, true
}

// forget makes room: it drops what is too old, and the oldest if nothing is.
func (f *fragments6) forget(now time.Time) {
	var oldest fragmentKey
	found := false
	for k, d := range f.open {
		if now.Sub(d.heard) > fragmentAge {
			delete(f.open, k)
			continue
		}
		if !found || d.heard.Before(f.open[oldest].heard) {
			oldest, found = k, true
		}
	}
	if len(f.open) >= maxDatagrams6 {
		delete(f.open, oldest)
	}
}
