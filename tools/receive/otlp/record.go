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
)

const (
	serviceName = "zeroframe"
	scopeName   = "github.com/zeroframe/zeroframe/tools/receive"
	eventName   = "zeroframe.crash"
)

// emit makes the log record of a crash, whose resource is the machine.
func (e *Exporter) emit(ctx context.Context, c *Crash) {
	machine := []attribute.KeyValue{semconv.ServiceName(serviceName), semconv.HostName(c.Host)}
	if a, err := netip.ParseAddrPort(c.Address); err == nil {
		machine = append(machine, semconv.HostIP(a.Addr().String()))
	}
	var r log.Record
	r.SetEventName(eventName)
	r.SetTimestamp(c.Time)
	r.SetObservedTimestamp(c.Time)
	r.SetSeverity(log.SeverityFatal)
	r.SetSeverityText("FATAL")
	body := fmt.Sprintf("%s in %s", c.Type, c.Where())
	if c.Reason != "" {
		body += ": " + c.Reason
	}
	r.SetBody(attribute.StringValue(body))
	for _, a := range []attribute.KeyValue{
		semconv.ExceptionType(c.Type),
		semconv.ExceptionMessage(c.Reason),
		semconv.ExceptionStacktrace(c.Stack),
		semconv.LogRecordUID(c.ID),
		semconv.ProcessExecutableBuildIDGNU(c.BuildID),
		attribute.String("zeroframe.fingerprint", c.Fingerprint),
		attribute.String("zeroframe.kind", c.Kind),
		attribute.String("zeroframe.context", c.Context),
	} {
		if a.Value.AsString() != "" {
			r.AddAttributes(a)
		}
	}
	if c.Thread != 0 {
		r.AddAttributes(attribute.Int64(string(semconv.ThreadIDKey), int64(c.Thread)))
	}
	if c.Damaged {
		r.AddAttributes(attribute.Bool("zeroframe.damaged", true))
	}
	sdklog.NewLoggerProvider(sdklog.WithProcessor(e), sdklog.WithAttributeValueLengthLimit(-1),
		sdklog.WithResource(resource.NewWithAttributes(semconv.SchemaURL, machine...))).
		Logger(scopeName, log.WithSchemaURL(semconv.SchemaURL)).Emit(ctx, r)
}
