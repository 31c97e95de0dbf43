package main

// `zf run -probe`: which functions' calls are counted and timed, and what is said of it.

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/zeroframe/zeroframe/tools/initrd"
	"github.com/zeroframe/zeroframe/tools/probe"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// probeDepot is the kernel option for the memory that stacks of callers are kept in.
const probeDepot = "depot=1048576"

// probes is what the command line says of probes, and what comes of it.
type probes struct {
	patterns []string
	stacks   bool
	json     string
	top      int

	plan *probe.Plan
	last *probe.Report
}

// flags adds the flags.
func (p *probes) flags(fs *flag.FlagSet) {
	fs.Func("probe", "count and time the calls of the functions whose names match `PATTERN`,\nsuch as 'main.parse*,strconv.*'; may be given many times", func(s string) error {
		for _, pat := range strings.Split(s, ",") {
			if pat = strings.TrimSpace(pat); pat == "" {
				return fmt.Errorf("want patterns of names parted by commas")
			}
			p.patterns = append(p.patterns, pat)
		}
		return nil
	})
	fs.BoolVar(&p.stacks, "probe-stacks", false, "count by the stack of callers, too")
	fs.StringVar(&p.json, "probe-json", "", "write the counts, with histograms, as one JSON object to `FILE`;\n- is standard output")
	fs.IntVar(&p.top, "probe-top", 40, "show the `N` functions with the most time; 0 shows all")
}

// wrong says what is wrong with the flags, or "".
func (p *probes) wrong() string {
	switch {
	case len(p.patterns) > 0:
	case p.stacks:
		return "-probe-stacks wants -probe"
	case p.json != "":
		return "-probe-json wants -probe"
	}
	return ""
}

// choose decides what is probed and puts it into the archive for the guest.
func (p *probes) choose(sym *symbol.File, a *initrd.Archive) (err error) {
	if p.plan, err = probe.Choose(sym, p.patterns); err != nil {
		return fmt.Errorf("-probe: %w", err)
	}
	a.AddFile("/"+probe.File, 0o444, p.plan.Table(p.stacks))
	return nil
}

// take is for the target's record.
func (p *probes) take(data []byte, sym *symbol.File) error {
	rep, err := p.plan.Read(data)
	if err != nil {
		return err
	}
	rep.Sort()
	rep.Name(sym)
	p.last = rep
	return nil
}

// end shows the counts. It reports false, and says so, if what was asked for is not
// there.
func (p *probes) end(command string, stdout, stderr io.Writer) bool {
	if p.last == nil {
		fmt.Fprintf(stderr, "%s: -probe: the target has sent no counts: it ends without a word, or its memory is too small\n", command)
		return false
	}
	err := p.last.Text(stderr, p.top)
	if p.json != "" && err == nil {
		var b []byte
		if b, err = json.Marshal(p.last); err == nil {
			if b = append(b, '\n'); p.json == "-" {
				_, err = stdout.Write(b)
			} else {
				err = os.WriteFile(p.json, b, 0o666)
			}
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: -probe: %v\n", command, err)
	}
	return err == nil
}
