package main

// What the flags -cpuprofile, -memprofile and -handles keep in files, and how those are written.

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"sync"

	"github.com/zeroframe/zeroframe/tools/format/whole"
)

// writeTo has f write a file, all or nothing, or standard output for "-".
func writeTo(path string, stdout io.Writer, f func(io.Writer) error) error {
	if path == "-" {
		return f(stdout)
	}
	return writeFile(path, f)
}

// writeBytes is writeTo for what is there already.
func writeBytes(path string, stdout io.Writer, b *bytes.Buffer) error {
	return writeTo(path, stdout, func(w io.Writer) error {
		_, err := w.Write(b.Bytes())
		return err
	})
}

// writeFile has f write a file, all or nothing.
func writeFile(path string, f func(io.Writer) error) error {
	var b bytes.Buffer
	if err := f(&b); err != nil {
		return err
	}
	return whole.WriteFile(path, b.Bytes(), 0o666)
}

// cpuProfile is the flag -cpuprofile of `zf run`.
type cpuProfile struct {
	path   string
	hz     int
	came   bool
	failed bool // to be written, which has been said
}

func (c *cpuProfile) flags(fs *flag.FlagSet) {
	addFlags(fs, []option{
		{&c.path, "cpuprofile",
			"profile the program, kernel included, and write `FILE` in pprof's\nformat when the machine ends: for zf profile and go tool pprof"},
		{&c.hz, "profilerate", "take `N` samples in a second of running time (default 997)"},
	})
}

// option returns the kernel's option for it, or "".
func (c *cpuProfile) option() string {
	switch {
	case c.path == "":
		return ""
	case c.hz > 0:
		return fmt.Sprintf("profile=%d", c.hz)
	}
	return "profile=on"
}

// wrong returns what is wrong with the flags, if anything is.
func (c *cpuProfile) wrong() error {
	switch {
	case c.hz != 0 && c.path == "":
		return errors.New("-profilerate needs -cpuprofile FILE")
	case c.hz < 0 || c.hz > 100_000:
		return fmt.Errorf("-profilerate %d: want 1 to 100000", c.hz)
	}
	return nil
}

// end reports false, and says so, if the profile that was asked for has not come.
func (c *cpuProfile) end(s *streams) bool {
	if c.path == "" || c.came || c.failed {
		return !c.failed
	}
	s.say("-cpuprofile: the target has sent no profile: it ends without a word, or what it says above is the reason")
	return false
}

// keptFiles are files of a kind of record: FILE.1, FILE.2 and so on, and FILE, the latest.
type keptFiles struct {
	path      string
	one, many string // what they are
	show      string // the command that shows one
	none      string // why there is none

	mu   sync.Mutex
	n    int
	asOf string // as of when the latest one is; "": that is not said
}

// take keeps the records of a kind that m sends, as convert makes them; those of which it makes
// nothing are left out.
func (k *keptFiles) take(m *machine, kind string, convert func(data []byte) ([]byte, error)) {
	m.records.take(kind, func(data []byte) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		data, err := convert(data)
		if err != nil || data == nil {
			return err
		}
		if err := whole.WriteFile(fmt.Sprintf("%s.%d", k.path, k.n+1), data, 0o666); err != nil {
			return err
		}
		k.n++
		return whole.WriteFile(k.path, data, 0o666)
	})
}

// end says what was kept. It reports false if there is nothing, though it was asked for.
func (k *keptFiles) end(s *streams) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.path == "":
	case k.n == 0:
		s.say("%s", k.none)
		return false
	case k.n == 1:
		s.say("%s is in %s; `%s %[2]s` shows it", k.one, k.path, k.show)
	default:
		s.say("%d %s are in %s.1 to %[3]s.%[1]d; `zf leaks` compares two", k.n, k.many, k.path)
	}
	if k.n > 0 && k.asOf != "" {
		s.say("%s is %s", k.path, k.asOf)
	}
	return true
}
