package otlp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
)

const (
	// maxWaiting is the number of crashes that wait for the collector, at most.
	maxWaiting = 4096
	// requestTimeout is how long a collector has for its answer.
	requestTimeout = 10 * time.Second
	// minWait and maxWait are the pauses after the first failure and after many.
	minWait  = 250 * time.Millisecond
	maxWait  = 30 * time.Second
	logsPath = "/v1/logs"
)

// Stats count what an Exporter has done.
type Stats struct {
	Exported uint64 // acknowledged
	Refused  uint64 // that the collector will never take: they are dropped
	Failures uint64 // requests that were made again
	Waiting  uint64 // neither acknowledged nor refused yet
}

// Exporter sends crashes to a collector.
type Exporter struct {
	client *otlploghttp.Exporter
	log    func(string)
	queue  chan *Crash
	answer answers
	result error // of the latest request
	down   bool  // people know that the collector is away

	waiting                     atomic.Int64
	exported, refused, failures atomic.Uint64
}

// CheckURL returns the address of a collector with its path, /v1/logs if it has none.
func CheckURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, err
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is no address of a collector, such as http://localhost:4318", s)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = logsPath
	}
	return u, nil
}

// New returns an exporter to the collector at address. The variables
// OTEL_EXPORTER_OTLP_HEADERS and the like are heeded. log takes messages.
func New(ctx context.Context, address string, log func(string)) (*Exporter, error) {
	u, err := CheckURL(address)
	if err != nil {
		return nil, err
	}
	e := &Exporter{log: log, queue: make(chan *Crash, maxWaiting)}
	e.answer.next = http.DefaultTransport
	e.client, err = otlploghttp.New(ctx,
		otlploghttp.WithEndpointURL(u.String()),
		otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithHTTPClient(&http.Client{Transport: &e.answer, Timeout: requestTimeout}),
		// Trying again is done here: the SDK gives up what it holds for hopeless too early.
		otlploghttp.WithRetry(otlploghttp.RetryConfig{Enabled: false}),
	)
	return e, err
}

// Put queues a crash, and reports whether there was room. It does not wait, and may be called
// from any goroutine until Close.
func (e *Exporter) Put(c *Crash) bool {
	e.waiting.Add(1)
	select {
	case e.queue <- c:
		return true
	default:
		e.waiting.Add(-1)
		return false
	}
}

// Close says that no crash comes any more, so that Run ends.
func (e *Exporter) Close() { close(e.queue) }

// Run sends what is put, one crash a request, until Close. When ctx ends, the first failure
// ends it too, and when drain ends, a request is broken off.
func (e *Exporter) Run(ctx, drain context.Context) {
	defer e.client.Shutdown(drain)
	for c := range e.queue {
		for wait := minWait; !e.send(drain, c); wait = min(2*wait, maxWait) {
			if ctx.Err() != nil {
				return
			}
			e.failures.Add(1)
			select {
			case <-ctx.Done():
			case <-time.After(max(e.answer.later, wait/2+rand.N(wait/2))):
			}
		}
		e.waiting.Add(-1)
	}
}

// send sends a crash, and reports whether that is over: it was taken, or will never be.
func (e *Exporter) send(ctx context.Context, c *Crash) bool {
	e.answer.answer = answer{}
	e.emit(ctx, c)
	err, a := e.result, &e.answer
	refused := false
	switch {
	case err == nil:
	case a.partial:
		// To send it again is of no use, so says the protocol.
		if refused = a.rejected > 0; refused {
			e.log(fmt.Sprintf("the collector refuses crash %s of %s: %s", c.ID, c.Host, a.message))
		} else {
			e.log("the collector takes crashes and warns: " + a.message)
		}
	case a.hopeless():
		refused = true
		e.log(fmt.Sprintf("the collector refuses crash %s of %s: %v", c.ID, c.Host, err))
	default:
		if !e.down {
			e.log(fmt.Sprintf("the collector does not take crashes, which wait: %s%v", a.status(), err))
		}
		e.down = true
		return false
	}
	if e.down {
		e.log("the collector takes crashes again")
	}
	e.down = false
	if refused {
		e.refused.Add(1)
	} else {
		e.exported.Add(1)
	}
	return true
}

// Exporter is the processor of the records that emit makes: it sends each at once. Those of
// the SDK lose what the collector does not take in time.

// Enabled is that of [sdklog.Processor].
func (e *Exporter) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }

// OnEmit sends a record.
func (e *Exporter) OnEmit(ctx context.Context, r *sdklog.Record) error {
	e.result = e.client.Export(ctx, []sdklog.Record{*r})
	return nil
}

// ForceFlush has nothing to do.
func (e *Exporter) ForceFlush(context.Context) error { return nil }

// Shutdown has nothing to do; Run does it.
func (e *Exporter) Shutdown(context.Context) error { return nil }

// Stats returns the counts so far.
func (e *Exporter) Stats() Stats {
	return Stats{e.exported.Load(), e.refused.Load(), e.failures.Load(), uint64(e.waiting.Load())}
}
