package receive

// From an arrival to what is shown, counted and exported. Arrivals wait for one of as
// many goroutines as there are CPUs to resolve them; while one of these waits for an ELF
// file to be downloaded, another takes its place. So a burst costs the intake nothing
// but memory. That is bounded: then the intake waits. Counting and output are in one
// goroutine, so that many traces share a transaction of the store.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/buildid"
	"github.com/zeroframe/zeroframe/tools/receive/crash"
)

const (
	// maxUnresolved bounds the bytes of the traces that are to be resolved, and
	// arrivalCost is what one takes beside its own bytes.
	maxUnresolved = 128 << 20
	arrivalCost   = 1 << 10
	// maxTogether is the number of traces that share a transaction, and gatherTime how
	// long the first of them waits for others when there are any.
	maxTogether = 256
	// maxSaid bounds the different messages to the user.
	maxSaid = 256
	// maxDownloads bounds the workers that wait for an ELF file. More of them are not
	// replaced: builds that nobody has ever heard of must not become memory.
	maxDownloads = 64
)

// ReportOptions say what a Reporter does.
type ReportOptions struct {
	Out      io.Writer
	Terminal bool // Out is one: control characters are made visible
	Color    bool
	JSON     bool // objects instead of text
	Lines    bool // show log lines too
	Traces   bool // show traces in the text
	// Finder finds the ELF files; nil: nothing is resolved.
	Finder *buildid.Finder
	// Store counts; nil: nobody does.
	Store *crash.Store
	// Export puts what ended a kernel into the store's spool, and Spooled is called
	// when something came in.
	Export  bool
	Spooled func()
	// Log takes messages for the user, without a line end.
	Log func(string)
}

// ReportStats count what a Reporter has done.
type ReportStats struct {
	Traces     uint64 // shown
	Unresolved uint64 // of them without an ELF file
	Known      uint64 // of them those that had been counted before
	Uncounted  uint64 // the store failed
	Unspooled  uint64 // there was no room in the spool
}

// Reporter is the Sink that shows what arrives.
type Reporter struct {
	opt ReportOptions
	out output
	ctx context.Context

	workers int // that may run
	working sync.WaitGroup
	results chan *result
	done    chan struct{}

	mu       sync.Mutex
	room     sync.Cond
	held     int
	waiting  []job
	running  int // workers
	paused   int // of them, those that wait for a download
	idle     []*resolver
	sessions sessions
	order    order
	said     map[string]bool
	stats    ReportStats
}

// result is an arrival that has been resolved.
type result struct {
	a       *Arrival
	cost    int
	text    []byte
	objects [][]byte // JSON, by crash, without the closing brace
	crashes []*crash.Crash
	unknown bool // nothing could be resolved
}

// NewReporter starts a reporter. When ctx ends, nothing is downloaded any more.
func NewReporter(ctx context.Context, opt ReportOptions) *Reporter {
	r := &Reporter{
		opt:     opt,
		out:     output{w: opt.Out, safe: opt.Terminal},
		ctx:     ctx,
		workers: runtime.NumCPU(),
		results: make(chan *result, maxTogether),
		done:    make(chan struct{}),
		said:    make(map[string]bool),
	}
	r.room.L = &r.mu
	r.sessions.init()
	go r.report()
	return r
}

// Line shows a log line.
func (r *Reporter) Line(l *Line) {
	switch {
	case !r.opt.Lines:
	case r.opt.JSON:
		r.out.raw(l.json())
	default:
		r.out.line(l)
	}
}

// Flush writes out the lines so far. The error is that of the output.
func (r *Reporter) Flush() error { return r.out.flush() }

// Trace takes an arrival, and waits if there are too many.
func (r *Reporter) Trace(a *Arrival) {
	cost := cap(a.Bytes) + arrivalCost
	r.mu.Lock()
	for r.held > 0 && r.held+cost > maxUnresolved {
		r.room.Wait()
	}
	r.held += cost
	r.order.join(a)
	r.mu.Unlock()
	r.working.Add(1)
	if !a.Oops && isCompact(a.Bytes) {
		r.inSession(a, cost)
		return
	}
	r.mu.Lock()
	r.give(job{a: a, cost: cost})
	r.mu.Unlock()
}

// A job is one arrival, or what a session has to do.
type job struct {
	a    *Arrival
	cost int
	in   *session
}

// give adds a job. The lock is held.
func (r *Reporter) give(j job) {
	r.waiting = append(r.waiting, j)
	r.startWorker()
}

// startWorker starts a worker if there is something to do and one may run. The lock is
// held.
func (r *Reporter) startWorker() {
	if len(r.waiting) == 0 || r.busy() >= r.workers {
		return
	}
	r.running++
	var s *resolver
	if n := len(r.idle); n > 0 {
		s = r.idle[n-1]
		r.idle = r.idle[:n-1]
	}
	go r.work(s)
}

// busy is how many workers count. The lock is held.
func (r *Reporter) busy() int { return r.running - min(r.paused, maxDownloads) }

// work does what there is to do.
func (r *Reporter) work(s *resolver) {
	if s == nil {
		s = newResolver(r)
	}
	for {
		r.mu.Lock()
		if len(r.waiting) == 0 || r.busy() > r.workers {
			r.running--
			if len(r.idle) < r.workers {
				r.idle = append(r.idle, s)
			}
			r.mu.Unlock()
			return
		}
		j := r.waiting[0]
		r.waiting[0] = job{}
		r.waiting = r.waiting[1:]
		r.mu.Unlock()
		if j.in != nil {
			r.drain(j.in)
			continue
		}
		r.finish(s.resolve(j.a), j.cost)
	}
}

// finish hands on a result.
func (r *Reporter) finish(res *result, cost int) {
	res.cost = cost
	r.results <- res
	r.working.Done()
}

// pause says that a worker waits for something that takes no CPU, and resume that it
// goes on; there may be one too many then, until the next one has nothing to do.
func (r *Reporter) pause() {
	r.mu.Lock()
	r.paused++
	r.startWorker()
	r.mu.Unlock()
}

func (r *Reporter) resume() {
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

// report counts and shows.
func (r *Reporter) report() {
	defer close(r.done)
	for first := range r.results {
		together := ready(nil, first)
	gather:
		for len(together) < maxTogether {
			select {
			case res, ok := <-r.results:
				if !ok {
					break gather
				}
				together = ready(together, res)
			default:
				break gather
			}
		}
		r.show(together)
	}
}

// show counts the crashes of some results and shows them.
func (r *Reporter) show(together []*result) {
	var crashes []*crash.Crash
	for _, res := range together {
		for _, c := range res.crashes {
			if !c.Bystander {
				crashes = append(crashes, c)
			}
		}
	}
	added := make([]crash.Added, len(crashes))
	if r.opt.Store != nil && len(crashes) > 0 {
		var err error
		if added, err = r.opt.Store.Add(crashes, r.opt.Export); err != nil {
			r.say(err.Error())
			added = make([]crash.Added, len(crashes))
			r.count(func(s *ReportStats) { s.Uncounted += uint64(len(crashes)) })
		} else if r.opt.Export && r.opt.Spooled != nil {
			r.opt.Spooled()
		}
	}
	free := 0
	for _, res := range together {
		of := make([]crash.Added, len(res.crashes))
		for i, c := range res.crashes {
			if !c.Bystander {
				of[i], added = added[0], added[1:]
			}
		}
		r.showOne(res, of)
		free += res.cost
	}
	r.out.flush()
	r.mu.Lock()
	r.held -= free
	for _, res := range together {
		r.order.leave(res.a)
	}
	r.mu.Unlock()
	r.room.Broadcast()
}

func (r *Reporter) count(f func(*ReportStats)) {
	r.mu.Lock()
	f(&r.stats)
	r.mu.Unlock()
}

// showOne shows a result.
func (r *Reporter) showOne(res *result, added []crash.Added) {
	r.count(func(s *ReportStats) {
		s.Traces++
		if res.unknown {
			s.Unresolved++
		}
		for _, a := range added {
			if a.Known {
				s.Known++
			}
			if a.Full {
				s.Unspooled++
			}
		}
	})
	if r.opt.JSON {
		for i, object := range res.objects {
			r.out.raw(closeObject(object, res.a, res.crashes[i], &added[i]))
		}
		return
	}
	if !r.opt.Traces {
		return
	}
	text := res.text
	if res.a.Missing > 0 {
		text = fmt.Appendf(text, "zf: incomplete: at least %s of this trace did not arrive\n", count(uint64(res.a.Missing), "datagram"))
	}
	if res.a.Cut {
		text = append(text, "zf: the trace was longer than what the machine could send\n"...)
	}
	for i, c := range res.crashes {
		if a := added[i]; a.Count > 0 {
			again := ""
			if a.Known {
				again = ", counted before"
			}
			text = fmt.Appendf(text, "zf: group %s: %s since %s%s\n", c.Fingerprint, count(a.Count, "time"), a.First.Local().Format(time.DateTime), again)
		}
	}
	r.out.block(res.a.Machine, text)
}

// received are the fields that a receiver adds to the object of a trace.
type received struct {
	ID          string    `json:"id"`
	Host        string    `json:"host"`
	Address     string    `json:"address"`
	Time        time.Time `json:"time"`
	Boot        string    `json:"boot,omitempty"`
	Sequence    uint32    `json:"sequence,omitempty"`
	Missing     int       `json:"missing,omitempty"`     // datagrams that did not arrive
	Fingerprint string    `json:"fingerprint,omitempty"` // not of another CPU's trace
	Count       uint64    `json:"count"`
	FirstSeen   time.Time `json:"first_seen,omitzero"`
	Repeated    bool      `json:"repeated,omitempty"` // it was counted before
}

// closeObject adds them to an object that has no closing brace yet.
func closeObject(object []byte, a *Arrival, c *crash.Crash, added *crash.Added) []byte {
	more := received{
		ID: c.ID, Host: a.Machine, Address: a.Addr.String(), Time: a.Time.UTC(), Sequence: a.Seq, Missing: a.Missing,
		Fingerprint: c.Fingerprint, Count: added.Count, FirstSeen: added.First.UTC(), Repeated: added.Known,
	}
	if !a.Oops {
		more.Boot = fmt.Sprintf("%016x", a.Boot)
	}
	b := append(object[:len(object):len(object)], ',')
	return append(b, jsonObject(&more)[1:]...)
}

// crashID names a crash: the same datagrams, read from a capture or after a restart,
// are the same crash.
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
	close(r.results)
	<-r.done
	return r.Flush()
}

// Stats returns the counts so far.
func (r *Reporter) Stats() ReportStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}
