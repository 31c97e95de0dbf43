package image

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// outside is a module that does not require ours.
func outside(t *testing.T) BuildOptions {
	t.Helper()
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"go.mod":  "module example.com/outside\n\ngo 1.26\n",
		"main.go": "package main\n\nfunc main() {}\n",
	})
	return BuildOptions{Package: ".", Dir: dir, Env: os.Environ(), KernelPackage: KernelPackage, Stderr: t.Output()}
}

// TestKernelSource: the program's own module first, then the environment, then what
// this binary was built from.
func TestKernelSource(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	put(t, other, map[string]string{"go.mod": "// A comment.\nmodule " + modulePath + " // another\n"})
	notOurs := t.TempDir()
	put(t, notOurs, map[string]string{"go.mod": "module " + modulePath + "/v2\n"})

	with := func(kv ...string) BuildOptions {
		o := outside(t)
		o.Env = append(o.Env, kv...)
		return o
	}
	own := with(SourceEnv + "=" + other)
	own.Dir = "."
	requires := with()
	put(t, requires.Dir, map[string]string{"go.mod": "module example.com/outside\n\ngo 1.26.3\n\nrequire " + modulePath + " v0.1.0\n\nreplace " + modulePath + " => " + strconv.Quote(root) + "\n"})
	mixed := with()
	mixed.usesModule = true
	foreign := with()
	foreign.KernelPackage = "example.com/nosuch/kernel"
	for _, tt := range []struct {
		name string
		o    BuildOptions
		want string
		says string // of the error, "" if there is none
	}{
		{"in our module", own, "", ""},
		{"required", requires, "", ""},
		{"built from", with(SourceEnv + "="), root, ""},
		{"environment", with(SourceEnv + "=" + other), other, ""},
		{"wrong environment", with(SourceEnv + "=" + notOurs), "", "is not the folder of module " + modulePath},
		{"a part of ours", mixed, "", "require a newer version"},
		{"another kernel", foreign, "", "example.com/nosuch/kernel"},
	} {
		got, err := tt.o.kernelSource(context.Background())
		if got != tt.want || (err != nil) != (tt.says != "") {
			t.Errorf("%s: kernelSource = %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if err != nil && (!errors.Is(err, ErrNoKernel) || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: kernelSource = %v; want %v with %q", tt.name, err, ErrNoKernel, tt.says)
		}
	}
}

// proxy makes a module proxy of files with one module in it, and returns the
// environment to use it with.
func proxy(t *testing.T, module, version string, files map[string]string) []string {
	t.Helper()
	dir := t.TempDir()
	at := filepath.Join(dir, module, "@v")
	put(t, at, map[string]string{
		"list":            version + "\n",
		version + ".info": `{"Version":"` + version + `"}`,
		version + ".mod":  files["go.mod"],
	})
	file, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z := zip.NewWriter(file)
	for name, text := range files {
		w, err := z.Create(module + "@" + version + "/" + name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return append(os.Environ(), "GOPROXY=file://"+filepath.ToSlash(dir), "GONOSUMDB=*", "GONOSUMCHECK=1", "GOSUMDB=off", "GOPRIVATE=",
		"GOMODCACHE="+t.TempDir(), "GOFLAGS=-modcacherw")
}

// TestBuildVersion: PATH@VERSION is fetched, built outside of any module, and written
// to where the user is.
func TestBuildVersion(t *testing.T) {
	o := outside(t)
	o.Package = "example.com/tools/hello@v1.2.0"
	o.Env = proxy(t, "example.com/tools", "v1.2.0", map[string]string{
		"go.mod":        "module example.com/tools\n\ngo 1.26\n",
		"hello/main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	})
	before := snapshot(t, o.Dir)
	b, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	image := filepath.Join(o.Dir, "hello.elf")
	if b.Path != image || !hasSymbol(t, image, EntrySymbol+".abi0") {
		t.Errorf("Build(%s) = %+v; want %s with the kernel", o.Package, b, image)
	}
	if err := os.Remove(image); err != nil {
		t.Fatal(err)
	}
	if after := snapshot(t, o.Dir); after != before {
		t.Errorf("the build changed the folder:\n%s\nwas\n%s", after, before)
	}
	for _, pkg := range []string{"example.com/tools/hello@v9.9.9", "example.com/nosuch@latest", "@v1", "example.com/tools/hello@"} {
		o.Package = pkg
		if b, err := Build(context.Background(), o); !errors.Is(err, ErrNoPackage) || !strings.Contains(err.Error(), pkg) {
			t.Errorf("Build(%s) = %+v, %v; want %v", pkg, b, err, ErrNoPackage)
		}
	}
}

// TestBuildDependency: a main package in a module of the module cache, which no
// file can be added to.
func TestBuildDependency(t *testing.T) {
	o := BuildOptions{Package: "github.com/u-root/u-root/cmds/core/seq", Output: filepath.Join(t.TempDir(), "seq.elf"), Stderr: t.Output()}
	b, err := Build(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if !hasSymbol(t, b.Path, EntrySymbol+".abi0") {
		t.Error("the image of seq has no kernel")
	}
}

// TestStandardImports: what is compiled with the kernel is what the program's own packages import
// of Go's, and leaves no trace in the kernel.
func TestStandardImports(t *testing.T) {
	std := func(path string, imports ...string) listed {
		return listed{ImportPath: path, Standard: true, Imports: imports}
	}
	broken := std("nosuch")
	broken.Error = &struct{ Err string }{"not found"}
	variant := std("sort [sort.test]", "slices")
	variant.ForTest = "sort.test"
	pkgs := []listed{
		std("fmt", "internal/fmtsort"), std("internal/fmtsort"), std("os"), std("unsafe"), std("sort", "slices"), std("slices"), broken,
		{ImportPath: "example.com/p", Imports: []string{"fmt", "unsafe", "C", "nosuch"}},
		{ImportPath: "example.com/q", Imports: []string{"example.com/p", "fmt", "os"}},
	}
	if got, want := strings.Join(standardImports(pkgs), " "), "fmt os"; got != want {
		t.Errorf("of a program: %s; want %s", got, want)
	}
	pkgs = append(pkgs[:len(pkgs)-2], variant, std("sort.test", "os", "sort [sort.test]"))
	if got, want := strings.Join(standardImports(pkgs), " "), "slices os"; got != want {
		t.Errorf("of a test of Go's own: %s; want %s", got, want)
	}

	kernelWith := func(standard ...string) (hash, archives string) {
		o := outside(t)
		o.missing, o.standard = []string{KernelPackage}, standard
		dir := t.TempDir()
		k, err := o.addKernel(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, archivesFile))
		if err != nil {
			t.Fatal(err)
		}
		return k.hash, string(text)
	}
	hash, archives := kernelWith()
	if withHash, with := kernelWith("fmt", "os"); withHash != hash || with != archives {
		t.Errorf("with the program's packages the kernel is %s\n%s\nwant %s\n%s", withHash, with, hash, archives)
	}
}
