package qemu

// The markup form through the tool that it is made for: a serial log goes through
// llvm-symbolizer --filter-markup, which has nothing but the log and a folder of
// ELF files by build ID. Each element must become the calls that zf says, in the
// same order, and everything else in the log must come out as it was.

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/qemu/symbolizer"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

// filterMarkup pipes a log through llvm-symbolizer, which finds the image by its
// build ID, and returns what it wrote and what it complained of.
func filterMarkup(t *testing.T, path string, symbols *symbol.File, log string) (filtered, complaints string) {
	t.Helper()
	dir, id := t.TempDir(), symbols.BuildID()
	link := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(link), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	tool, err := symbolizer.Path()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool, "--filter-markup", "--debug-file-directory="+dir)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=")
	cmd.Stdin = strings.NewReader(log)
	var out, msg strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &msg)
	}
	return out.String(), msg.String()
}

var (
	markupFrame  = regexp.MustCompile(`^(.*)\{\{\{bt:(\d+):0x([0-9a-f]+):(pc|ra)\}\}\}(.*)$`)
	markupMmap   = regexp.MustCompile(`^\{\{\{mmap:0x([0-9a-f]+):0x([0-9a-f]+):load:0:rx:0x([0-9a-f]+)\}\}\}$`)
	markupModule = regexp.MustCompile(`^\{\{\{(?:reset|module:0:kernel:elf:([0-9a-f]+))\}\}\}$`)
	filteredCall = regexp.MustCompile(`^(.*?) *#(\d+)(?:\.\d+)? +0x([0-9a-f]+) ([^ []+(?:\[.*\]\S*)?) (.+):(\d+):\d+ \(kernel\+0x[0-9a-f]+\)(.*)$`)
)

// readFiltered walks a log and what llvm-symbolizer has made of it, and returns
// the elements. The reset, module and mmap lines of a trace are answered by one
// line that describes the module. All lines end as they did.
func readFiltered(t *testing.T, log, filtered string) (elements []element) {
	t.Helper()
	out := strings.SplitAfter(filtered, "\n")
	next := func() string {
		if len(out) == 0 {
			t.Fatal("the filtered log is too short")
		}
		line := out[0]
		out = out[1:]
		return line
	}
	var id string
	var lo, hi uint64
	for _, line := range strings.SplitAfter(log, "\n") {
		text := strings.TrimRight(line, "\r\n")
		ending := line[len(text):]
		if m := markupModule.FindStringSubmatch(text); m != nil {
			if m[1] == "" && hi != 0 { // a reset that forgets a module shows
				if got, want := next(), "[[[reset]]]"+ending; got != want {
					t.Errorf("line %q became %q; want %q", line, got, want)
				}
			}
			id = m[1]
			continue
		}
		if m := markupMmap.FindStringSubmatch(text); m != nil {
			lo, hi = number(t, m[1]), number(t, m[1])+number(t, m[2])
			want := fmt.Sprintf(`[[[ELF module #0x0 "kernel"; BuildID=%s [0x%x-0x%x](rx)]]]`, id, lo, hi-1) + ending
			if got := next(); got != want || m[1] != m[3] {
				t.Errorf("for the module: %q; want %q", got, want)
			}
			continue
		}
		m := markupFrame.FindStringSubmatch(text)
		if m == nil {
			if got := next(); got != line {
				t.Errorf("line %q became %q; want it unchanged", line, got)
			}
			continue
		}
		before, n, addr, after := m[1], m[2], number(t, m[3]), m[5]
		if m[4] == "ra" {
			addr--
		}
		if addr < lo || addr >= hi {
			t.Errorf("line %q is an element for an address that the mmap line does not cover", line)
		}
		e := element{kind: m[4], addr: addr}
		for last := false; !last; {
			got := next()
			c := filteredCall.FindStringSubmatch(strings.TrimSuffix(got, ending))
			if c == nil || c[2] != n || number(t, c[3]) != addr || strings.TrimSpace(c[1]) != strings.TrimSpace(before) {
				t.Fatalf("line %q became %q; want %s, #%s, %#x and a call", line, got, before, n, addr)
			}
			e.calls = append(e.calls, toolCall(c[4], c[5], int(number(t, "0"+c[6], 10))))
			before, last = "", c[7] == after
			if !last && c[7] != "" {
				t.Fatalf("line %q became %q; want %q at its end", line, got, after)
			}
		}
		elements = append(elements, e)
	}
	if rest := strings.Join(out, ""); rest != "" {
		t.Errorf("the filtered log has more: %q", rest)
	}
	return elements
}

// number reads digits, hexadecimal ones unless base says otherwise.
func number(t *testing.T, digits string, base ...int) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(digits, append(base, 16)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func compareElements(t *testing.T, zf, llvm []element) {
	t.Helper()
	if len(zf) != len(llvm) || len(zf) == 0 {
		t.Fatalf("%d elements; want %d, and some", len(zf), len(llvm))
	}
	bad := 0
	for i := range zf {
		if zf[i].kind != llvm[i].kind || zf[i].addr != llvm[i].addr || !slices.Equal(zf[i].calls, llvm[i].calls) {
			if bad++; bad <= 10 {
				t.Errorf("zf says of element %d: %+v; want %+v, as llvm-symbolizer says", i, zf[i], llvm[i])
			}
		}
	}
	t.Logf("%d elements compared, %d differ", len(zf), bad)
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	for _, cmdline := range []string{
		"early.nil-write", "early.in-irq", "early.leaf", "early.bounds", "early.deep", "early.int3",
		"early.double-fault", "early.overflow", "early.ra-smashed", "early.nil-call", "early.nx",
		"early.nested crash.stage=1",
	} {
		t.Run(cmdline, func(t *testing.T) {
			t.Parallel()
			_, serial, err := boot(t, Config{Kernel: path}, "trace=markup crash="+cmdline)
			if err != nil {
				t.Fatal(err)
			}
			var want []element
			for _, tr := range traces(t, symbols, serial) {
				for _, e := range tr.elements(t) {
					// zf adds others, and a frame outside the text is no element.
					if (e.kind == "pc" || e.kind == "ra") && symbols.IsText(e.addr) {
						want = append(want, e)
					}
				}
			}
			filtered, complaints := filterMarkup(t, path, symbols, serial)
			compareElements(t, want, readFiltered(t, serial, filtered))
			if complaints != "" {
				t.Errorf("llvm-symbolizer complains %q", complaints)
			}
		})
	}
}

// TestMarkupInlined: the lab's deaths happen in functions that are not inlined, so
// a log is made up that has a frame for each call in our packages, in the form and
// with the head of a real one.
func TestMarkupInlined(t *testing.T) {
	t.Parallel()
	path, symbols := lab(t, image.AllLoaders)
	_, serial, err := boot(t, Config{Kernel: path}, "trace=markup crash=early.nil-write")
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	for line := range strings.Lines(serial) {
		if strings.HasPrefix(line, "zf1 begin") || strings.HasPrefix(line, "{{{") {
			log.WriteString(line)
		}
	}
	sites := callSites(t, path, symbols)
	var want []element
	for i, a := range slices.Sorted(maps.Keys(sites)) {
		fmt.Fprintf(&log, "zf1 {{{bt:%d:%#x:ra}}} fp 0x1000 boot\r\n", i, a+1)
		want = append(want, element{"ra", a, sites[a]})
	}
	filtered, complaints := filterMarkup(t, path, symbols, log.String())
	compareElements(t, want, readFiltered(t, log.String(), filtered))
	if complaints != "" {
		t.Errorf("llvm-symbolizer complains %q", complaints)
	}
}
