package otlp

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"

	"github.com/zeroframe/zeroframe/tools/receive/crash"
)

const (
	// maxTogether is the number of crashes in one request.
	maxTogether = 64
	// requestTimeout is how long a collector has for its answer.
	requestTimeout = 10 * time.Second
	// minWait and maxWait are the pauses after the first failure and after many.
	minWait = 250 * time.Millisecond
	maxWait = 30 * time.Second
	// lookAgain is how often the spool is looked into unasked: another receiver may
	// have put something there.
	lookAgain = 5 * time.Second
	logsPath  = "/v1/logs"
	lockName  = ".otlp"
	lockWait  = time.Second
)

// ErrBusy is returned by New when another process exports from the same store.
var ErrBusy = errors.New("another receiver exports from this store")

// Stats count what an Exporter has done.
type Stats struct {
	Exported uint64 // acknowledged
	Refused  uint64 // that the collector will never take: they are dropped
	Failures uint64 // requests that will be tried again
}

// Exporter exports what is in a store's spool.
type Exporter struct {
	store  *crash.Store
	client *otlploghttp.Exporter
	lock   *bolt.DB
	log    func(string)
	wake   chan struct{}
	answer answers
	down   bool // it has been said that the collector is away

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

// New returns an exporter from the store at path to the collector at address. The
// variables OTEL_EXPORTER_OTLP_HEADERS and the like are heeded. log takes messages.
func New(ctx context.Context, address string, store *crash.Store, path string, log func(string)) (*Exporter, error) {
	u, err := CheckURL(address)
	if err != nil {
		return nil, err
	}
	e := &Exporter{store: store, log: log, wake: make(chan struct{}, 1)}
	if path != "" {
		// A database for its lock, which every system has; nothing is in it.
		e.lock, err = bolt.Open(path+lockName, 0o600, &bolt.Options{Timeout: lockWait})
		if errors.Is(err, bolterrors.ErrTimeout) {
			return nil, fmt.Errorf("%w: %s", ErrBusy, path)
		}
		if err != nil {
			return nil, err
		}
	}
	e.answer.next = http.DefaultTransport
	e.client, err = otlploghttp.New(ctx,
		otlploghttp.WithEndpointURL(u.String()),
		otlploghttp.WithCompression(otlploghttp.GzipCompression),
		otlploghttp.WithHTTPClient(&http.Client{Transport: &e.answer, Timeout: requestTimeout}),
		// Trying again is done here, where it outlives the process.
		otlploghttp.WithRetry(otlploghttp.RetryConfig{Enabled: false}),
	)
	if err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// Wake says that something came into the spool.
func (e *Exporter) Wake() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Run exports until ctx ends, and then what is left as long as drain does not end and
// the collector takes it.
func (e *Exporter) Run(ctx, drain context.Context) {
	wait := minWait
	for {
		more, err := e.step(drain)
		switch {
		case err != nil:
			e.failures.Add(1)
			if !e.down {
				e.down = true
				e.log(fmt.Sprintf("the collector does not take crashes, which are kept: %s%v", e.answer.status(), err))
			}
			if ctx.Err() != nil {
				return
			}
			pause(ctx, nil, max(e.answer.later, wait/2+rand.N(wait/2)))
			wait = min(2*wait, maxWait)
			continue
		case e.down:
			e.down = false
			e.log("the collector takes crashes again")
		}
		wait = minWait
		if more {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause(ctx, e.wake, lookAgain)
	}
}

// pause waits for something.
func pause(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-t.C:
	}
}

// step exports the oldest crashes. more says that there may be others.
func (e *Exporter) step(ctx context.Context) (more bool, err error) {
	e.answer.answer = answer{} // what goes wrong before the next one comes has nothing to do with it
	list, err := e.store.Oldest(maxTogether)
	if err != nil || len(list) == 0 {
		return false, err
	}
	if err := e.send(ctx, list); err != nil {
		return false, err
	}
	return true, nil
}

// send sends crashes and takes them out of the spool.
func (e *Exporter) send(ctx context.Context, list []crash.Spooled) error {
	records, err := records(ctx, list)
	if err != nil {
		return err
	}
	e.answer.answer = answer{}
	err = e.client.Export(ctx, records)
	switch code := e.answer.code; {
	case err == nil:
		e.exported.Add(uint64(len(list)))
	case ctx.Err() != nil:
		return err
	case e.answer.partial:
		// It has taken the others and will not take these: to send them again is of
		// no use, so says the protocol.
		refused := min(uint64(max(e.answer.rejected, 0)), uint64(len(list)))
		if refused > 0 {
			e.log(fmt.Sprintf("the collector refuses %d of %d crashes: %s", refused, len(list), e.answer.message))
		} else {
			e.log(fmt.Sprintf("the collector takes crashes and warns: %s", e.answer.message))
		}
		e.refused.Add(refused)
		e.exported.Add(uint64(len(list)) - refused)
	case !hopeless(code):
		return err
	case len(list) > 1:
		// One of them is to blame. The halves find it.
		half := len(list) / 2
		if err := e.send(ctx, list[:half]); err != nil {
			return err
		}
		return e.send(ctx, list[half:])
	default:
		e.log(fmt.Sprintf("the collector refuses crash %s of %s: %v", list[0].Crash.ID, list[0].Crash.Host, err))
		e.refused.Add(1)
	}
	return e.store.Remove(list)
}

// hopeless reports whether a status says that the very same request will never do.
func hopeless(code int) bool {
	return code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge || code == http.StatusUnprocessableEntity
}

// Stats returns the counts so far.
func (e *Exporter) Stats() Stats {
	return Stats{e.exported.Load(), e.refused.Load(), e.failures.Load()}
}

// Close lets another process export from the store.
func (e *Exporter) Close() error {
	var err error
	if e.client != nil {
		err = e.client.Shutdown(context.Background())
	}
	if e.lock != nil {
		err = errors.Join(err, e.lock.Close())
	}
	return err
}
