package receive

// Resolving is done by package trace. Its Filters are kept and used again, since what
// they have learnt of an ELF file serves for the next trace.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/tools/buildid"
	"github.com/zeroframe/zeroframe/tools/foreign"
	"github.com/zeroframe/zeroframe/tools/lookup"
	"github.com/zeroframe/zeroframe/tools/receive/crash"
	"github.com/zeroframe/zeroframe/tools/render"
	"github.com/zeroframe/zeroframe/tools/terminal"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/wire"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// maxTraces bounds the traces in one arrival. An honest one has one.
	maxTraces = 8
	// maxText bounds what is shown of an arrival, in bytes.
	maxText = 4 << 20
	// maxSessions is the number of boots whose compact traces can still build on
	// those before.
	maxSessions = 1024
)

// resolver resolves one arrival at a time.
type resolver struct {
	r      *Reporter
	filter *trace.Filter
	out    bytes.Buffer
	res    *result
}

func newResolver(r *Reporter) *resolver {
	s := &resolver{r: r}
	s.filter = s.newFilter(nil, s.onTrace)
	return s
}

// Write takes the text of a filter.
func (s *resolver) Write(p []byte) (int, error) {
	if s.out.Len() < maxText {
		s.out.Write(p)
	}
	return len(p), nil
}

// newFilter returns a filter for traces, or one for the lines of Linux, which linux
// gives its images.
func (s *resolver) newFilter(linux func(*lookup.Images), onTrace func(*wire.Trace)) *trace.Filter {
	opt := trace.Options{
		Color:    s.r.opt.Color,
		Sanitize: s.r.opt.Terminal,
		Log:      (*sayWriter)(s.r),
		Foreign:  linux != nil,
		Dir:      os.DevNull, // nothing lies there, so paths are shown whole
		OnTrace:  onTrace,
	}
	if s.r.opt.Finder != nil || linux != nil {
		opt.Images = func() *lookup.Images {
			images := &lookup.Images{}
			if s.r.opt.Finder != nil {
				images.Find = s.find
			}
			if linux != nil {
				linux(images)
			}
			return images
		}
	}
	if s.r.opt.Finder == nil && linux != nil {
		opt.Log = nil // without files nobody expects that it is resolved
	}
	filter, err := trace.NewFilter(s, opt)
	if err != nil {
		panic(err) // Dir is set, so there is nothing to go wrong
	}
	return filter
}

// sayWriter passes a filter's messages on.
type sayWriter Reporter

func (w *sayWriter) Write(p []byte) (int, error) {
	(*Reporter)(w).say(strings.TrimRight(strings.TrimPrefix(string(p), "zf: "), "\n"))
	return len(p), nil
}

// find finds the image of a build. While it waits, others use the CPU.
func (s *resolver) find(build, module string) lookup.Resolver {
	if build == "" || strings.HasSuffix(build, wire.PartMark) {
		return nil // a module by its name alone: of which kernel? And half an ID: of which server?
	}
	f := s.r.opt.Finder
	file, known := f.Ready(build)
	if !known {
		s.r.pause()
		var err error
		file, err = f.Find(s.r.ctx, build)
		s.r.resume()
		if err != nil && !errors.Is(err, buildid.ErrNotFound) && !errors.Is(err, context.Canceled) {
			s.r.say(err.Error())
		}
	}
	if file == nil {
		return nil // not a nil *File in an interface
	}
	return file
}

// linuxFiles returns those of the files given that are Linux, or modules of it.
func linuxFiles(f *buildid.Finder) (list []lookup.Resolver) {
	for _, file := range f.Given() {
		if foreign.ModuleName(file.Name()) != "" || len(file.Named("start_kernel")) > 0 {
			list = append(list, file)
		}
	}
	return list
}

// resolve resolves an arrival that stands for itself.
func (s *resolver) resolve(a *Arrival) *result {
	if a.Oops {
		return s.resolveOops(a)
	}
	res := s.run(a)
	s.filter.Cut()
	return res
}

// run sends an arrival through the filter.
func (s *resolver) run(a *Arrival) *result {
	s.res = &result{a: a}
	s.out.Reset()
	s.filter.Write(a.Bytes)
	s.filter.Flush()
	if len(s.res.crashes) == 0 {
		s.filter.Cut() // what there is of a trace ends here
	}
	res := s.res
	s.res = nil
	res.text = bytes.Clone(s.out.Bytes())
	return res
}

// onTrace takes a trace that the filter has found.
func (s *resolver) onTrace(t *wire.Trace) {
	res := s.res
	if res == nil || len(res.crashes) >= maxTraces || t.Kind == "" && len(t.Frames) == 0 {
		return
	}
	a := res.a
	c := &crash.Crash{
		ID:   crashID(a, len(res.crashes)),
		Kind: t.Kind, Reason: t.Reason, Context: t.Context, BuildID: t.BuildID, Thread: t.Thread,
		Host: a.Machine, Address: a.Addr.String(), Time: a.Time,
		Functions: crash.Functions(t),
		// What a boot before has left in RAM has ended that one.
		Fatal: t.Fatal() || t.Previous > 0 && t.Of == 0, Damaged: t.Damaged,
		Bystander: t.Of != 0 && !strings.HasPrefix(t.Reason, tracer.DiedToo),
	}
	if c.Kind == "" {
		c.Kind = tracer.KindTrace.String()
	}
	c.Type = c.Kind
	if t.Cause != nil && t.Cause.Vector <= tracer.VectorSignal {
		c.Type += " " + tracer.VectorName(uint32(t.Cause.Vector))
	}
	if !c.Bystander {
		c.Fingerprint = crash.Fingerprint(c.Type, c.Functions)
	}
	if s.r.opt.Export { // else nobody reads it
		c.Stack = crash.Stack(t)
	}
	res.crashes = append(res.crashes, c)
	if s.r.opt.JSON {
		object := bytes.TrimRight(render.JSON(t), "\n")
		res.objects = append(res.objects, object[:len(object)-1])
	}
	resolved := false
	for i := range t.Frames {
		resolved = resolved || len(t.Frames[i].Calls) > 0
	}
	if !resolved && len(t.Frames) > 0 {
		res.unknown = true
		// The crash counts as one of its build until somebody has the ELF file.
		advice := "give it with -e, or set " + buildid.URLsEnv
		if f := s.r.opt.Finder; f != nil && f.Server != nil {
			advice = "no server of " + buildid.URLsEnv + " gave it; give it with -e"
		}
		s.r.say(fmt.Sprintf("no ELF file for build %s: its traces stay addresses; %s",
			terminal.AppendClean(nil, []byte(orNone(t.BuildID))), advice))
	}
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}

// isCompact reports whether the trace is in the compact form, which can build on the
// traces before it.
func isCompact(b []byte) bool {
	b = bytes.TrimLeft(b, "\r\n")
	return bytes.HasPrefix(b, []byte("zf1:")) || bytes.HasPrefix(b, []byte("zf1=")) || bytes.HasPrefix(b, []byte("zf1;"))
}

// sessions are the boots that send the compact form: each has a resolver of its own,
// which takes its traces in their order. Reporter.mu is held while they are used.
type sessions struct {
	byKey map[sessionKey]*session
	tick  uint64
}

type sessionKey struct {
	addr string
	boot uint64
}

type session struct {
	queue   []job
	running bool // or waiting for a worker
	used    uint64
	s       *resolver
}

func (all *sessions) init() { all.byKey = make(map[sessionKey]*session) }

// inSession resolves an arrival behind those that came before it from the same boot.
func (r *Reporter) inSession(a *Arrival, cost int) {
	all := &r.sessions
	k := sessionKey{a.Addr.String(), a.Boot}
	r.mu.Lock()
	defer r.mu.Unlock()
	all.tick++
	one := all.byKey[k]
	if one == nil {
		all.limit()
		one = &session{s: newResolver(r)}
		all.byKey[k] = one
	}
	one.used = all.tick
	one.queue = append(one.queue, job{a: a, cost: cost})
	if !one.running {
		one.running = true
		r.give(job{in: one})
	}
}

// limit forgets the session that was used least recently, if there are too many.
func (all *sessions) limit() {
	if len(all.byKey) < maxSessions {
		return
	}
	var oldest sessionKey
	found := false
	for k, one := range all.byKey {
		if !one.running && (!found || one.used < all.byKey[oldest].used) {
			oldest, found = k, true
		}
	}
	if found {
		delete(all.byKey, oldest)
	}
}

// drain resolves what waits in a session.
func (r *Reporter) drain(one *session) {
	for {
		r.mu.Lock()
		if len(one.queue) == 0 {
			one.running = false
			r.mu.Unlock()
			return
		}
		next := one.queue[0]
		one.queue = one.queue[1:]
		r.mu.Unlock()
		r.finish(one.s.run(next.a), next.cost)
	}
}
