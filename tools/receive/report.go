package receive

// From an arrival to what is shown, counted and exported. Each machine has a queue, of which
// one arrival after the other is resolved, by as many workers as there are CPUs. While a worker
// waits for an ELF file to be downloaded, another takes its place. So a burst costs the intake
// nothing but memory. That is bounded: then the intake waits.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

const (
	// maxUnresolved bounds the bytes of the traces that are to be resolved, and
	// arrivalCost is what one takes beside its own bytes.
	maxUnresolved = 128 << 20
	arrivalCost   = 1 << 10
	// maxSaid bounds the different messages to the user.
	maxSaid = 256
	// maxDownloads is how many workers that wait for an ELF file are replaced. Builds that
	// nobody has ever heard of must not become memory.
	maxDownloads = 64
	// maxGroups is the number of groups that are counted, maxSeen of how many crashes it is
	// remembered that they were, and maxSessions of how many boots the compact traces can
	// still build on those before. The latest are known.
	maxGroups, maxSeen, maxSessions = 1 << 16, 1 << 16, 512
)

// ReportOptions say what a Reporter does.
type ReportOptions struct {
	Out      io.Writer
	Terminal bool // Out is one: control characters are made visible
	Color    bool
	JSON     bool // objects instead of text
	Lines    bool // show log lines too

	// Finder finds the ELF files; nil: nothing is resolved.
	Finder *buildid.Finder
	// Export takes what ended a kernel, and reports whether there was room; nil: nobody does.
	Export func(*otlp.Crash) bool
	// Log takes messages for the user, without a line end; nil: they are lost.
	Log func(string)
}

// ReportStats count what a Reporter has done.
type ReportStats struct {
	Traces     uint64 // shown
	Unresolved uint64 // of them without an ELF file
	Known      uint64 // of them those that had been counted before
	Unexported uint64 // there was no room for them
}

// Reporter is the Sink that shows what arrives.
type Reporter struct {
	opt ReportOptions
	out output
	ctx context.Context

	working sync.WaitGroup
	idle    chan *resolver

	mu       sync.Mutex
	room     sync.Cond
	held     int
	workers  int                           // that run
	paused   int                           // of them, those that wait for a download
	queues   map[netip.AddrPort][]*Arrival // of machines; the first is ready, or being resolved
	ready    []netip.AddrPort
	sessions recent[sessionKey, *resolver]
	groups   recent[string, group] // by fingerprint
	seen     recent[string, bool]  // by the crash's ID
	said     map[string]bool
	stats    ReportStats
}

// A sessionKey names a boot that sends the compact form, whose traces build on those before.
type sessionKey struct {
	addr netip.AddrPort
	boot uint64
}

// group counts the crashes of one fingerprint since the start.
type group struct {
	count uint64
	first time.Time
	known bool // the crash was counted before
}

// result is an arrival that has been resolved.
type result struct {
	a       *Arrival
	text    []byte
	objects [][]byte // JSON, by crash, without the closing brace
	crashes []*otlp.Crash
	unknown bool // nothing could be resolved
}

// NewReporter returns a reporter. When ctx ends, nothing is downloaded any more.
func NewReporter(ctx context.Context, opt ReportOptions) *Reporter {
	if opt.Finder == nil {
		opt.Finder = buildid.NewFinder()
	}
	r := &Reporter{
		opt: opt, out: output{w: opt.Out, safe: opt.Terminal}, ctx: ctx,
		idle:   make(chan *resolver, runtime.NumCPU()),
		queues: make(map[netip.AddrPort][]*Arrival),
		said:   make(map[string]bool),
	}
	r.room.L = &r.mu
	r.groups.n, r.seen.n, r.sessions.n = maxGroups, maxSeen, maxSessions
	return r
}

// Line shows a log line.
func (r *Reporter) Line(l *Line) {
	if r.opt.Lines {
		r.out.line(l, r.opt.JSON)
	}
}

// Flush writes out what there is so far. The error is that of the output.
func (r *Reporter) Flush() error { return r.out.flush() }

// cost is what an arrival takes until it is shown, in bytes.
func (a *Arrival) cost() int { return cap(a.Bytes) + arrivalCost }

// Trace takes an arrival, and waits if there are too many.
func (r *Reporter) Trace(a *Arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.held > 0 && r.held+a.cost() > maxUnresolved {
		r.room.Wait()
	}
	r.held += a.cost()
	r.queues[a.Addr] = append(r.queues[a.Addr], a)
	if len(r.queues[a.Addr]) == 1 {
		r.ready = append(r.ready, a.Addr)
		r.startWorker()
	}
}

// enough reports whether no more workers may run. The lock is held.
func (r *Reporter) enough(workers int) bool {
	return workers-min(r.paused, maxDownloads) > runtime.NumCPU()
}

// startWorker starts a worker if there is something to do and one may run. The lock is held.
func (r *Reporter) startWorker() {
	if len(r.ready) > 0 && !r.enough(r.workers+1) {
		r.workers++
		r.working.Go(r.work)
	}
}

// work resolves and shows what is ready until there is no more.
func (r *Reporter) work() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.ready) > 0 && !r.enough(r.workers) {
		addr := r.ready[0]
		r.ready = r.ready[1:]
		a := r.queues[addr][0]
		r.mu.Unlock()
		r.show(r.resolve(a))
		r.mu.Lock()
		r.held -= a.cost()
		r.room.Broadcast()
		r.queues[addr][0] = nil
		if r.queues[addr] = r.queues[addr][1:]; len(r.queues[addr]) > 0 {
			r.ready = append(r.ready, addr)
		} else {
			delete(r.queues, addr)
		}
	}
	r.workers--
}

// resolve resolves an arrival, with what the resolver of its session, or any that is idle, has
// learnt of its ELF file.
func (r *Reporter) resolve(a *Arrival) *result {
	if !a.Oops && isCompact(a.Bytes) {
		k := sessionKey{a.Addr, a.Boot}
		r.mu.Lock()
		s, ok := r.sessions.get(k)
		if !ok {
			s = newResolver(r)
			r.sessions.put(k, s)
		}
		r.mu.Unlock()
		return s.run(a)
	}
	var s *resolver
	select {
	case s = <-r.idle:
	default:
		s = newResolver(r)
	}
	res := s.resolve(a)
	select {
	case r.idle <- s:
	default:
	}
	return res
}

// download calls f, which waits for something that takes no CPU. There may be a worker too many
// after it, until one has nothing to do.
func (r *Reporter) download(f func()) {
	r.mu.Lock()
	r.paused++
	r.startWorker()
	r.mu.Unlock()
	f()
	r.mu.Lock()
	r.paused--
	r.mu.Unlock()
}

// say tells the user something, once.
func (r *Reporter) say(s string) {
	r.mu.Lock()
	first := !r.said[s] && len(r.said) < maxSaid
	if first {
		r.said[s] = true
	}
	r.mu.Unlock()
	if first && r.opt.Log != nil {
		r.opt.Log(s)
	}
}

// count counts a crash, hands it to the exporter, and returns its group. The lock is held.
func (r *Reporter) count(c *otlp.Crash) group {
	if c.Bystander {
		return group{}
	}
	g, _ := r.groups.get(c.Fingerprint)
	if _, g.known = r.seen.get(c.ID); g.known {
		r.stats.Known++
		return g
	}
	if g.count++; g.count == 1 || c.Time.Before(g.first) {
		g.first = c.Time
	}
	r.groups.put(c.Fingerprint, g)
	r.seen.put(c.ID, true)
	if c.Fatal && r.opt.Export != nil && !r.opt.Export(c) {
		r.stats.Unexported++
	}
	return g
}

// show counts the crashes of a result and shows it.
func (r *Reporter) show(res *result) {
	var groups []group
	r.mu.Lock()
	r.stats.Traces++
	if res.unknown {
		r.stats.Unresolved++
	}
	for _, c := range res.crashes {
		groups = append(groups, r.count(c))
	}
	r.mu.Unlock()
	if !r.opt.JSON {
		r.out.block(res.a.Machine, res.shown(groups))
		return
	}
	for i, object := range res.objects {
		r.out.raw(closeObject(object, res, res.crashes[i], &groups[i]))
	}
}

// shown is the text of a result, with what the receiver says of it.
func (res *result) shown(groups []group) []byte {
	text := res.text
	if res.a.Missing > 0 {
		text = fmt.Appendf(text, "zf: incomplete: at least %s of this trace did not arrive\n",
			count(uint64(res.a.Missing), "datagram"))
	}
	if res.a.Cut {
		text = append(text, "zf: the trace was longer than what the machine could send\n"...)
	}
	for i, g := range groups {
		if g.count == 0 {
			continue
		}
		again := ""
		if g.known {
			again = ", counted before"
		}
		text = fmt.Appendf(text, "zf: group %s: %s since %s%s\n", res.crashes[i].Fingerprint,
			count(g.count, "time"), g.first.Local().Format(time.DateTime), again)
	}
	return text
}

// received are the fields that a receiver adds to the object of a trace.
type received struct {
	Text        string    `json:"text,omitempty"` // of an oops
	ID          string    `json:"id"`
	Host        string    `json:"host"`
	Address     string    `json:"address"`
	Time        time.Time `json:"time"`
	Boot        string    `json:"boot,omitempty"`
	Sequence    uint32    `json:"sequence,omitempty"`
	Missing     int       `json:"missing,omitempty"`     // datagrams that did not arrive
	Fingerprint string    `json:"fingerprint,omitempty"` // not of another CPU's trace
	Count       uint64    `json:"count"`                 // since the start
	FirstSeen   time.Time `json:"first_seen,omitzero"`
	Repeated    bool      `json:"repeated,omitempty"` // it was counted before
}

// closeObject adds them to an object that has no closing brace yet.
func closeObject(object []byte, res *result, c *otlp.Crash, g *group) []byte {
	a := res.a
	more := received{
		ID: c.ID, Host: a.Machine, Address: a.Addr.String(), Time: a.Time.UTC(),
		Sequence: a.Seq, Missing: a.Missing, Fingerprint: c.Fingerprint,
		Count: g.count, FirstSeen: g.first.UTC(), Repeated: g.known,
	}
	if a.Oops {
		more.Text = string(res.text)
	} else {
		more.Boot = fmt.Sprintf("%016x", a.Boot)
	}
	b := append(object[:len(object):len(object)], ',')
	return append(b, jsonObject(&more)[1:]...)
}

// crashID names a crash: the same datagrams, read again from a capture, are the same crash.
func crashID(a *Arrival, i int) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %016x %d %d", a.Addr, a.Boot, a.Seq, i)
	if a.Oops { // which have no numbers
		fmt.Fprintf(h, " %d %s", a.Time.UnixNano(), a.Bytes)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Close waits until everything is shown.
func (r *Reporter) Close() error {
	r.working.Wait()
	return r.Flush()
}

// Stats returns the counts so far.
func (r *Reporter) Stats() ReportStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
