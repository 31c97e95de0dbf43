package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// row is what is known of one package.
type row struct {
	module       string // with its version
	pkg          string
	both, only   int     // tests that pass on both sides, and on Linux alone
	host, kernel float64 // how many seconds its tests took
	linux        bool    // the package fails on Linux
	exec         bool    // what passes on Linux alone starts another program
	left         bool    // it was not tried
	notes        []string
}

// verdict is the first word of a row.
func (l *list) verdict(r row) string {
	reason := l.notes["reason"][r.pkg]
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

// The words before the notes of the list, in the order of words, and before where events differ.
var listNotes = []string{"reason: ", "reason of these: ", "left out: "}

const eventsNote = "other events: "

// ofList reports whether a note is the list's.
func ofList(note string) bool {
	begun := func(begins string) bool { return strings.HasPrefix(note, begins) }
	return slices.ContainsFunc(listNotes, begun)
}

// otherEvents reports whether the events of a package differ.
func (r *row) otherEvents() bool {
	is := func(note string) bool { return strings.HasPrefix(note, eventsNote) }
	return slices.ContainsFunc(r.notes, is)
}

// format is a row as it is in the table, with its package called name.
func (l *list) format(name string, r row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-5s %-52s %7d %9d %9.1f %9.1f\n", l.verdict(r), name, r.both, r.only, r.host,
		r.kernel)
	notes := slices.Clone(r.notes)
	for i, applies := range []bool{r.only > 0, r.otherEvents(), r.left} {
		if reason := l.notes[words[i]][r.pkg]; reason != "" && applies {
			notes = append(notes, listNotes[i]+reason)
		}
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
	rows map[string]row // by package
}

// of returns a module's rows, in the order of their packages.
func (t *table) of(m module) (rows []row) {
	for _, pkg := range slices.Sorted(maps.Keys(t.rows)) {
		if r := t.rows[pkg]; r.module == m.String() {
			rows = append(rows, r)
		}
	}
	return rows
}

// trim removes the rows of packages that a module does not have.
func (t *table) trim(m module, pkgs []image.TestPackage) {
	maps.DeleteFunc(t.rows, func(pkg string, r row) bool {
		return r.module == m.String() && !slices.ContainsFunc(pkgs,
			func(p image.TestPackage) bool { return p.ImportPath == pkg })
	})
}

// columns stands above the rows, and says what each number is.
var columns = fmt.Sprintf("# %-58s %7s %9s %9s %9s\n# %-58s %7s %9s %9s %9s\n",
	"", "pass on", "on Linux", "seconds", "seconds", "what  package", "both", "alone", "on Linux",
	"on kernel")

// String is the whole table.
func (t *table) String() string {
	var b strings.Builder
	b.WriteString(t.head +
		"\n# Made by `make test-modules`; `go run ./qemu/modules -h` explains the words.\n" + columns)
	for _, m := range t.modules {
		for i, r := range t.of(m) {
			if i == 0 {
				fmt.Fprintln(&b, m)
			}
			b.WriteString(t.format("."+strings.TrimPrefix(r.pkg, m.path), r))
		}
	}
	return b.String() + t.Sum() + "\n"
}

// Sum counts the rows.
func (t *table) Sum() string {
	count := make(map[string]int)
	for _, m := range t.modules {
		for i, r := range t.of(m) {
			count[t.verdict(r)]++
			count["all"]++
			if r.otherEvents() && t.notes["events"][r.pkg] == "" {
				count["events"]++
			}
			if i == 0 {
				count["modules"]++
			}
		}
	}
	alone, fine := count["all"]-count["exec"]-count["left"], count["same"]+count["linux"]
	return fmt.Sprintf(
		"# %d packages of %d modules: %d same, %d linux, %d known, %d worse, %d exec, %d left.\n"+
			"# Of the %d that are neither exec nor left, %d do no worse than on Linux: %.1f %%.\n"+
			"# %d have other events (-json) than on Linux without a reason.",
		count["all"], count["modules"], count["same"], count["linux"], count["known"], count["worse"],
		count["exec"], count["left"],
		alone, fine, 100*float64(fine)/float64(max(alone, 1)), count["events"])
}

// Head is its first line.
func (t *table) Head() string { return t.head }

// Load takes the rows of a table that was written before.
func (t *table) Load(lines string) error {
	name, last := "", ""
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		note, isNote := strings.CutPrefix(line, indent)
		switch {
		case strings.HasPrefix(line, "#"):
		case !strings.HasPrefix(line, " "):
			name = line
		case !isNote:
			r, err := parseRow(line, name)
			if err != nil {
				return err
			}
			last = r.pkg
			t.rows[last] = r
		case last == "":
			return fmt.Errorf("%q belongs to no row", line)
		case !ofList(note):
			r := t.rows[last]
			r.notes = append(r.notes, note)
			t.rows[last] = r
		}
	}
	// A package of another version, or that the list leaves out now, or no more, is another matter.
	maps.DeleteFunc(t.rows, func(pkg string, r row) bool {
		return r.left != (t.notes["leave"][pkg] != "") || !slices.ContainsFunc(t.modules,
			func(m module) bool { return m.String() == r.module })
	})
	return nil
}

// parseRow reads a row without its notes.
func parseRow(line, module string) (r row, err error) {
	var verdict, name string
	if _, err := fmt.Sscan(line, &verdict, &name, &r.both, &r.only, &r.host, &r.kernel); err != nil {
		return r, fmt.Errorf("%q is no row of a table: %w", line, err)
	}
	path, _, _ := strings.Cut(module, " ")
	r.module, r.pkg = module, path+strings.TrimPrefix(name, ".")
	r.linux, r.exec, r.left = verdict == "linux", verdict == "exec", verdict == "left"
	return r, nil
}
