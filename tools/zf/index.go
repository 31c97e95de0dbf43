package main

// `zf index` and the flag -index of the commands that resolve addresses: when an
// index is used and when one is made. Making one takes a second or two for a Linux
// kernel, which nobody is to wait for who has not asked for it: so by itself zf makes
// one only where it saves much, after the answers, in a process of its own at low
// priority.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/buildid"
	"github.com/zeroframe/zeroframe/tools/debuginfod"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const indexText = `Index makes one file of all that look-ups in an ELF file need, so that zf
symbolize and zf addr answer at once, however long its debug information takes
to read: where that is compressed, hundreds of times as fast.

  zf index vmlinux

Indexes lie in the user's cache folder (` + "`zf index`" + ` alone says where). Each is of
one build of one file and never out of date; the folder may be removed at any
time. Together they take 4 GiB at most: those not used for the longest time make
room.

zf symbolize and zf addr use the index that is there. With -index=auto, as by
default, they also have one made of a file that would gain much by it, in the
background, when their answers are out; until it is there, an outline that they
leave saves the next run most of the time. With -index=build they make it first;
with -index=off they neither use nor make one. Go programs need none: what they
bring with them is as good. Nor has a file one whose debug information is in
.dwo files, which may change without it.`

const indexUsage = "answer from an index of the ELF file: `WHEN` is auto (if there is one;\nwhere it pays, one is made in the background afterwards), build (made\nfirst) or off; see `zf help index`"

// The modes of -index.
const (
	indexAuto  = "auto"
	indexBuild = "build"
	indexOff   = "off"
)

func runIndex(c *call) error {
	var rebuild, background bool
	ask := debuginfodAuto
	if err := c.parse([]option{
		{&rebuild, "rebuild", "make an index also if there is one"},
		{&ask, "debuginfod", debuginfodUsage},
		{&background, "background", "leave the processor to others, and say nothing"},
	}); err != nil {
		return err
	}
	folder, err := symbol.IndexFolder()
	if err != nil {
		return err
	}
	if c.NArg() == 0 {
		return listIndexes(folder, c.stdout)
	}
	out, progress := c.stdout, c.stderr
	if background {
		out, progress = io.Discard, io.Discard
		yieldProcessor()
	}
	server, err := newDebuginfod(ask, progress)
	if err != nil {
		return err
	}
	for _, path := range c.Args() {
		if ierr := makeIndex(path, folder, rebuild, server, out, progress); ierr != nil {
			c.fail(ierr)
			err = status(exitUsage)
		}
	}
	return err
}

// makeIndex makes the index of one file and says where it is.
func makeIndex(path, folder string, rebuild bool, server *debuginfod.Client, stdout, progress io.Writer) error {
	f, err := symbol.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if server != nil {
		f.UseStores(context.Background(), server)
	}
	if !rebuild && f.UseIndex(folder) {
		_, err := fmt.Fprintf(stdout, "%s has its index already\n", path)
		return err
	}
	index, err := f.BuildIndex(folder, symbol.DefaultIndexLimit, indexProgress("zf index", path, progress))
	if errors.Is(err, symbol.ErrNoIndexNeeded) {
		_, err := fmt.Fprintln(stdout, err)
		return err
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(index)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %s\n", index, megabytes(info.Size()))
	return err
}

// listIndexes says where indexes lie and how much they take.
func listIndexes(folder string, stdout io.Writer) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n, total := 0, int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n, total = n+1, total+info.Size()
		}
	}
	fmt.Fprintf(stdout, "%s: %d indexes, %s of %s\n", folder, n, megabytes(total), megabytes(symbol.DefaultIndexLimit))
	return nil
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// indexProgress returns what tells the user how far the index of the file at path is,
// from one second on, each time a tenth more is done.
func indexProgress(command, path string, w io.Writer) func(done, total int) {
	start, said := time.Now(), 0
	return func(done, total int) {
		if tenth := 10 * done / total; tenth > said && done < total && time.Since(start) > time.Second {
			said = tenth
			fmt.Fprintf(w, "%s: making the index of %s: %d %%\n", command, filepath.Base(path), 10*tenth)
		}
	}
}

// indexing is what a command does about indexes.
type indexing struct {
	streams
	mode   string
	folder string // where indexes lie, "" if there is no place
	// background makes the index of a file after the command's end.
	background func(path string, servers bool) error

	ctx    context.Context    // of what is asked for
	server *debuginfod.Client // nil: nobody is asked for debug information

	mu     sync.Mutex
	opened []*symbol.File
	temp   []string // folders to be removed

	debugDir string // where debug files are; "": in the usual place

	folders []*buildid.Folder // set before the first file is opened

	failed map[string]bool // builds that a server could not send
}

// newIndexing returns what -index=mode and -debuginfod=ask ask for.
func newIndexing(ctx context.Context, mode, ask string, s *streams) (x *indexing, err error) {
	x = &indexing{mode: mode, streams: *s, background: indexLater, ctx: ctx}
	if mode != indexAuto && mode != indexBuild && mode != indexOff {
		return nil, fmt.Errorf("-index is auto, build or off, not %q", mode)
	}
	if x.folder, err = symbol.IndexFolder(); err != nil && mode == indexBuild {
		return nil, fmt.Errorf("-index=build: %w", err)
	}
	x.server, err = newDebuginfod(ask, x.stderr)
	return x, err
}

// stores returns where debug information may be: in the folders that were given, then at servers.
func (x *indexing) stores() (all []symbol.Store) {
	for _, d := range x.folders {
		all = append(all, d)
	}
	if x.server != nil {
		all = append(all, x.server)
	}
	return all
}

// use lets a file that was just opened use its index.
func (x *indexing) use(f *symbol.File) {
	if x == nil {
		return
	}
	f.DebugDir = x.debugDir
	if stores := x.stores(); len(stores) > 0 {
		f.UseStores(x.ctx, stores...)
	}
	x.mu.Lock()
	x.opened = append(x.opened, f)
	x.mu.Unlock()
	if x.mode == indexOff || x.folder == "" {
		return
	}
	if f.UseIndex(x.folder) || x.mode != indexBuild {
		return
	}
	_, err := f.BuildIndex(x.folder, symbol.DefaultIndexLimit, indexProgress(x.who, f.Name(), x.stderr))
	switch {
	case errors.Is(err, symbol.ErrNoIndexNeeded):
	case err != nil:
		x.say("note: without an index: %v", err)
	default:
		f.UseIndex(x.folder)
	}
}

// open is symbol.Open with the index.
func (x *indexing) open(path string) (*symbol.File, error) {
	f, err := symbol.Open(path)
	if err == nil {
		x.use(f)
	}
	return f, err
}

// finish says what the answers lack, and has indexes made of the files that need one. It is
// called when all answers are out and before the files are closed.
func (x *indexing) finish() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.opened {
		if err := f.Incomplete(); err != nil {
			x.say("note: %v", err)
			continue // an index would lack the same
		}
		if x.mode == indexOff || x.folder == "" || !f.WantsIndex() || x.isTemp(f.Name()) {
			continue
		}
		// If one of these fails, there will be another time.
		f.LeaveOutline(x.folder, symbol.DefaultIndexLimit) // for who comes before the index
		if !f.IndexUnderway(x.folder) {
			x.background(f.Name(), x.server != nil)
		}
	}
}

// isCommand is set in a process that is zf itself, not a test of it.
var isCommand bool

// indexLater starts a process that makes the index of the file at path, and leaves
// it to itself. It may ask debuginfod servers, if servers is set: of another file the index
// would be of no use.
func indexLater(path string, servers bool) error {
	if !isCommand {
		return errors.New("no zf that could be started")
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	ask := debuginfodOff
	if servers {
		ask = debuginfodAuto
	}
	cmd := exec.Command(exe, "index", "-background", "-rebuild", "-debuginfod="+ask, "--", path)
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}
