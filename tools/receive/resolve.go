package receive

// Resolving is done by package trace. Its Filters are kept and used again, since what
// they have learnt of an ELF file serves for the next trace.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/foreign"
	"github.com/zeroframe/zeroframe/tools/format/render"
	"github.com/zeroframe/zeroframe/tools/format/terminal"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
	"github.com/zeroframe/zeroframe/tracer"
)

const (
	// maxTraces bounds the traces in one arrival. An honest one has one.
	maxTraces = 8
	// maxText bounds what is shown of an arrival, in bytes.
	maxText = 4 << 20
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
	s.filter = s.newFilter(false, nil, s.onTrace)
	return s
}

// Write takes the text of a filter.
func (s *resolver) Write(p []byte) (int, error) {
	if s.out.Len() < maxText {
		s.out.Write(p)
	}
	return len(p), nil
}

// newFilter returns a filter for traces, or one for the lines of Linux, which knows its kernel,
// and the kernel and the modules among the files that were given.
func (s *resolver) newFilter(linux bool, kernel lookup.Resolver,
	onTrace func(*wire.Trace)) *trace.Filter {
	filter, err := trace.NewFilter(s, trace.Options{
		Color:    s.r.opt.Color,
		Sanitize: s.r.opt.Terminal,
		Log:      (*sayWriter)(s.r),
		Foreign:  linux,
		Dir:      os.DevNull, // nothing lies there, so paths are shown whole
		OnTrace:  onTrace,
		Images: func() *lookup.Images {
			images := &lookup.Images{Find: s.find}
			if kernel != nil {
				images.Given = append(images.Given, kernel)
			}
			for _, file := range s.r.opt.Finder.Given() {
				if linux && (foreign.ModuleName(file.Name()) != "" || len(file.Named("start_kernel")) > 0) {
					images.Given = append(images.Given, file)
				}
			}
			return images
		},
	})
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
func (s *resolver) find(build, _ string) lookup.Resolver {
	if build == "" || strings.HasSuffix(build, wire.PartMark) {
		return nil // a module by its name alone: of which kernel? And half an ID: of which server?
	}
	f := s.r.opt.Finder
	file, known := f.Ready(build)
	if !known {
		var err error
		s.r.download(func() { file, err = f.Find(s.r.ctx, build) })
		if err != nil && !errors.Is(err, buildid.ErrNotFound) && !errors.Is(err, context.Canceled) {
			s.r.say(err.Error())
		}
	}
	if file == nil {
		return nil // not a nil *File in an interface
	}
	return file
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
	res := &result{a: a}
	s.res = res
	s.out.Reset()
	s.filter.Write(a.Bytes)
	s.filter.Flush()
	if len(res.crashes) == 0 {
		s.filter.Cut() // what there is of a trace ends here
	}
	s.res = nil
	res.text = bytes.Clone(s.out.Bytes())
	return res
}

// add adds a trace to a result.
func (res *result) add(r *Reporter, t *wire.Trace, c *otlp.Crash) {
	a := res.a
	c.ID, c.Host, c.Address, c.Time = crashID(a, len(res.crashes)), a.Machine, a.Addr.String(), a.Time
	c.Reason, c.Context, c.BuildID = t.Reason, t.Context, t.BuildID
	if !c.Bystander {
		c.Fingerprint = otlp.Fingerprint(c.Type, c.Functions)
	}
	res.crashes = append(res.crashes, c)
	if r.opt.JSON {
		res.objects = append(res.objects, bytes.TrimSuffix(render.JSON(t), []byte("}\n")))
	}
}

// onTrace takes a trace that the filter has found.
func (s *resolver) onTrace(t *wire.Trace) {
	res := s.res
	if res == nil || len(res.crashes) >= maxTraces || t.Kind == "" && len(t.Frames) == 0 {
		return
	}
	kind := cmp.Or(t.Kind, tracer.KindTrace.String())
	c := &otlp.Crash{
		Kind: kind, Type: kind, Thread: t.Thread, Functions: otlp.Functions(t), Damaged: t.Damaged,
		// What a boot before has left in RAM has ended that one.
		Fatal:     t.Fatal() || t.Previous > 0 && t.Of == 0,
		Bystander: t.Of != 0 && !strings.HasPrefix(t.Reason, tracer.DiedToo),
	}
	if t.Cause != nil && t.Cause.Vector <= tracer.VectorSignal {
		c.Type += " " + tracer.VectorName(uint32(t.Cause.Vector))
	}
	if s.r.opt.Export != nil { // else nobody reads it
		c.Stack = otlp.Stack(t)
	}
	res.add(s.r, t, c)
	for i := range t.Frames {
		if len(t.Frames[i].Calls) > 0 {
			return
		}
	}
	if len(t.Frames) > 0 {
		res.unknown = true
		s.r.sayUnknown(t.BuildID)
	}
}

// sayUnknown says that a build has no ELF file. Its crashes are groups of that build until
// somebody has the file.
func (r *Reporter) sayUnknown(build string) {
	advice := "give it with -e, or set " + buildid.URLsEnv
	if r.opt.Finder.Server != nil {
		advice = "no server of " + buildid.URLsEnv + " gave it; give it with -e"
	}
	if build == "" {
		build = "(none)"
	}
	r.say(fmt.Sprintf("no ELF file for build %s: its traces stay addresses; %s",
		terminal.AppendClean(nil, []byte(build)), advice))
}

// isCompact reports whether the trace is in the compact form, which can build on the
// traces before it.
func isCompact(b []byte) bool {
	b = bytes.TrimLeft(b, "\r\n")
	return len(b) > 3 && string(b[:3]) == "zf1" && bytes.IndexByte([]byte(":=;"), b[3]) >= 0
}
