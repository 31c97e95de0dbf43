package main

// The log of a machine that has died, kept on this host: `zf run` and `zf test` show a death in a
// few lines, and `zf last` shows the rest.

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// mostDeaths is how many logs are kept.
const mostDeaths = 50

// Of a machine that runs for long without dying the end is kept in memory, and of one that dies
// without an end no more than this in the file.
const (
	mostHeld = 1 << 20
	mostLog  = 256 << 20
)

// deathLog takes the whole output of a machine, into a file in the folder of deaths from the first
// trace on.
type deathLog struct {
	name string // of what is booted
	elf  string // which is kept for the latest death

	mu   sync.Mutex
	held []byte
	file *os.File
	path string
	size int
	err  error // why the file is not there, or not whole
}

// deathsFolder is where the logs are.
func deathsFolder() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "zeroframe", "deaths"), err
}

// latestELF is the name of the image of the latest death.
const latestELF = "latest.elf"

// newDeaths returns the log of the machine, nil if its traces are shown as they come.
func (m *machine) newDeaths() *deathLog {
	if m.verbose {
		return nil
	}
	return &deathLog{name: strings.TrimSuffix(m.name, ".elf"), elf: m.coreELF}
}

// Write never fails: a full disk must not end the machine.
func (l *deathLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		if l.held = append(l.held, p...); len(l.held) > mostHeld {
			l.held = append(l.held[:0], l.held[len(l.held)-mostHeld/2:]...)
		}
		return len(p), nil
	}
	l.write(p)
	return len(p), nil
}

func (l *deathLog) write(p []byte) {
	if l.err != nil {
		return
	}
	if l.size += len(p); l.size > mostLog {
		l.err = fmt.Errorf("it is cut after %d MiB", mostLog>>20)
		return
	}
	_, l.err = l.file.Write(p)
}

// keep is called when a trace has begun: from now on there is a file.
func (l *deathLog) keep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil || l.err != nil {
		return
	}
	folder, err := deathsFolder()
	if err == nil {
		err = os.MkdirAll(folder, 0o777)
	}
	stem := filepath.Join(folder, time.Now().Format("20060102-150405-")+filepath.Base(l.name))
	for n := 2; err == nil && l.file == nil; n++ {
		l.path = stem + ".txt"
		l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) {
			stem, err = fmt.Sprintf("%s-%d", strings.TrimSuffix(stem, fmt.Sprintf("-%d", n-1)), n), nil
		}
	}
	if l.err = err; err == nil {
		l.write(l.held)
		prune(folder)
		// the image of the latest death
		if latest := filepath.Join(folder, latestELF); copyFile(latest, l.elf) != nil {
			os.Remove(latest) // that of another death would mislead
		}
	}
	l.held = nil
}

// prune removes the oldest logs.
func prune(folder string) {
	logs := deathsIn(folder)
	for _, path := range logs[min(len(logs), mostDeaths):] {
		os.Remove(path)
	}
}

// deathsIn returns the logs in a folder, the latest one first.
func deathsIn(folder string) (paths []string) {
	entries, _ := os.ReadDir(folder)
	times := make(map[string]time.Time)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && filepath.Ext(e.Name()) == ".txt" {
			path := filepath.Join(folder, e.Name())
			paths, times[path] = append(paths, path), info.ModTime()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return times[b].Compare(times[a]) })
	return paths
}

// kept reports whether zf last has the trace.
func (l *deathLog) kept() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file != nil
}

// where says where the log is, or what has become of it.
func (l *deathLog) where() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file == nil:
		return fmt.Sprintf("the whole trace is not kept: %v", l.err)
	case l.err != nil:
		return fmt.Sprintf("the trace, not whole (%v): %s", l.err, shortHome(l.path))
	}
	return "the whole trace: " + shortHome(l.path)
}

// shortHome returns a path as a shell takes it, with ~ for the user's folder.
func shortHome(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); err == nil && ok {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// close ends the log.
func (l *deathLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
		l.file = nil
	}
}

const lastText = `Last shows the whole trace of the latest death that zf run or zf test has shown
in a few lines: all that the machine said, with the addresses resolved. The 50
latest logs are kept, in the user's cache folder (~/.cache/zeroframe/deaths).

With -report it makes the HTML page of it, as zf report does. The image is kept
for the latest death alone.`

// runLast runs `zf last`.
func runLast(c *call) error {
	var page bool
	var elf, out string
	if err := c.parse([]option{
		{&page, "report", "make an HTML page of it"},
		{&elf, "e", "the `ELF` file that was running, for -report (default: that of the\nlatest death)"},
		{&out, "o",
			"the page's `FILE`, - for standard output (default: beside here, named\nas zf report does)"},
	}); err != nil {
		return err
	}
	switch {
	case c.NArg() > 0:
		return c.wrong("unexpected %q", c.Arg(0))
	case !page && elf+out != "":
		return c.wrong("-e and -o are for -report")
	case page && lean:
		return c.handOver()
	}
	folder, err := deathsFolder()
	if err != nil {
		return err
	}
	logs := deathsIn(folder)
	if len(logs) == 0 {
		return fmt.Errorf("there is no death in %s; zf run keeps those of its machines",
			shortHome(folder))
	}
	if page {
		if elf == "" {
			elf = filepath.Join(folder, latestELF)
		}
		args := []string{"report", "-e", elf}
		if out != "" {
			args = append(args, "-o", out)
		}
		c.deaf()
		return status(dispatchIn(c.ctx, append(args, logs[0]), c.stdin, c.stdout, c.stderr))
	}
	file, err := os.Open(logs[0])
	if err != nil {
		return err
	}
	defer file.Close()
	c.say("%s", shortHome(logs[0]))
	_, err = io.Copy(c.stdout, file)
	return err
}
