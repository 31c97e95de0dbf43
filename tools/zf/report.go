package main

// `zf report`: a log -> one HTML page (tools/page), to be attached to a bug.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/zeroframe/zeroframe/tools/handle"
	"github.com/zeroframe/zeroframe/tools/input"
	"github.com/zeroframe/zeroframe/tools/page"
	"github.com/zeroframe/zeroframe/tools/profile"
	"github.com/zeroframe/zeroframe/tools/source"
	"github.com/zeroframe/zeroframe/tools/trace"
	"github.com/zeroframe/zeroframe/tools/waits"
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
	records  string
	core     string // a core of the same death
	trust    bool   // QEMU gets whatever a recording says
	doubt    error  // why the recording is not replayed
	hang     bool   // of a program that had done nothing for long
	image    string // the name of a recording's image, of which the ELF file is a copy
}

func runReport(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f, code, ok := parseReport(args, stderr)
	if !ok {
		return code
	}
	fail := failing("zf report", stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var in io.ReadCloser
	var err error
	var ask func() (*page.Why, error)
	if f.recorded() {
		var end func()
		in, ask, end, err = f.recording(ctx, stderr)
		defer end()
	} else {
		in, err = input.Open(ctx, f.input, input.Options{Baud: input.DefaultBaud, Reconnect: input.Never, Stdin: stdin})
	}
	if err != nil {
		return fail("%v", err)
	}
	defer in.Close()
	indexes, err := newIndexing(indexAuto, "zf report", stderr)
	if err != nil {
		return fail("%v", err)
	}
	images := f.images.load(indexes)
	defer indexes.finish()
	defer images.Close()
	im := images.wait(ctx)
	if images.err != nil {
		return fail("%v", images.err)
	}
	if im != nil {
		images.assumed.WriteTo(stderr)
	}
	dir, _ := os.Getwd() // without it, paths are absolute
	opt := page.Options{
		Title: f.title, Images: im, Force: f.images.force, Guess: f.images.guess, Demangle: f.images.demangle, Dir: dir, Log: stderr,
		Sources: source.New(dir, f.remaps), Context: f.context,
	}
	opt.Facts = append(opt.Facts, page.Fact{Name: "ELF", Value: f.elfNames()})
	if f.input != "-" {
		opt.Facts = append(opt.Facts, page.Fact{Name: "log", Value: filepath.Base(f.input)})
	}
	opt.Facts = append(opt.Facts, page.Fact{Name: "zf", Value: kernelVersion})
	if f.dated {
		opt.Facts = append(opt.Facts, page.Fact{Name: "made", Value: time.Now().UTC().Format(time.RFC3339)})
	}
	if f.core != "" {
		if opt.Waits, err = f.waits(); err != nil {
			return fail("-core: %v", err)
		}
	}
	opt.List = listPicture
	page, err := page.New(opt)
	if err != nil {
		return fail("%v", err)
	}
	err = pump(ctx, page, in, nil)
	if cerr := page.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.addRecords(page)
	}
	if err != nil {
		return fail("%v", err)
	}
	if ask != nil { // the last thing that may fail: it takes long
		told, err := ask()
		if err != nil {
			fail("%s", interrupted(ctx, err))
			return exitMachine
		}
		page.Because(told)
	}
	var html bytes.Buffer
	if err := page.HTML(&html); err != nil {
		return fail("%v", err)
	}
	if err := writeTo(f.output, stdout, func(w io.Writer) error { _, err := w.Write(html.Bytes()); return err }); err != nil {
		return fail("%v", err)
	}
	if f.doubt != nil {
		defer fmt.Fprintf(stderr, "zf report: the page does not say why it died: %v\n", f.doubt)
	}
	stats := page.Stats()
	if f.output != "-" {
		fmt.Fprintf(stderr, "zf report: wrote %s: %s, %d KiB\n", f.output, count(page.Traces(), "trace"), (html.Len()+1023)>>10)
	}
	if stats.Mismatch || stats.MismatchBefore || f.doubt != nil {
		return exitUsage // the page says it, too
	}
	return exitOK
}

// waits is what the page says of a core: who waited for whom.
func (f *reportFlags) waits() (*page.Waits, error) {
	if len(f.images.elfs) != 1 {
		return nil, fmt.Errorf("want one ELF file (-e) to read %s by, have %d", f.core, len(f.images.elfs))
	}
	g, err := waitsOf(f.images.elfs[0], f.core, waits.Options{Hang: f.hang})
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
		if err := add(path, func(data []byte) error { return page.Record(handle.Kind, data) }); err != nil {
			return err
		}
	}
	if f.records == "" {
		return nil
	}
	files, err := recordFiles(f.records)
	if err != nil {
		return fmt.Errorf("-records: %w", err)
	}
	for _, file := range files {
		if file.kind != profile.Kind && file.kind != handle.Kind {
			continue
		}
		path := filepath.Join(f.records, file.name)
		if err := add(path, func(data []byte) error { return page.Record(file.kind, data) }); err != nil {
			return err
		}
	}
	return nil
}

// recordFile is a file that -records of another command has written.
type recordFile struct {
	name, kind string
	number     uint64
}

// recordFiles lists a folder of records in the order in which they were sent.
func recordFiles(dir string) ([]recordFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []recordFile
	for _, e := range entries {
		number, kind, _ := strings.Cut(e.Name(), "-")
		if n, err := strconv.ParseUint(number, 10, 32); err == nil {
			files = append(files, recordFile{e.Name(), kind, n})
		}
	}
	slices.SortFunc(files, func(a, b recordFile) int { return cmp.Compare(a.number, b.number) })
	return files, nil
}

// parseReport reads the arguments; flags may follow the log's name.
func parseReport(args []string, stderr io.Writer) (f reportFlags, code int, ok bool) {
	fs := newFlags("report", "-e ELF [flags] LOG", reportText, stderr)
	list := func(to *[]string) func(string) error {
		return func(s string) error {
			if s == "" {
				return errors.New("a file's name is wanted")
			}
			*to = append(*to, s)
			return nil
		}
	}
	fs.Func("e", "the `ELF` file that was running, or a folder; may be repeated", list(&f.images.elfs))
	fs.StringVar(&f.output, "o", "", "write the page to `FILE` (default: the log's name, with .html); -\nis standard output")
	fs.StringVar(&f.title, "title", "", "`TEXT` above the page (default: the ELF's name)")
	fs.IntVar(&f.context, "context", 4, "show `N` lines of source before and behind each frame's line; -1:\nno source")
	fs.Func("source", "where source files are, as `OLD=NEW`; may be repeated", func(s string) error {
		r, err := source.ParseRemap(s)
		if err == nil {
			f.remaps = append(f.remaps, r)
		}
		return err
	})
	fs.BoolVar(&f.images.force, "force", false, "resolve traces of another or an unknown build too")
	fs.StringVar(&f.images.bias, "bias", "", "how far above its ELF addresses the system of other traces runs, as\nin zf symbolize: `ADDR`, or FUNC+OFFSET=ADDR")
	fs.BoolVar(&f.images.guess, "guess", false, "take any number in the log that is an address in the code for one")
	fs.BoolVar(&f.images.demangle, "C", false, "show the names of C++ and Rust as in the source")
	fs.Func("profile", "show the profile in `FILE`, from zf run -cpuprofile or in pprof's\nformat; may be repeated", list(&f.profiles))
	fs.Func("handles", "show the snapshot in `FILE`, from zf run -handles; may be repeated", list(&f.handles))
	fs.StringVar(&f.records, "records", "", "show what -records DIR of another command has kept in `DIR`")
	fs.StringVar(&f.core, "core", "", "show who waited for whom, by a core of the same program in `FILE`")
	fs.BoolVar(&f.hang, "hang", false, "the program of -core had done nothing for long")
	trustFlag(fs, &f.trust)
	fs.BoolVar(&f.dated, "date", false, "say when the page was made; without it, the same input gives the\nsame page")
	inputs, code, ok := parseMixed(fs, args)
	if !ok {
		return f, code, false
	}
	wrong := ""
	switch {
	case len(f.images.elfs) == 0 && !(len(inputs) == 1 && isRecording(inputs[0])):
		wrong = "-e ELF is missing: name the image that was running"
	case len(inputs) != 1:
		wrong = fmt.Sprintf("want one log, have %d; - is standard input", len(inputs))
	case f.context < -1 || f.context > source.MaxContext:
		wrong = fmt.Sprintf("-context %d: want -1 to %d", f.context, source.MaxContext)
	}
	if wrong == "" {
		f.input = inputs[0]
		if f.output == "" {
			f.output = reportName(f.input)
		}
		if f.title == "" && len(f.images.elfs) > 0 {
			f.title = baseNames(f.images.elfs[:1])
		}
		for _, path := range slices.Concat(f.images.elfs, f.profiles, f.handles, []string{f.input}) {
			if f.output != "-" && samePath(f.output, path) {
				wrong = "-o " + f.output + " would overwrite what is read"
			}
		}
		switch dir := filepath.Dir(f.output); {
		case f.output == "-" || wrong != "":
		case !isFolder(dir):
			wrong = fmt.Sprintf("-o %s: there is no folder %s; make it first", f.output, dir)
		case isFolder(f.output):
			wrong = fmt.Sprintf("-o %s is a folder; name a file", f.output)
		}
	}
	if wrong != "" {
		fmt.Fprintf(stderr, "zf report: %s; `zf report -h` lists the flags\n", wrong)
		return f, exitUsage, false
	}
	return f, exitOK, true
}

// reportName is the page's name if none is given.
func reportName(log string) string {
	if log == "-" || strings.Contains(log, ":") {
		return "report.html"
	}
	base := filepath.Base(log)
	return strings.TrimSuffix(base, filepath.Ext(base)) + ".html"
}

// parseMixed parses flags that may stand behind names, which it returns.
func parseMixed(fs *flag.FlagSet, args []string) (names []string, code int, ok bool) {
	for {
		if code, ok := parse(fs, args); !ok {
			return nil, code, false
		}
		if args = fs.Args(); len(args) == 0 {
			return names, exitOK, true
		}
		names, args = append(names, args[0]), args[1:]
	}
}
