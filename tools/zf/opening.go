package main

// The ELF files that a command opens: where their debug information may be, and what the answers
// lack without it.

import (
	"context"
	"fmt"
	"sync"

	"github.com/zeroframe/zeroframe/tools/symbol"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
)

// indexUsage is of a flag that older scripts give.
const indexUsage = "`WHEN` does nothing: files are read fast enough without an index"

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// opening is what a command has opened, and where it may take debug information from.
type opening struct {
	streams
	ctx    context.Context // of what is asked for
	server *buildid.Client // nil: nobody is asked for debug information

	mu     sync.Mutex
	opened []*symbol.File
	temp   []string // folders to be removed

	debugDir string // where debug files are; "": in the usual place

	folders []*buildid.Folder // set before the first file is opened

	failed sync.Map // builds that a server could not send
}

// newOpening returns what asks servers as -debuginfod=ask says.
func newOpening(ctx context.Context, ask string, s *streams) (x *opening, err error) {
	x = &opening{streams: *s, ctx: ctx}
	x.server, err = newDebuginfod(ask, x.stderr)
	return x, err
}

// stores returns where debug information may be: in the folders that were given, then at servers.
func (x *opening) stores() (all []symbol.Store) {
	for _, d := range x.folders {
		all = append(all, d)
	}
	if x.server != nil {
		all = append(all, x.server)
	}
	return all
}

// use lets a file that was just opened have debug information from elsewhere.
func (x *opening) use(f *symbol.File) {
	f.DebugDir = x.debugDir
	if stores := x.stores(); len(stores) > 0 {
		f.UseStores(x.ctx, stores...)
	}
	x.mu.Lock()
	x.opened = append(x.opened, f)
	x.mu.Unlock()
}

// open is symbol.Open with debug information from elsewhere.
func (x *opening) open(path string) (*symbol.File, error) {
	f, err := symbol.Open(path)
	if err == nil {
		x.use(f)
	}
	return f, err
}

// finish says what the answers lack. It is called when all answers are out and before the files are
// closed.
func (x *opening) finish() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.opened {
		if err := f.Incomplete(); err != nil {
			x.say("note: %v", err)
		}
	}
}
