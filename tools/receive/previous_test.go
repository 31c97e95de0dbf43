package receive

import (
	"io"
	"testing"

	"github.com/zeroframe/zeroframe/tools/buildid"
	"github.com/zeroframe/zeroframe/tools/receive/fleet"
	"github.com/zeroframe/zeroframe/tracer"
)

// TestPrevious: a trace that a boot before has left counts as the death that it is, under the
// ID that it has when it comes from the boot itself, in whatever form.
func TestPrevious(t *testing.T) {
	im := testImage(t)
	f := buildid.NewFinder()
	if err := f.Add(im.Path); err != nil {
		t.Fatal(err)
	}
	s := newResolver(NewReporter(t.Context(), ReportOptions{Out: io.Discard, Finder: f}))
	arrival := func(form tracer.Form, before string) *Arrival {
		b := append([]byte(before), im.Target(form).Trace(tracer.KindFault, "write to 0x8", fleet.Deep(3))...)
		return &Arrival{Machine: "m", Addr: alice, Time: t0, Boot: 5, Seq: 2, Bytes: b}
	}
	died, told := s.resolve(arrival(tracer.Text, "")), s.resolve(arrival(tracer.Compact, "zf1 previous 3\r\n"))
	if len(died.crashes) != 1 || len(told.crashes) != 1 {
		t.Fatalf("%d and %d crashes; want 1 and 1", len(died.crashes), len(told.crashes))
	}
	a, b := died.crashes[0], told.crashes[0]
	if a.ID != b.ID || a.Fingerprint != b.Fingerprint || !b.Fatal || a.BuildID != im.Build || b.BuildID != im.Build {
		t.Errorf("when it died: %+v\ntold by the next boot: %+v", a, b)
	}
}
