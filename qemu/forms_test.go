package qemu

// The go command finds a program's files in more ways than one. An image is built of the same
// files as with go build, and its kernel's packages are not found by what is said of the program's.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/symbol"
)

const (
	formMain = `package main

import (
	"fmt"
	"os"

	"example.com/dep"
)

type table map[string]int

//go:noinline
func third(m table, key string) { m[key] = len(key) }

//go:noinline
func second(m table) { third(m, os.Args[1]) }

//go:noinline
func first() { second(nil) }

func main() {
	fmt.Println("word", dep.Word())
	first()
}
`
	formDep   = "package dep\n\nfunc Word() string { return %q }\n"
	formEmbed = "//go:build special\n\npackage dep\n\nimport _ \"embed\"\n\n//go:embed word.txt\nvar word string\n\nfunc Word() string { return word }\n"
	formRing  = "package dep\n\nimport \"container/ring\"\n\nfunc Word() string { return ring.Word() }\n"
	formMod   = "module example.com/%s\n\ngo 1.25\n"
	formNeeds = "\nrequire example.com/dep v1.0.0\n\nreplace example.com/dep => ../dep\n"
)

// forms are the rows: files beside app/main.go and app/go.mod, which replaces example.com/dep by
// the folder dep; what the go command is told; and the word of example.com/dep that counts.
var forms = []struct {
	name  string
	files map[string]string
	o     image.BuildOptions
	word  string
}{
	{"replace", nil, image.BuildOptions{}, "local"},
	{"vendor", map[string]string{
		"app/vendor/modules.txt":             "# example.com/dep v1.0.0 => ../dep\n## explicit; go 1.25\nexample.com/dep\n# example.com/dep => ../dep\n",
		"app/vendor/example.com/dep/word.go": fmt.Sprintf(formDep, "vendored"),
	}, image.BuildOptions{Env: []string{"GOFLAGS=-mod=vendor"}}, "vendored"},
	{"vendor-mod", map[string]string{"app/vendor/modules.txt": ""},
		image.BuildOptions{Env: []string{"GOFLAGS=-mod=mod"}}, "local"},
	{"workspace", map[string]string{
		"app/go.mod":        fmt.Sprintf(formMod, "app"),
		"app/go.work":       "go 1.25\n\nuse (\n\t.\n\t./inner\n)\n",
		"app/inner/go.mod":  fmt.Sprintf(formMod, "dep"),
		"app/inner/word.go": fmt.Sprintf(formDep, "workspace"),
	}, image.BuildOptions{}, "workspace"},
	// Names in an overlay are relative to the program's folder; it may be of Go's packages, too.
	{"overlay", map[string]string{
		"app/overlay.json": `{"Replace": {"../dep/word.go": "over.txt", "GOROOT/src/container/ring/word.go": "ring.txt"}}`,
		"app/over.txt":     formRing,
		"app/ring.txt":     "package ring\n\nfunc Word() string { return \"overlaid\" }\n",
	}, image.BuildOptions{Env: []string{"GOFLAGS=-overlay=overlay.json"}}, "overlaid"},
	{"embed", map[string]string{
		"dep/word.go":  "//go:build !special\n\n" + fmt.Sprintf(formDep, "plain"),
		"dep/embed.go": formEmbed,
		"dep/word.txt": "embedded",
	}, image.BuildOptions{Tags: "special"}, "embedded"},
	{"X", map[string]string{"dep/word.go": "package dep\n\nvar word = \"plain\"\n\nfunc Word() string { return word }\n"},
		image.BuildOptions{LDFlags: "-X 'example.com/dep.word=by the linker' -linkmode=internal"}, "by the linker"},
	{"fips", nil, image.BuildOptions{Env: []string{"GOFIPS140=v1.0.0"}}, "local"},
}

// TestBuildForms: each program, with a kernel without its parts, says its word, and dies by a nil
// map in functions that the trace names, on two CPUs.
func TestBuildForms(t *testing.T) {
	t.Parallel()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range forms {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{
				"app/main.go": formMain, "app/go.mod": fmt.Sprintf(formMod, "app") + formNeeds,
				"dep/go.mod": fmt.Sprintf(formMod, "dep"), "dep/word.go": fmt.Sprintf(formDep, "local"),
			}
			for name, text := range row.files {
				files[name] = strings.ReplaceAll(text, "GOROOT", strings.TrimSpace(string(goroot)))
			}
			for name, text := range files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			o := row.o
			o.Parts = []string{}
			o.Package, o.Dir, o.Env = ".", filepath.Join(dir, "app"), append(testEnv(), o.Env...)
			checkForm(t, built(t, o), row.word)
		})
	}
}

// checkForm boots an image of one of these programs.
func checkForm(t *testing.T, elf, word string) {
	t.Helper()
	symbols, err := symbol.Open(elf)
	if err != nil {
		t.Fatal(err)
	}
	defer symbols.Close()
	res, serial, err := boot(t, Config{Kernel: elf, CPUs: 2}, "-- die")
	if !strings.Contains(serial, "\nparts   without dump, ") {
		t.Error("no part of the kernel was left out")
	}
	if err != nil || res.Outcome != Traced || !strings.Contains(serial, "word "+word+"\r\n") {
		t.Fatalf("the machine: %v, %v; want %v and the word %q:\n%s", res.Outcome, err, Traced, word, serial)
	}
	all := traces(t, symbols, serial)
	const want = " main.third main.second main.first main.main "
	if len(all) == 0 || !all[0].Complete || !strings.Contains(all[0].chain(), want) ||
		!strings.Contains(all[0].Reason, "assignment to entry in nil map") {
		t.Errorf("the trace does not have%sin it, or is not complete: %+v", want, all)
	}
}
