package receive

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/zeroframe/zeroframe/qemu/fleet"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
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

// TestPreviousOfPart: a death of which a part has come when the machine died is there whole when
// the next boot tells it, once, whether that part has been shown already or not.
func TestPreviousOfPart(t *testing.T) {
	im := testImage(t)
	died := fleet.Datagrams(im.Build, 77, 3, im.Target(tracer.Text).Trace(tracer.KindFault, "x", fleet.Deep(60)))
	told := append([]byte("zf1 previous 1\r\n"), im.Target(tracer.Compact).Trace(tracer.KindFault, "x", fleet.Deep(60))...)
	for _, tt := range []struct {
		name   string
		came   int           // datagrams of the death
		later  time.Duration // that the boot comes
		traces int
	}{
		{"at once", 2, 0, 1}, {"shown", 2, time.Minute, 2}, {"whole", len(died), time.Minute, 1}, {"nothing", 0, 0, 1},
	} {
		in, c := newTest(Options{})
		for _, d := range died[:tt.came] {
			in.Datagram(t0, alice, d)
		}
		in.Tick(t0.Add(tt.later))
		for range 2 { // two boots of one death
			for _, d := range fleet.Datagrams("", 77, 3, told) {
				in.Datagram(t0.Add(tt.later), alice, d)
			}
		}
		for _, d := range died[:tt.came] { // stragglers
			in.Datagram(t0.Add(tt.later), alice, d)
		}
		in.Tick(t0.Add(tt.later + time.Minute))
		if len(c.traces) != tt.traces {
			t.Fatalf("%s: %d traces; want %d", tt.name, len(c.traces), tt.traces)
		}
		if last := c.traces[len(c.traces)-1]; last.Missing != 0 || tt.came < len(died) && !bytes.Equal(last.Bytes, told) {
			t.Errorf("%s: the last trace: %d missing, %q", tt.name, last.Missing, last.Bytes)
		}
		if in.held != 0 {
			t.Errorf("%s: %d bytes are held", tt.name, in.held)
		}
	}
}
