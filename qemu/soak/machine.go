package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
)

// A report is what the workers have said at their end.
type report struct {
	counts []count
	known  string // a digest of the results that they compared with
	bits   string // of the vectors
}

// count says how often the workers of a kind have been round.
type count struct {
	name string
	n    int
}

// String tells the sum, and who has done the least.
func (r report) String() string {
	sum, least := 0, count{n: 1 << 62}
	for _, c := range r.counts {
		sum += c.n
		if c.n < least.n {
			least = c
		}
	}
	return fmt.Sprintf("%d rounds of %d kinds of workers (least: %s, %d), vectors of %s bits", sum,
		len(r.counts), least.name, least.n, r.bits)
}

// allowance is how much longer than its duration a machine may take: workers end their
// last round, on a host that is busy.
const allowance = 2 * time.Minute

// try boots a machine, and returns what its program said. An error says what was wrong;
// serial is then all that came from the serial port.
func try(ctx context.Context, l *batch.Lab, p plan) (r report, serial string, err error) {
	sent, res, err := batch.Boot(ctx, qemu.Config{
		Kernel: l.Image, Machine: p.machine, CPU: p.cpu, MemoryMiB: p.memoryMiB, CPUs: p.cpus,
		Timeout: p.duration + allowance,
		Append:  fmt.Sprintf("-- -seed %d -duration %v", p.seed, p.duration),
	})
	var out strings.Builder
	_, terr := l.Traces(sent, &out)
	switch err = cmp.Or(err, terr); {
	case err != nil:
	case res.Outcome != qemu.Exited:
		err = fmt.Errorf("the program %v", res.Outcome)
	case res.Program != 0:
		err = fmt.Errorf("the program exited with status %d", res.Program)
	default:
		r, err = parse(out.String())
	}
	return r, out.String(), err
}

var (
	countLine = regexp.MustCompile(`(?m)^soak: (\w+) (\d+)\r?$`)
	knownLine = regexp.MustCompile(`(?m)^soak: known floats ([0-9a-f]+)\r?$`)
	bitsLine  = regexp.MustCompile(`(?m)^soak: seed .* vectors of (\d+) bits\r?$`)
	okLine    = regexp.MustCompile(`(?m)^soak: ok\r?$`)
)

// parse reads what the workers print.
func parse(text string) (r report, err error) {
	known, bits := knownLine.FindStringSubmatch(text), bitsLine.FindStringSubmatch(text)
	for _, m := range countLine.FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil || n == 0 {
			return r, fmt.Errorf("%s has been round %s times; want at least once", m[1], m[2])
		}
		r.counts = append(r.counts, count{m[1], n})
	}
	if known == nil || bits == nil || len(r.counts) == 0 || !okLine.MatchString(text) {
		return r, fmt.Errorf("the program did not say all it should")
	}
	r.known, r.bits = known[1], bits[1]
	return r, nil
}
