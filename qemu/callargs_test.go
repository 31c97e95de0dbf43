package qemu

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/format/wire"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// The arguments in traces against what the functions were called with: a program that crashes in
// many places, each on a machine of its own (callargsprogram_test.go). A value that is shown must
// be the right one. How many are shown is said beside how many Go's own traceback is sure of.

// goTraceWord is a word of an argument in the runtime's own traceback, with what it is not sure of.
var goTraceWord = regexp.MustCompile(`0x[0-9a-f]+(\??)`)

// argCounts count the arguments of the program's innermost functions.
type argCounts struct {
	mu                         sync.Mutex
	all, shown, lacking, heads int
	goWords, goUnsure          int
}

const madeInnermost = 8

func TestCallArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		sites, seeds int
		flags        string
	}{{"few", 12, 1, ""}, {"debug", 4, 1, "made=-N -l"}, {"many", 125, 2, ""}, {"manydebug", 50, 1, "made=-N -l"}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var c argCounts
			t.Run("seeds", func(t *testing.T) {
				for seed := range test.seeds {
					p := makeProgram(t, uint64(seed)+uint64(test.sites)<<32, test.sites)
					path := built(t, image.BuildOptions{Package: ".", Dir: p.dir, Env: testEnv(), GCFlags: test.flags})
					symbols := opened(t, path)
					for site := range test.sites {
						t.Run(fmt.Sprintf("%d-%d", seed, site), func(t *testing.T) {
							t.Parallel()
							p.crash(t, path, symbols, site, &c)
						})
					}
				}
			})
			t.Logf("%d arguments of the innermost %d functions: %d shown, %d more in places that the trace does not carry, %d strings and slices without their contents; Go's traceback has %d words, %d of them with ?",
				c.all, madeInnermost, c.shown, c.lacking, c.heads, c.goWords, c.goUnsure)
			if c.shown*10 < c.all*6 {
				t.Errorf("%d of %d arguments are shown; want 60 of 100", c.shown, c.all)
			}
			if c.lacking*20 > c.shown+c.lacking {
				t.Errorf("%d of %d arguments in memory are not carried; want one of 20 at most", c.lacking, c.shown+c.lacking)
			}
		})
	}
}

// crash boots the program, lets it crash at a site, and compares the arguments.
func (p *madeProgram) crash(t *testing.T, path string, symbols *symbol.File, site int, c *argCounts) {
	form := []string{"text", "compact", "markup"}[site%3]
	res, serial, err := boot(t, Config{Kernel: path}, "trace="+form+" -- "+strconv.Itoa(site))
	if err != nil || res.Outcome != Traced {
		t.Fatalf("the machine: %v, %v; want a trace: %s", res.Outcome, err, serial)
	}
	tr := madeTrace(t, symbols, serial)
	checked := 0
	p.innermost(tr, func(name string, want []madeArg, have []lookup.Argument) {
		checked++
		p.compare(t, symbols, name, want, have, c)
	})
	if checked == 0 {
		t.Errorf("no function of the program's in %s", serial)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	words, unsure := goMarks(serial)
	c.goWords += words
	c.goUnsure += unsure
}

// goMarks counts the words of the program's functions in the runtime's own traceback, and those of
// them that it marks with ?.
func goMarks(serial string) (words, unsure int) {
	_, own, _ := strings.Cut(serial, "goroutine ")
	own, _, _ = strings.Cut(own, "main.site")
	for _, line := range strings.Split(own, "\n") {
		if strings.HasPrefix(line, "main.") {
			for _, m := range goTraceWord.FindAllStringSubmatch(line, -1) {
				words++
				unsure += len(m[1])
			}
		}
	}
	return words, unsure
}

// madeTrace returns the trace in a serial log, with arguments.
func madeTrace(t *testing.T, symbols *symbol.File, serial string) *wire.Trace {
	t.Helper()
	var tr *wire.Trace
	f, err := trace.NewFilter(nil, trace.Options{Symbols: symbols, OnTrace: func(t *wire.Trace) { tr = t }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(serial)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if tr == nil || tr.Damaged {
		t.Fatalf("no whole trace in %s", serial)
	}
	return tr
}

// innermost calls f with the arguments of the program's innermost functions in a trace: what they
// were called with, and what the trace shows, nil if that is nothing.
func (p *madeProgram) innermost(tr *wire.Trace, f func(name string, want []madeArg, have []lookup.Argument)) {
	n := 0
	for i := range tr.Frames {
		fr := &tr.Frames[i]
		for k := range fr.Calls {
			name := fr.Calls[k].Function
			want, ok := p.calls[name]
			if !ok || n == madeInnermost {
				continue
			}
			n++
			var have []lookup.Argument
			if fr.Arguments != nil {
				have = fr.Arguments[k]
			}
			f(name, want, have)
		}
	}
}

var headOnly = regexp.MustCompile(`0x[0-9a-f]+\[:`)

// compare compares the arguments of one function.
func (p *madeProgram) compare(t *testing.T, symbols *symbol.File, name string, want []madeArg, have []lookup.Argument, c *argCounts) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all += len(want)
	if have == nil {
		return
	}
	if len(have) != len(want) {
		t.Errorf("%s has %v; want %d arguments", name, have, len(want))
		return
	}
	for i := range want {
		w, h := &want[i], &have[i]
		if h.Name != w.name || w.name != "recv" && !sameType(h.Type, w.typ.name) {
			t.Errorf("%s: argument %d is %s of type %s; want %s of type %s", name, i, h.Name, h.Type, w.name, w.typ.name)
		}
		switch {
		case h.Lacking:
			c.lacking++
		case h.Known:
			c.shown++
			if headOnly.MatchString(h.Value) {
				c.heads++
			}
			if !w.is(t, symbols, h.Value) {
				t.Errorf("%s: %s = %s; want %s", name, w.name, h.Value, w.want)
			}
		}
	}
}

// sameType compares a type's name with DWARF's.
func sameType(dwarf, source string) bool {
	full := map[string]string{"*T": "*main.T", "S": "main.S", "Color": "main.Color", "any": "interface {}", "byte": "uint8", "[]byte": "[]uint8", "map[string]int": "map[string]int"}
	return dwarf == source || dwarf == full[source]
}
