package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/image"
)

// row is what is known of one package.
type row struct {
	module       string // with its version
	pkg          string
	both, only   int           // tests that pass on both sides, and on Linux alone
	host, kernel time.Duration // that its tests took
	linux        bool          // the package fails on Linux
	exec         bool          // what passes on Linux alone starts another program
	left         bool          // it was not tried
	notes        []string
}

// verdict is the first word of a row.
func (l *list) verdict(r row) string {
	reason := l.reasons[r.pkg]
	switch {
	case r.left:
		return "left"
	case r.only == 0 && r.linux:
		return "linux"
	case r.only == 0:
		return "same"
	case r.exec || strings.HasPrefix(reason, "exec:"):
		return "exec"
	case reason != "":
		return "known"
	}
	return "worse"
}

// The table has 100 columns.
const width = 100

// The words before the reasons of the list, and before where events differ.
const (
	reasonNote       = "reason: "
	leftNote         = "left out: "
	eventsReasonNote = "reason of these: "
	eventsNote       = "other events: "
)

// ofList reports whether a note is the list's.
func ofList(note string) bool {
	return strings.HasPrefix(note, reasonNote) || strings.HasPrefix(note, leftNote) || strings.HasPrefix(note, eventsReasonNote)
}

// otherEvents reports whether the events of a package differ.
func (r *row) otherEvents() bool {
	return slices.ContainsFunc(r.notes, func(note string) bool { return strings.HasPrefix(note, eventsNote) })
}

// format is a row as it is in the table, with its package called name.
func (l *list) format(name string, r row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-5s %-52s %7d %9d %9.1f %9.1f\n", l.verdict(r), name, r.both, r.only, r.host.Seconds(), r.kernel.Seconds())
	notes := slices.Clone(r.notes)
	if reason := l.reasons[r.pkg]; reason != "" && r.only > 0 {
		notes = append(notes, reasonNote+reason)
	}
	if reason := l.events[r.pkg]; reason != "" && r.otherEvents() {
		notes = append(notes, eventsReasonNote+reason)
	}
	if r.left {
		notes = append(notes, leftNote+l.left[r.pkg])
	}
	for _, note := range notes {
		runes := []rune(strings.Join(strings.Fields(note), " "))
		if room := width - len(indent); len(runes) > room && !ofList(note) {
			runes = append(runes[:room-3], '.', '.', '.')
		}
		b.WriteString(indent + string(runes) + "\n")
	}
	return b.String()
}

// indent is before a note.
const indent = "        "

// table is all that is known.
type table struct {
	*list
	head string
	rows []row
}

// put adds a row, or takes the place of the package's.
func (t *table) put(r row) {
	t.rows = slices.DeleteFunc(t.rows, func(other row) bool { return other.pkg == r.pkg })
	t.rows = append(t.rows, r)
	place := func(r row) int {
		return slices.IndexFunc(t.modules, func(m module) bool { return m.String() == r.module })
	}
	slices.SortStableFunc(t.rows, func(a, b row) int {
		if c := place(a) - place(b); c != 0 {
			return c
		}
		return strings.Compare(a.pkg, b.pkg)
	})
}

// has reports whether there is a row of a package of that module.
func (t *table) has(m module, pkg string) bool {
	return slices.ContainsFunc(t.rows, func(r row) bool { return r.module == m.String() && r.pkg == pkg })
}

// trim removes the rows of packages that a module does not have.
func (t *table) trim(m module, pkgs []image.TestPackage) {
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool {
		return r.module == m.String() && !slices.ContainsFunc(pkgs, func(p image.TestPackage) bool { return p.ImportPath == r.pkg })
	})
}

// columns stands above the rows, and says what each number is.
var columns = fmt.Sprintf("# %-58s %7s %9s %9s %9s\n# %-58s %7s %9s %9s %9s\n",
	"", "pass on", "on Linux", "seconds", "seconds", "what  package", "both", "alone", "on Linux", "on kernel")

// String is the whole table.
func (t *table) String() string {
	var b strings.Builder
	b.WriteString(t.head + "\n# Made by `make test-modules`; `go run ./qemu/modules -h` explains the words.\n" + columns)
	module := ""
	for _, r := range t.rows {
		if r.module != module {
			module = r.module
			b.WriteString(module + "\n")
		}
		path, _, _ := strings.Cut(module, " ")
		b.WriteString(t.format("."+strings.TrimPrefix(r.pkg, path), r))
	}
	return b.String() + t.sum()
}

// sum counts the rows.
func (t *table) sum() string {
	count := make(map[string]int)
	modules := make(map[string]bool)
	for _, r := range t.rows {
		count[t.verdict(r)]++
		if r.otherEvents() && t.events[r.pkg] == "" {
			count["events"]++
		}
		modules[r.module] = true
	}
	alone := len(t.rows) - count["exec"] - count["left"]
	fine := count["same"] + count["linux"]
	percent := 0.0
	if alone > 0 {
		percent = 100 * float64(fine) / float64(alone)
	}
	return fmt.Sprintf("# %d packages of %d modules: %d same, %d linux, %d known, %d worse, %d exec, %d left.\n"+
		"# Of the %d that are neither exec nor left, %d do no worse than on Linux: %.1f %%.\n"+
		"# %d have other events (-json) than on Linux without a reason.\n",
		len(t.rows), len(modules), count["same"], count["linux"], count["known"], count["worse"], count["exec"], count["left"], alone, fine, percent, count["events"])
}

// parse takes the rows of a text that String has made. Those of a module that the list does not
// have, or in another version, do not count.
func (t *table) parse(text string) error {
	module, known := "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		last := len(t.rows) - 1
		switch {
		case strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			module, known = line, false
			for _, m := range t.modules {
				known = known || m.String() == module
			}
		case !known:
		case strings.HasPrefix(line, indent):
			note := strings.TrimPrefix(line, indent)
			if last < 0 {
				return fmt.Errorf("%q belongs to no row", line)
			}
			if !ofList(note) {
				t.rows[last].notes = append(t.rows[last].notes, note)
			}
		default:
			r, err := parseRow(line, module)
			if err != nil {
				return err
			}
			t.rows = append(t.rows, r)
		}
	}
	// A package that the list leaves out now, or no more, is another matter.
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return r.left != (t.left[r.pkg] != "") })
	return nil
}

// parseRow reads a row without its notes.
func parseRow(line, module string) (row, error) {
	f := strings.Fields(line)
	if len(f) != 6 {
		return row{}, fmt.Errorf("%q is no row of a table", line)
	}
	path, _, _ := strings.Cut(module, " ")
	r := row{module: module, pkg: path + strings.TrimPrefix(f[1], "."), linux: f[0] == "linux", exec: f[0] == "exec", left: f[0] == "left"}
	var err [4]error
	r.both, err[0] = strconv.Atoi(f[2])
	r.only, err[1] = strconv.Atoi(f[3])
	r.host, err[2] = time.ParseDuration(f[4] + "s")
	r.kernel, err[3] = time.ParseDuration(f[5] + "s")
	for _, err := range err {
		if err != nil {
			return row{}, fmt.Errorf("%q is no row of a table: %w", line, err)
		}
	}
	return r, nil
}
