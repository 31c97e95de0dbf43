package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/image"
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
	return slices.ContainsFunc(listNotes, func(begins string) bool { return strings.HasPrefix(note, begins) })
}

// otherEvents reports whether the events of a package differ.
func (r *row) otherEvents() bool {
	return slices.ContainsFunc(r.notes, func(note string) bool { return strings.HasPrefix(note, eventsNote) })
}

// format is a row as it is in the table, with its package called name.
func (l *list) format(name string, r row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %-5s %-52s %7d %9d %9.1f %9.1f\n", l.verdict(r), name, r.both, r.only, r.host, r.kernel)
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
		if r.otherEvents() && t.notes["events"][r.pkg] == "" {
			count["events"]++
		}
		modules[r.module] = true
	}
	alone := len(t.rows) - count["exec"] - count["left"]
	fine := count["same"] + count["linux"]
	percent := 100 * float64(fine) / float64(max(alone, 1))
	return fmt.Sprintf("# %d packages of %d modules: %d same, %d linux, %d known, %d worse, %d exec, %d left.\n"+
		"# Of the %d that are neither exec nor left, %d do no worse than on Linux: %.1f %%.\n"+
		"# %d have other events (-json) than on Linux without a reason.\n",
		len(t.rows), len(modules), count["same"], count["linux"], count["known"], count["worse"], count["exec"], count["left"], alone, fine, percent, count["events"])
}

// load takes the rows of a table that was written before, if there is one. One of another
// Go or other machines is an error where its rows are to stay.
func (t *table) load(file string, stay bool) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if was, _, _ := strings.Cut(string(text), "\n"); was != t.head {
		if !stay {
			return nil
		}
		return fmt.Errorf("%s begins with %q, and not with %q; remove it, or make it without -only, -run and -resume", file, was, t.head)
	}
	module, known := "", false
	for line := range strings.Lines(string(text)) {
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
				return fmt.Errorf("%s: %q belongs to no row", file, line)
			}
			if !ofList(note) {
				t.rows[last].notes = append(t.rows[last].notes, note)
			}
		default:
			r, err := parseRow(line, module)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			t.rows = append(t.rows, r)
		}
	}
	// A package that the list leaves out now, or no more, is another matter.
	t.rows = slices.DeleteFunc(t.rows, func(r row) bool { return r.left != (t.notes["leave"][r.pkg] != "") })
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
