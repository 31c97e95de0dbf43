package buildid

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/symbol"
)

// Limits of a Finder.
const (
	// MaxOpen is the number of files that stay open.
	MaxOpen = 64
	// MaxDigits is the longest build ID in hexadecimal digits.
	MaxDigits = 64
	// maxKnown bounds the IDs of which the answer is remembered.
	maxKnown = 4096
	// again is how long a file that was not found is not looked for again.
	again = 5 * time.Minute
)

// ErrNotFound is returned when no place has a file of the build ID.
var ErrNotFound = errors.New("no ELF file of this build ID")

// Finder finds files. It is safe for concurrent use.
type Finder struct {
	// Server is where files come from that no folder has; nil: from nowhere.
	Server *Server

	mu     sync.Mutex
	given  map[string]*symbol.File // files that were given: never closed
	first  []*symbol.File          // the same in their order
	dirs   []*Folder
	known  map[string]*entry
	opened int
}

// entry is what is known of a build ID.
type entry struct {
	done chan struct{} // closed when the rest is set
	file *symbol.File
	err  error
	when time.Time // of the latest use
}

// settled reports whether the rest is set.
func (e *entry) settled() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// NewFinder returns a finder that finds nothing yet.
func NewFinder() *Finder {
	return &Finder{given: make(map[string]*symbol.File), known: make(map[string]*entry)}
}

// Add adds an ELF file, or a folder of the layout .build-id/xx/yyyy.
func (f *Finder) Add(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if info.IsDir() {
		f.dirs = append(f.dirs, &Folder{Root: path, ids: []string{filepath.Join(path, ".build-id")}})
		return nil
	}
	file, err := Open(path)
	if err != nil {
		return err
	}
	if f.given[file.BuildID()] == nil {
		f.given[file.BuildID()] = file
	}
	f.first = append(f.first, file)
	return nil
}

// Given returns the files that were added one by one, in this order.
func (f *Finder) Given() []*symbol.File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.first)
}

// Valid reports whether the string is a build ID: 1 to 32 bytes in lower-case
// hexadecimal. Others must not become part of a path or an address.
func Valid(id string) bool {
	if len(id) < 2 || len(id) > MaxDigits || strings.ToLower(id) != id {
		return false
	}
	_, err := hex.DecodeString(id)
	return err == nil
}

// Ready returns the file of a build ID if it is known by now, without waiting.
func (f *Finder) Ready(id string) (file *symbol.File, known bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if file := f.given[id]; file != nil && id != "" {
		return file, true
	}
	e := f.known[id]
	if e == nil || !e.settled() || e.err != nil && time.Since(e.when) > again {
		return nil, false
	}
	if e.err == nil {
		e.when = time.Now()
	}
	return e.file, true
}

// Find returns the file of a build ID, which stays open, and waits for a server if
// need be. An error is ErrNotFound, or says what went wrong. It is remembered for a
// while.
func (f *Finder) Find(ctx context.Context, id string) (*symbol.File, error) {
	if !Valid(id) {
		return nil, fmt.Errorf("%w: %q is none", ErrNotFound, id)
	}
	f.mu.Lock()
	if file := f.given[id]; file != nil {
		f.mu.Unlock()
		return file, nil
	}
	e := f.known[id]
	if e != nil && e.err != nil && time.Since(e.when) > again {
		e = nil
	}
	if e != nil {
		f.mu.Unlock()
		select {
		case <-e.done:
			return e.file, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e = &entry{done: make(chan struct{}), when: time.Now()}
	f.forgetMissing()
	f.known[id] = e
	f.mu.Unlock()

	file, err := f.look(ctx, id)

	f.mu.Lock()
	defer f.mu.Unlock()
	e.file, e.err = file, err
	e.when = time.Now()
	if ctx.Err() != nil {
		delete(f.known, id) // the next one may have more patience
	}
	if file != nil {
		f.forgetFile()
		f.opened++
	}
	close(e.done)
	return file, err
}

// forgetMissing makes room for another answer, if there are too many: all that were not
// found are asked for anew.
func (f *Finder) forgetMissing() {
	if len(f.known) < maxKnown {
		return
	}
	maps.DeleteFunc(f.known, func(_ string, e *entry) bool { return e.settled() && e.file == nil })
}

// forgetFile forgets the file that was used least recently, if there are too many.
// Somebody who has found it before may use it still, so it is closed by the garbage
// collector alone, by way of its os.File.
func (f *Finder) forgetFile() {
	if f.opened < MaxOpen {
		return
	}
	oldest := ""
	for id, e := range f.known {
		if e.settled() && e.file != nil && (oldest == "" || e.when.Before(f.known[oldest].when)) {
			oldest = id
		}
	}
	if oldest != "" {
		delete(f.known, oldest)
		f.opened--
	}
}

// look looks in the folders, then at the server.
func (f *Finder) look(ctx context.Context, id string) (*symbol.File, error) {
	f.mu.Lock()
	dirs := slices.Clone(f.dirs)
	f.mu.Unlock()
	var wrong error
	for _, dir := range dirs {
		file, err := dir.Layout(id)
		if file != nil {
			return file, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			wrong = err
		}
	}
	if f.Server != nil {
		file, err := f.Server.Open(ctx, id)
		if file != nil {
			return file, nil
		}
		if err != nil && !errors.Is(err, ErrNotFound) {
			wrong = err
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return nil, ErrNotFound
}
