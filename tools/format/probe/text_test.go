package probe

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// sample is a record as the target writes it, of two functions, one with callers.
func sample() (*Plan, []byte) {
	p := PlanOf([]Function{
		{Name: "main.idle", Start: 0x200100}, {Name: "main.parse", Start: 0x200200},
		{Name: "example.org/a/very/long/path/to/package.(*Decoder).decodeEverything[...]", Start: 0x200300},
	}, 0x200000)
	p.Refused = []Function{{Name: "runtime.mcall", Refused: "it leaves its stack"}, {Name: "main.jump", Refused: "a conditional jump leaves it at +0x7"}, {Name: "main.jump2", Refused: "a conditional jump leaves it at +0x9"}}
	p.Inlined = map[string]int{"main.small": 3, "main.tiny": 12}
	var b []byte
	for _, v := range []uint64{
		1, 2_000_000_000, 4004, 4_000_000, 1, // version, Hz, hits, spent, lost callers
		2,
		1, 1000, 990, 2, 5, 3, 0, 992, 25_000_000, 2000, 4_000_000, 2, 44, 900, 60, 92,
		2, 3, 3, 0, 0, 0, 3, 0, 0, 0, 0, 0,
		1,
		1, 1000, 992, 25_000_000, 2, 0x210, 0x220,
	} {
		b = binary.AppendUvarint(b, v)
	}
	return p, b
}

func TestText(t *testing.T) {
	p, b := sample()
	rep, err := p.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	rep.Sort()
	rep.Functions[0].Callers[0].Names = []string{"main.readLine", "main.readAll", "main.main", "runtime.main", "runtime.goexit"}
	var out strings.Builder
	if err := rep.Text(&out, 0); err != nil {
		t.Fatal(err)
	}
	const want = `    calls    total     mean      p50      p99      max  function
     1000   12.5ms   12.6us   2.30us   36.9us   2.00ms  main.parse
          (2 ended in a jump, 5 ended by a panic or Goexit, 3 had not ended)
     1000   12.5ms  from main.readLine < main.readAll < main.main < runtime.main
                       < runtime.goexit
        3        -        -        -        -        -  package.(*Decoder).de...
          (3 not timed: no room)
4004 breakpoints took 2.00ms, 499ns each
callers not kept, as there was no room: 1; a larger depot= helps
not probed: 3
  a conditional jump leaves it: main.jump, main.jump2
  it leaves its stack: runtime.mcall
inlined, so not counted there (use //go:noinline or -gcflags=-l):
   main.tiny in 12, main.small in 3
`
	if out.String() != want {
		t.Errorf("the table is\n%s\nwant\n%s", out.String(), want)
	}
	for _, l := range strings.Split(out.String(), "\n") {
		if len(l) > width {
			t.Errorf("%d columns: %s", len(l), l)
		}
	}
	out.Reset()
	if rep.Text(&out, 1); !strings.Contains(out.String(), "and 1 more\n") || strings.Contains(out.String(), "Decoder") {
		t.Errorf("a table of one function is\n%s", out.String())
	}
	js, err := json.Marshal(rep)
	if err != nil || !strings.Contains(string(js), `"function":"main.parse","address":"0x200200","calls":1000,"returns":990,"jumps":2,"unwound":5,"open":3,"timed":992,"total_ns":12500000`) ||
		!strings.Contains(string(js), `"addresses":["0x200210","0x200220"]`) {
		t.Errorf("JSON: %s, %v", js, err)
	}
	if err := rep.Text(full{}, 0); err == nil {
		t.Error("a full disk is not told")
	}
	out.Reset()
	empty := Report{}
	if empty.Text(&out, 0); out.String() != "no probed function was called\n0 breakpoints took 0ns\n" {
		t.Errorf("an empty table is %q", out.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ns", 999: "999ns", 1000: "1.00us", 9994: "9.99us", 9996: "10.0us", 99949: "99.9us", 99951: "100us",
		999_499: "999us", 999_500: "1.00ms", 59 * time.Second: "59.0s", time.Hour: "3600s",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%d) = %s; want %s", d, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	p, b := sample()
	f.Add(b)
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := p.Read(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("error %v is no ErrRecord", err)
			}
			return
		}
		rep.Sort()
		var out strings.Builder
		if err := rep.Text(&out, 5); err != nil {
			t.Error(err)
		}
	})
}
