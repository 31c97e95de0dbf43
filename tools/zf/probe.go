package main

// `zf run -probe`: which functions' calls are counted and timed, and what is said of it.

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/probe"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
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
	p.top = 40
	addFlags(fs, []option{
		{func(s string) error {
			for pat := range strings.SplitSeq(s, ",") {
				if pat = strings.TrimSpace(pat); pat == "" {
					return errors.New("want patterns of names parted by commas")
				}
				p.patterns = append(p.patterns, pat)
			}
			return nil
		}, "probe", "count and time the calls of the functions whose names match `PATTERN`,\nsuch as 'main.parse*,strconv.*'; may be given many times"},
		{&p.stacks, "probe-stacks", "count by the stack of callers, too"},
		{&p.json, "probe-json",
			"write the counts, with histograms, as one JSON object to `FILE`;\n- is standard output"},
		{&p.top, "probe-top", "show the `N` functions with the most time; 0 shows all"},
	})
}

// wrong returns what is wrong with the flags, if anything is.
func (p *probes) wrong() error {
	switch {
	case len(p.patterns) > 0:
	case p.stacks:
		return errors.New("-probe-stacks wants -probe")
	case p.json != "":
		return errors.New("-probe-json wants -probe")
	}
	return nil
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
func (p *probes) end(s *streams) bool {
	if p.last == nil {
		s.say("-probe: the target has sent no counts: it ends without a word, or its memory is too small")
		return false
	}
	err := p.last.Text(s.stderr, p.top)
	if p.json != "" && err == nil {
		err = writeTo(p.json, s.stdout,
			func(w io.Writer) error { return json.NewEncoder(w).Encode(p.last) })
	}
	if err != nil {
		s.say("-probe: %v", err)
	}
	return err == nil
}
