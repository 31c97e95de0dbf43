package main

// A big Go program to measure with: many packages of small functions that call and
// inline one another. Its own runtime says what is true of each of its addresses.

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The program's packages and the groups of functions in each: 100 MB of ELF file.
// The version is part of the file's name in the cache.
const (
	programVersion  = 1
	programPackages = 160
	programGroups   = 450
)

// programMain answers each hexadecimal address on its standard input with function,
// file and line as package runtime has them. An address is asked for as the return
// address after it, which is how the runtime takes them.
const programMain = `package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
%s)

func main() {
	if len(os.Args) > 1 {
		n, _ := strconv.Atoi(os.Args[1])
%s		return
	}
	in, out := bufio.NewScanner(os.Stdin), bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		pc, err := strconv.ParseUint(in.Text(), 0, 64)
		if err != nil {
			panic(err)
		}
		next := uintptr(pc) + 1
		frame, _ := runtime.CallersFrames([]uintptr{next}).Next()
		if frame.Entry == next {
			// No call returns to a function's entry: there it is taken as it is.
			fmt.Fprintln(out, "-")
			continue
		}
		fmt.Fprintf(out, "%%s\t%%s:%%d\n", frame.Function, frame.File, frame.Line)
	}
}
`

// programGroup is a type with a method, and functions that call and inline it. %d is
// the number of the group, then of the package.
const programGroup = `
type T%[1]d struct{ a, b int }

func (t *T%[1]d) add(n int) int {
	t.a += n
	return t.a - t.b
}

func (t T%[1]d) String() string { return fmt.Sprint("T%[1]d", t.a, t.b, %[2]d) }

func twice%[1]d(n int) int {
	var t T%[1]d
	return t.add(n) + t.add(n+%[2]d)
}

func F%[1]d(n int) int {
	t := T%[1]d{n, %[1]d}
	list := []int{n, n * n, twice%[1]d(n)}
	for i := range list {
		if list[i] > n {
			list = append(list, t.add(twice%[1]d(i)))
		}
	}
	if n < 0 {
		panic(t.String() + strconv.Itoa(%[2]d))
	}
	return largest(list) + func() int { return t.add(len(list)) }()
}
`

// getProgram builds the program, or finds it where it was built before.
func (b *bench) getProgram() {
	version := get(exec.Command("go", "env", "GOVERSION").Output())
	b.goELF = filepath.Join(b.cache, fmt.Sprintf("program-%d-%s", programVersion, strings.TrimSpace(string(version))))
	if _, err := os.Stat(b.goELF); err == nil {
		return
	}
	progress("building a Go program of 100 MB, to keep in %s", b.cache)
	dir := filepath.Join(b.dir, "program")
	var imports, calls strings.Builder
	for p := range programPackages {
		name := fmt.Sprintf("p%03d", p)
		fmt.Fprintf(&imports, "\t\"program/%s\"\n", name)
		fmt.Fprintf(&calls, "\t\tfmt.Println(%s.All(n))\n", name)
		var text bytes.Buffer
		fmt.Fprintf(&text, "package %s\n\nimport (\n\t\"cmp\"\n\t\"fmt\"\n\t\"strconv\"\n)\n", name)
		text.WriteString("\nfunc largest[T cmp.Ordered](list []T) T {\n\tm := list[0]\n\tfor _, x := range list {\n\t\tm = max(m, x)\n\t}\n\treturn m\n}\n")
		for g := range programGroups {
			fmt.Fprintf(&text, programGroup, g, p)
		}
		text.WriteString("\nfunc All(n int) int {\n")
		for g := range programGroups {
			fmt.Fprintf(&text, "\tn += F%d(n)\n", g)
		}
		text.WriteString("\treturn n\n}\n")
		writeFile(filepath.Join(dir, name, name+".go"), text.Bytes())
	}
	main := fmt.Sprintf(programMain, imports.String(), calls.String())
	writeFile(filepath.Join(dir, "main.go"), []byte(main))
	writeFile(filepath.Join(dir, "go.mod"), []byte("module program\n\ngo 1.24\n"))
	out := filepath.Join(b.dir, "program.elf")
	run(dir, "go", "build", "-o", out, ".")
	run(".", "mv", out, b.goELF)
}

// equalGo counts the addresses of the program for which zf says what the program's
// own runtime says, and those for which it says what `go tool addr2line` says, which
// has the line of the innermost call and the name of the function that holds it.
func (b *bench) equalGo() {
	progress("100000 addresses of a Go program: zf against its runtime and go tool addr2line")
	addrs := textAddresses(b.goELF, 100000)
	in := b.write("equal-go", addrs, "")
	output := func(args ...string) []string {
		return strings.Split(strings.TrimSuffix(answer(args, in), "\n"), "\n")
	}
	truth := output(b.goELF)
	tool := output("go", "tool", "addr2line", b.goELF)
	out := output(b.addr(b.goELF)...)
	ours := split(strings.Join(out, "\n"))
	if len(truth) != len(addrs) || len(tool) != 2*len(addrs) || len(ours) != len(addrs) {
		fatal("%d addresses: the runtime answers %d, go tool addr2line %d, zf %d", len(addrs), len(truth), len(tool)/2, len(ours))
	}
	var asked, same, sameTool int
	for i := range addrs {
		frames := strings.Split(strings.TrimSuffix(ours[i], "\n"), "\n")
		if short(frames[len(frames)-2]) == short(tool[2*i]) && frames[1] == known(tool[2*i+1]) {
			sameTool++
		}
		if truth[i] == "-" {
			continue
		}
		asked++
		if name, line, _ := strings.Cut(truth[i], "\t"); short(frames[0]) == name && frames[1] == known(line) {
			same++
		}
	}
	exactly := func(name string, same, of int) {
		share := 100 * float64(same) / float64(of)
		b.compare(name, share, "≥", 100, same == of)
	}
	exactly("go.equal.runtime.percent", same, asked)
	exactly("go.equal.addr2line.percent", sameTool, len(addrs))
}

// known evens out how the runtime and go tool addr2line write an unknown line.
func known(line string) string {
	if line == "?:0" || line == ":-1" {
		return "??:0"
	}
	return line
}

// short is a function's name as the runtime prints it.
func short(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j < i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

func writeFile(path string, b []byte) {
	check(os.MkdirAll(filepath.Dir(path), 0o777))
	check(os.WriteFile(path, b, 0o666))
}
