// Command collector is an OpenTelemetry Collector with an OTLP receiver, of the
// collector's own modules, and an exporter that appends what it gets to a file, one
// object a line. The tests of package otlp export to it.
//
// Usage: collector ADDRESS FILE
package main

import (
	"context"
	"fmt"
	"os"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

var fileType = component.MustNewType("lines")

type fileConfig struct {
	Path string `mapstructure:"path"`
}

// lines writes log records to a file.
type lines struct {
	component.StartFunc
	component.ShutdownFunc
	mu   sync.Mutex
	file *os.File
}

func (*lines) Capabilities() consumer.Capabilities { return consumer.Capabilities{} }

func (l *lines) ConsumeLogs(_ context.Context, logs plog.Logs) error {
	b, err := new(plog.JSONMarshaler).MarshalLogs(logs)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.file.Write(append(b, '\n'))
	return err
}

func newLines(_ context.Context, _ exporter.Settings, c component.Config) (exporter.Logs, error) {
	file, err := os.OpenFile(c.(*fileConfig).Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	return &lines{file: file}, err
}

func factories() (otelcol.Factories, error) {
	file := exporter.NewFactory(fileType, func() component.Config { return new(fileConfig) },
		exporter.WithLogs(newLines, component.StabilityLevelStable))
	otlp := otlpreceiver.NewFactory()
	return otelcol.Factories{
		Receivers: map[component.Type]receiver.Factory{otlp.Type(): otlp},
		Exporters: map[component.Type]exporter.Factory{fileType: file},
		Telemetry: otelconftelemetry.NewFactory(),
	}, nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: collector ADDRESS FILE")
		os.Exit(2)
	}
	config := fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {http: {endpoint: %q}}}}
exporters: {lines: {path: %q}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {logs: {receivers: [otlp], exporters: [lines]}}
`, os.Args[1], os.Args[2])
	c, err := otelcol.NewCollector(otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{Command: "collector", Version: "test"},
		Factories: factories,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              []string{config},
			ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err == nil {
		err = c.Run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "collector:", err)
		os.Exit(1)
	}
}
