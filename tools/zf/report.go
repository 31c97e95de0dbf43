//go:build !lean

package main

// `zf report`: a log -> one HTML page (tools/format/page), to be attached to a bug.

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/format/handle"
	"github.com/zeroframe/zeroframe/tools/format/input"
	"github.com/zeroframe/zeroframe/tools/format/page"
	"github.com/zeroframe/zeroframe/tools/format/profile"
	"github.com/zeroframe/zeroframe/tools/format/source"
	"github.com/zeroframe/zeroframe/tools/format/trace"
	"github.com/zeroframe/zeroframe/tools/postmortem/waits"
	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

const reportText = `Report makes one page of a log, to be attached to a bug: the traces with their
source, registers, how full each stack got, threads and goroutines, a flame
graph, what was open, and the log. LOG is what the kernel sent, or what zf run
or zf symbolize made of it; - is standard input.

  zf report -e hello.elf serial.log          writes serial.html
  zf report crash.zfr                        of a recording, with why it died
  zf run -cpuprofile p -handles h hello.elf 2>&1 | tee run.log
  zf report -e hello.elf -profile p -handles h run.log

The page is one file for any browser. It loads nothing and sends nothing, which
its security policy enforces, and it can be read and printed without scripts.
Whatever a log, an ELF file or a source file holds is text on it. It has source
(see -source in zf symbolize -h), paths of this machine and the log: look at it
before you send it.

Profiles and snapshots that are in the log itself are shown by themselves. Of a
very long log the page has the beginning, the end, and 200 traces.`

// reportFlags are the flags of zf report.
type reportFlags struct {
	images   symbolizeFlags // -e, -force, -bias, -guess
	output   string
	title    string
	input    string
	remaps   []source.Remap
	context  int
	dated    bool
	profiles []string
	handles  []string
	core     string // a core of the same death
	trust    bool   // QEMU gets whatever a recording says
	doubt    error  // why the recording is not replayed
	hang     bool   // of a program that had done nothing for long
	image    string // the name of a recording's image, of which the ELF file is a copy
}

func runReport(c *call) error {
	var f reportFlags
	if err := f.parse(c); err != nil {
		return err
	}
	ctx := c.interruptible()
	var in io.ReadCloser
	var err error
	var ask func() (*page.Why, error)
	if isRecording(f.input) {
		in, ask, err = f.recording(ctx, c)
	} else {
		in, err = input.Open(ctx, f.input, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never,
			Stdin: c.stdin})
	}
	if err != nil {
		return err
	}
	defer in.Close()
	indexes, err := newOpening(ctx, debuginfodOff, &c.streams)
	if err != nil {
		return err
	}
	images := f.images.load(indexes)
	defer indexes.finish()
	defer images.Close()
	im := images.wait(ctx)
	if images.err != nil {
		return images.err
	}
	if im != nil {
		images.assumed.WriteTo(c.stderr)
	}
	opt, err := f.options(im, c.stderr)
	if err != nil {
		return err
	}
	page, err := page.New(opt)
	if err != nil {
		return err
	}
	err = cmp.Or(pump(ctx, pieces(0), page, input.Text(in, nil), nil), page.Close())
	if err == nil {
		err = f.addRecords(page)
	}
	if err != nil {
		return err
	}
	if ask != nil { // the last thing that may fail: it takes long
		told, err := ask()
		if err != nil {
			return failure{err, exitMachine}
		}
		page.Because(told)
	}
	if ctx.Err() != nil {
		return errInterrupted
	}
	return f.write(page, c)
}

// write writes the page and says so.
func (f *reportFlags) write(page *page.Report, c *call) error {
	var html bytes.Buffer
	if err := page.HTML(&html); err != nil {
		return err
	}
	if err := writeBytes(f.output, c.stdout, &html); err != nil {
		return err
	}
	if f.output != "-" {
		c.say("wrote %s: %s, %d KiB", f.output, count(page.Traces(), "trace"), (html.Len()+1023)>>10)
	}
	if f.doubt != nil {
		c.say("the page does not say why it died: %v", f.doubt)
	}
	if stats := page.Stats(); stats.Mismatch || stats.MismatchBefore || f.doubt != nil {
		return status(exitUsage) // the page says it, too
	}
	return nil
}

// options returns what the page is about.
func (f *reportFlags) options(im *lookup.Images, log io.Writer) (page.Options, error) {
	dir, _ := os.Getwd() // without it, paths are absolute
	opt := page.Options{
		Title: f.title, Images: im, Force: f.images.force, Guess: f.images.guess,
		Demangle: f.images.demangle, Dir: dir, Log: log,
		Sources: source.New(dir, f.remaps), Context: f.context, List: listPicture,
	}
	fact := func(name, value string) {
		opt.Facts = append(opt.Facts,
			page.Fact{Name: name, Value: value})
	}
	fact("ELF", f.elfNames())
	if f.input != "-" {
		fact("log", filepath.Base(f.input))
	}
	fact("zf", kernelVersion)
	if f.dated {
		fact("made", time.Now().UTC().Format(time.RFC3339))
	}
	if f.core == "" {
		return opt, nil
	}
	var err error
	if opt.Waits, err = f.waits(); err != nil {
		err = fmt.Errorf("-core: %w", err)
	}
	return opt, err
}

// waits is what the page says of a core: who waited for whom.
func (f *reportFlags) waits() (*page.Waits, error) {
	if len(f.images.elfs) != 1 {
		return nil, fmt.Errorf("want one ELF file (-e) to read %s by, have %d", f.core,
			len(f.images.elfs))
	}
	g, err := waitsOf(f.images.elfs[0], f.core, false, waits.Options{Hang: f.hang})
	if err != nil {
		return nil, err
	}
	return picture(g)
}

// listPicture is what the page says of a list of goroutines, nil if that tells nothing.
func listPicture(l *trace.List) *page.Waits {
	g, err := waitsOfList(l)
	if err != nil {
		return nil
	}
	w, err := picture(g)
	if err != nil {
		return nil
	}
	return w
}

// picture is what the page says of a graph.
func picture(g *waits.Graph) (*page.Waits, error) {
	var svg strings.Builder
	if err := g.WriteSVG(&svg); err != nil {
		return nil, err
	}
	w := &page.Waits{Picture: template.HTML(svg.String())} // its texts are escaped there
	for _, x := range g.Findings {
		w.Findings = append(w.Findings, x.Text)
	}
	return w, nil
}

// baseNames are the files' names without their folders.
func baseNames(paths []string) string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return strings.Join(names, ", ")
}

// addRecords adds what did not come in the log.
func (f *reportFlags) addRecords(page *page.Report) error {
	add := func(path string, take func([]byte) error) error {
		data, err := os.ReadFile(path)
		if err == nil {
			err = take(data)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	}
	for _, path := range f.profiles {
		if err := add(path, func(data []byte) error {
			p, err := pprof.ParseData(data)
			if err != nil {
				return page.Record(profile.Kind, data)
			}
			return page.Profile(p)
		}); err != nil {
			return err
		}
	}
	for _, path := range f.handles {
		if err := add(path, func(data []byte) error {
			return page.Record(handle.Kind,
				data)
		}); err != nil {
			return err
		}
	}
	return nil
}

// parse reads the arguments; flags may follow the log's name.
func (f *reportFlags) parse(c *call) error {
	f.context = 4
	trustFlag(c.FlagSet, &f.trust)
	inputs, err := c.parseMixed([]option{
		{names(&f.images.elfs, wantFile), "e",
			"the `ELF` file that was running, or a folder; may be repeated"},
		{&f.output, "o",
			"write the page to `FILE` (default: the log's name, with .html); -\nis standard output"},
		{&f.title, "title", "`TEXT` above the page (default: the ELF's name)"},
		{&f.context, "context",
			"show `N` lines of source before and behind each frame's line; -1:\nno source"},
		{remapping(&f.remaps), "source", "where source files are, as `OLD=NEW`; may be repeated"},
		{&f.images.force, "force", "resolve traces of another or an unknown build too"},
		{&f.images.bias, "bias",
			"how far above its ELF addresses the system of other traces runs, as\nin zf symbolize: `ADDR`, or FUNC+OFFSET=ADDR"},
		{&f.images.guess, "guess", "take any number in the log that is an address in the code for one"},
		{&f.images.demangle, "C", "show the names of C++ and Rust as in the source"},
		{names(&f.profiles, wantFile), "profile",
			"show the profile in `FILE`, from zf run -cpuprofile or in pprof's\nformat; may be repeated"},
		{names(&f.handles, wantFile), "handles",
			"show the snapshot in `FILE`, from zf run -handles; may be repeated"},
		{&f.core, "core", "show who waited for whom, by a core of the same program in `FILE`"},
		{&f.hang, "hang", "the program of -core had done nothing for long"},
		{&f.dated, "date", "say when the page was made; without it, the same input gives the\nsame page"},
	})
	switch {
	case err != nil:
		return err
	case len(f.images.elfs) == 0 && !(len(inputs) == 1 && isRecording(inputs[0])):
		return c.wrong("%w", errNoELF)
	case len(inputs) != 1:
		return c.wrong("want one log, have %d; - is standard input", len(inputs))
	case f.context < -1 || f.context > source.MaxContext:
		return c.wrong("-context %d: want -1 to %d", f.context, source.MaxContext)
	}
	f.input = inputs[0]
	if f.output == "" {
		f.output = reportName(f.input)
	}
	if f.title == "" && len(f.images.elfs) > 0 {
		f.title = baseNames(f.images.elfs[:1])
	}
	if f.output == "-" {
		return nil
	}
	for _, path := range slices.Concat(f.images.elfs, f.profiles, f.handles, inputs) {
		if samePath(f.output, path) {
			return c.wrong("-o %s would overwrite what is read", f.output)
		}
	}
	if dir := filepath.Dir(f.output); !isFolder(dir) {
		return c.wrong("-o %s: there is no folder %s; make it first", f.output, dir)
	}
	if isFolder(f.output) {
		return c.wrong("-o %s is a folder; name a file", f.output)
	}
	return nil
}

// reportName is the page's name if none is given.
func reportName(log string) string {
	if log == "-" || strings.Contains(log, ":") {
		return "report.html"
	}
	base := filepath.Base(log)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".html"
}
