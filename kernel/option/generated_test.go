package option

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the files that are made of the table")

// value returns the text after the "=".
func (r *Row) value() string {
	if len(r.Words) > 0 {
		return strings.Join(r.Words, "|")
	}
	return r.Argument
}

// syntax returns the option in the form in which it is written.
func (r *Row) syntax() string {
	if strings.HasSuffix(r.Name, ".") {
		return r.Name + r.Argument
	}
	return r.Name + "=" + r.value()
}

// help returns the text of `zf help kernel`, in the form of a command's flags.
func help() string {
	var b strings.Builder
	b.WriteString(`Kernel options

The kernel reads its options from its command line: zf run -append 'NAME=VALUE...'
or the boot loader's own way. Spaces separate words; a value in double quotes may
contain spaces. If an option is given several times, the last one counts, unless
its text says otherwise. The words after -- are the program's arguments.

`)
	for i := range table {
		r := &table[i]
		b.WriteString("  " + r.syntax() + "\n")
		text := r.Help
		if r.Usual != "" {
			text += " (default " + r.Usual + ")"
		}
		if r.needs != nil {
			text += " (part " + r.needs.name + ")"
		}
		line := ""
		for _, word := range strings.Fields(text) {
			if line != "" && len(line)+1+len(word) > 72 {
				b.WriteString("    \t" + line + "\n")
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		b.WriteString("    \t" + line + "\n")
	}
	return b.String()
}

// chapter returns the table of the chapter.
func chapter() string {
	var b strings.Builder
	b.WriteString("| option | default | meaning |\n|---|---|---|\n")
	for i := range table {
		r := &table[i]
		cells := []string{"`" + r.syntax() + "`", r.Usual, r.Help}
		if r.needs != nil {
			cells[2] += " (part " + r.needs.name + ")"
		}
		for i, c := range cells {
			cells[i] = strings.ReplaceAll(c, "|", "\\|")
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return b.String()
}

// needed returns the parts, each with the options that need it, one part a line: what zf links a
// part for.
func needed() string {
	var b strings.Builder
	for _, p := range allParts {
		b.WriteString(p.name)
		for i := range table {
			if table[i].needs == p {
				b.WriteString(" " + table[i].Name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestGenerated: the files generated from the table are up to date.
func TestGenerated(t *testing.T) {
	const inChapter = "../../doc/options.md"
	b, err := os.ReadFile(inChapter)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), "| option |")
	if !ok {
		t.Fatalf("%s has no table", inChapter)
	}
	for file, want := range map[string]string{inChapter: before + chapter(),
		"../../tools/zf/kernel.txt": help(), "../../tools/machine/image/parts.txt": needed()} {
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is not what the table says (%v): run go generate ./kernel/option", file, err)
		}
	}
}

// TestTable: names are unique, and short enough to be compared; an option of words or of a number
// says what it expects.
func TestTable(t *testing.T) {
	var names []string
	for i := range table {
		r := &table[i]
		if r.Name == "" || r.Help == "" || len(r.Name) > maxName || slices.Contains(names, r.Name) {
			t.Errorf("row %d, %q: no name or help, a long name, or one that is there twice", i, r.Name)
		}
		names = append(names, r.Name)
		if len(r.Words) == 0 && r.Argument == "" || len(r.Words) > 0 && (r.Argument != "" || r.Want != "") || r.Max > 0 && r.Want == "" {
			t.Errorf("%s: want words, or an argument; for a number what is wanted", r.Name)
		}
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"watchdgo": "watchdog", "pannic": "panic", "trace.stak": "trace.stack", "record.prot": "record.port",
		"netcons": "netconsole", "quiet": "", "x": "", "a.very.long.name.that.nobody.can.have.meant": "",
	} {
		got := ""
		if r := nearest([]byte(name)); r != nil {
			got = r.Name
		}
		if got != want {
			t.Errorf("the nearest name of %q is %q; want %q", name, got, want)
		}
	}
	for word, want := range map[string]string{
		"tty=raw": "tty", "tty": "", "=": "", "/boot/hello.elf": "", "BOOT_IMAGE=/hello": "", "a=b=c": "a", "env.HOME=/": "", // a program's

	} {
		if got := string(nameOf([]byte(word))); got != want {
			t.Errorf("nameOf(%q) = %q; want %q", word, got, want)
		}
	}
	for name, want := range map[string]bool{
		"tty": true, "env.home": true, "watch.panic": true, "env": false, "watch.": false, "tt": false,
	} {
		if got := rowOf([]byte(name)) != nil; got != want {
			t.Errorf("rowOf(%s) finds a row: %v; want %v", name, got, want)
		}
	}
}
