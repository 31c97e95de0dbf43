package receive

import (
	"fmt"
	"io"
	"net/netip"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
	"github.com/zeroframe/zeroframe/tracer"
)

func BenchmarkLine(b *testing.B) {
	r := NewReporter(b.Context(), ReportOptions{Out: io.Discard, Lines: true})
	in := NewIntake(Options{Oops: true}, r)
	var from [4096]netip.AddrPort
	for i := range from {
		from[i] = netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 6665)
	}
	line := fleet.Line(1, 2)
	for i := 0; b.Loop(); i++ {
		in.Datagram(t0, from[i%len(from)], line)
	}
}

// BenchmarkTrace is all that a trace costs up to its being whole: its pieces, and the
// parity pieces that are not needed.
func BenchmarkTrace(b *testing.B) {
	im := testImage(b)
	in := NewIntake(Options{}, discard{})
	trace := im.Target(tracer.Text).Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(24))
	d := fleet.Datagrams(im.Build, 1, 1, trace)
	b.ReportMetric(float64(len(d)), "datagrams")
	for i := 0; b.Loop(); i++ {
		for _, d := range d {
			in.Datagram(t0, netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 6665), d)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	im := testImage(b)
	f := buildid.NewFinder()
	if err := f.Add(im.Path); err != nil {
		b.Fatal(err)
	}
	r := NewReporter(b.Context(), ReportOptions{Out: io.Discard, Finder: f})
	target := im.Target(tracer.Text)
	s := newResolver(r)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		trace := target.Trace(tracer.KindFault, fmt.Sprint("write to ", i), fleet.Deep(24))
		b.StartTimer()
		res := s.resolve(&Arrival{Machine: "m", Addr: alice, Time: t0, Boot: 1, Seq: uint32(i), Bytes: trace})
		if len(res.crashes) != 1 {
			b.Fatal(len(res.crashes))
		}
	}
}

// BenchmarkPipeline is a trace from its datagrams to the output, counted.
func BenchmarkPipeline(b *testing.B) {
	im := testImage(b)
	f := buildid.NewFinder()
	if err := f.Add(im.Path); err != nil {
		b.Fatal(err)
	}
	var traces [][][]byte
	target := im.Target(tracer.Text)
	for i := range 1000 {
		traces = append(traces, fleet.Datagrams(im.Build, uint64(i), 1, target.Trace(tracer.KindFault, "nil pointer dereference", fleet.Deep(24))))
	}
	b.ResetTimer()
	r := NewReporter(b.Context(), ReportOptions{Out: io.Discard, Finder: f})
	in := NewIntake(Options{}, r)
	for i := range b.N {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 6665)
		for _, d := range traces[i%len(traces)] {
			in.Datagram(t0, from, d)
		}
	}
	in.Close()
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
}
