package otlp

import (
	"context"
	"fmt"
	"net/netip"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/zeroframe/zeroframe/tools/receive/crash"
)

const (
	serviceName = "zeroframe"
	scopeName   = "github.com/zeroframe/zeroframe/tools/receive"
	eventName   = "zeroframe.crash"
)

// gatherer is a processor of the SDK that keeps the records it is given. Batches of the
// SDK's own live in memory, and are lost with the process.
type gatherer struct{ records []sdklog.Record }

func (g *gatherer) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (g *gatherer) Shutdown(context.Context) error                         { return nil }
func (g *gatherer) ForceFlush(context.Context) error                       { return nil }

func (g *gatherer) OnEmit(_ context.Context, r *sdklog.Record) error {
	g.records = append(g.records, r.Clone())
	return nil
}

// records makes log records of crashes. Each machine is a resource.
func records(ctx context.Context, list []crash.Spooled) ([]sdklog.Record, error) {
	g := new(gatherer)
	loggers := make(map[string]log.Logger)
	for i := range list {
		c := &list[i].Crash
		key := c.Host + " " + c.Address
		logger := loggers[key]
		if logger == nil {
			provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(g), sdklog.WithResource(machine(c)),
				sdklog.WithAttributeValueLengthLimit(-1))
			logger = provider.Logger(scopeName, log.WithSchemaURL(semconv.SchemaURL))
			loggers[key] = logger
		}
		logger.Emit(ctx, record(c))
	}
	if len(g.records) != len(list) {
		return nil, fmt.Errorf("the SDK has made %d records of %d crashes", len(g.records), len(list))
	}
	return g.records, nil
}

// machine is the resource that a crash is about.
func machine(c *crash.Crash) *resource.Resource {
	r := resource.NewWithAttributes(semconv.SchemaURL, semconv.ServiceName(serviceName), semconv.HostName(c.Host))
	if a, err := netip.ParseAddrPort(c.Address); err == nil {
		ip := resource.NewWithAttributes(semconv.SchemaURL, semconv.HostIP(a.Addr().String()))
		if both, err := resource.Merge(r, ip); err == nil {
			return both
		}
	}
	return r
}

// record is the log record of a crash.
func record(c *crash.Crash) log.Record {
	var r log.Record
	r.SetEventName(eventName)
	r.SetTimestamp(c.Time)
	r.SetObservedTimestamp(c.Time)
	r.SetSeverity(log.SeverityFatal)
	r.SetSeverityText("FATAL")
	body := fmt.Sprintf("%s in %s", c.Type, crash.Where(c.Functions))
	if c.Reason != "" {
		body += ": " + c.Reason
	}
	r.SetBody(attribute.StringValue(body))
	add := func(name, value string) {
		if value != "" {
			r.AddAttributes(attribute.String(name, value))
		}
	}
	add(string(semconv.ExceptionTypeKey), c.Type)
	add(string(semconv.ExceptionMessageKey), c.Reason)
	add(string(semconv.ExceptionStacktraceKey), c.Stack)
	add(string(semconv.LogRecordUIDKey), c.ID)
	add(string(semconv.ProcessExecutableBuildIDGNUKey), c.BuildID)
	add("zeroframe.fingerprint", c.Fingerprint)
	add("zeroframe.kind", c.Kind)
	add("zeroframe.context", c.Context)
	if c.Thread != 0 {
		r.AddAttributes(attribute.Int64(string(semconv.ThreadIDKey), int64(c.Thread)))
	}
	if c.Damaged {
		r.AddAttributes(attribute.Bool("zeroframe.damaged", true))
	}
	return r
}
