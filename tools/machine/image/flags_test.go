package image

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// flagged is what a program of two packages is built with, which imports a kernel of two, and
// package fmt.
func flagged(t *testing.T, o BuildOptions) (BuildOptions, error) {
	t.Helper()
	o.KernelPackage, o.Dir = modulePath+"/kernel", "/src"
	module := &listedModule{Main: true}
	files := []string{"a.go"}
	pkgs := []listed{
		{ImportPath: "unsafe", Standard: true, GoFiles: files},
		{ImportPath: "sync/atomic", Standard: true, GoFiles: files},
		{ImportPath: "fmt", Standard: true, GoFiles: files},
		{ImportPath: modulePath + "/tracer", Imports: []string{"sync/atomic"}, GoFiles: files},
		{ImportPath: modulePath + "/kernel", Imports: []string{"unsafe", modulePath + "/kernel/mem"}, GoFiles: files},
		{ImportPath: modulePath + "/kernel/mem", GoFiles: files},
		{ImportPath: "example.com/p/q", Imports: []string{"fmt"}, Dir: "/src/q", Module: module, GoFiles: files},
		{ImportPath: "example.com/p", Name: "main", Imports: []string{modulePath + "/kernel"}, Dir: "/src", Module: module, GoFiles: files},
	}
	if err := o.checkFlags(); err != nil {
		return o, err
	}
	return o, o.settleFlags(pkgs, &pkgs[len(pkgs)-1])
}

// TestKernelFlags: the kernel's packages have the last word, where the user gives any.
func TestKernelFlags(t *testing.T) {
	for _, tt := range []struct {
		o    BuildOptions
		want string // for each package of the kernel, K
	}{
		{BuildOptions{}, ""},
		{BuildOptions{GCFlags: "all=-N -l"}, "-gcflags=K="},
		{BuildOptions{goflags: splitFlags(`-mod=mod '-gcflags=all=-N -l'`)}, "-gcflags=K="},
		{BuildOptions{goflags: splitFlags(`--gcflags=all=-d=checkptr`)}, "-gcflags=K="},
		{BuildOptions{goflags: []string{"-pgo=cpu.pprof"}}, "-gcflags=K=-pgoprofile="},
		{BuildOptions{GCFlags: "-l", Flags: []string{"-pgo=/cpu.pprof"}}, "-gcflags=K=-pgoprofile="},
		{BuildOptions{GCFlags: "-l", Flags: []string{"-pgo=off"}}, "-gcflags=K="},
		{BuildOptions{Flags: []string{"-asmflags=all=-D=x"}}, "-asmflags=K="},
	} {
		o, err := flagged(t, tt.o)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, k := range []string{"/tracer", "/kernel", "/kernel/mem"} {
			if tt.want != "" {
				want = append(want, strings.Replace(tt.want, "K", modulePath+k, 1))
			}
		}
		if got := o.kernelFlags(o.own); !slices.Equal(got, want) {
			t.Errorf("with %q %q %q: %q; want %q", tt.o.goflags, tt.o.GCFlags, tt.o.Flags, got, want)
		}
	}
}

// TestCovered: the packages that coverage instruments, without the kernel's.
func TestCovered(t *testing.T) {
	const program = "example.com/p/q example.com/p"
	for _, tt := range []struct {
		flags string
		want  string
		left  bool // something of the kernel's was asked for, and is left out
	}{
		{"", "", false},
		{"-cover", program, false},
		{"-cover=false", "", false},
		{"-covermode=atomic", program, false},
		{"-coverpkg=all", "fmt " + program, true},
		{"-coverpkg=./...", program, false},
		{"-coverpkg=./q,fmt", "fmt example.com/p/q", false},
		{"-coverpkg=example.com/p/...," + modulePath + "/...", program, true},
		{"-coverpkg=std", "fmt", true},
		{"-coverpkg=..", "", false},
	} {
		o, err := flagged(t, BuildOptions{goflags: splitFlags(tt.flags)})
		if got := strings.Join(o.covered, " "); err != nil || got != tt.want || o.uncovered != tt.left {
			t.Errorf("%s covers %q, %t, %v; want %q, %t", tt.flags, got, o.uncovered, err, tt.want, tt.left)
		}
	}
}

// TestLinkFlags: -s and -w are for the finished image, all else for the linker.
func TestLinkFlags(t *testing.T) {
	for _, tt := range []struct {
		goflags, ldflags string
		want             string
		symbols, dwarf   bool // left out
	}{
		{"", "", "", false, false},
		{"", "-s -w", "", true, true},
		{"", "-s", "", true, true},
		{"", "--w=1 -X main.v=1", "-X main.v=1", false, true},
		{"", "-s -w=0", "", true, false},
		{"", "-s=false", "", false, false},
		{"", "-X 'main.v=a -s b' -w", "-X 'main.v=a -s b'", false, true},
		{"", "-extldflags -s", "-extldflags -s", false, false},
		{"-ldflags=-w", "", "", false, true},
		{"'-ldflags=-s -X main.v=1'", "", "-X main.v=1", true, true},
		{"-ldflags=-s", "-X main.v=1", "-X main.v=1", false, false}, // the last one counts
		{"", "all=-s", "", true, true},
		{"", "fmt=-s", "", false, false},
	} {
		o, err := flagged(t, BuildOptions{goflags: splitFlags(tt.goflags), LDFlags: tt.ldflags})
		if err != nil || o.ldflags != tt.want || o.dropSymbols != tt.symbols || o.dropDWARF != tt.dwarf {
			t.Errorf("with GOFLAGS %s and -ldflags=%s: %q, %t, %t, %v; want %q, %t, %t",
				tt.goflags, tt.ldflags, o.ldflags, o.dropSymbols, o.dropDWARF, err, tt.want, tt.symbols, tt.dwarf)
		}
	}
}

// TestRefusedFlags: each in GOFLAGS, with the reason.
func TestRefusedFlags(t *testing.T) {
	for _, tt := range []struct {
		goflags string
		want    error
		says    string
	}{
		{"-race", ErrFlag, "go test -race"},
		{"-msan=true", ErrFlag, "cgo"},
		{"--asan", ErrFlag, "cgo"},
		{"-race=false", nil, ""},
		{"-n", ErrFlag, "builds nothing"},
		{"-toolexec=time", ErrFlag, "adds the kernel"},
		{"-linkshared", ErrFlag, "no shared libraries"},
		{"-compiler=gccgo", ErrFlag, "Go's own compiler"},
		{"-compiler=gc", nil, ""},
		{"-ldflags=-linkmode=external", ErrFlag, "-linkmode=external: the C linker"},
		{"'-ldflags=-w -linkmode external'", ErrFlag, "-linkmode external: the C linker"},
		{"'-ldflags=all=--linkmode=external'", ErrFlag, "the C linker"},
		{"-ldflags=-linkmode=internal", nil, ""},
		{"'-ldflags=-X -linkmode=external'", nil, ""}, // the value of -X
		{"-ldflags=-buildmode=pie", ErrFlag, "-buildmode=exe"},
		{"-ldflags=-H=windows", ErrFlag, "for linux"},
		{"-ldflags=-R=0x10000", ErrFlag, "4 KiB"},
		{"-ldflags=-D=0x800000", ErrFlag, "after its text"},
		{"-ldflags=-randlayout=7", ErrFlag, "place in the text"},
		{"-buildmode=pie", ErrBuildMode, "-buildmode=pie"},
		{"-coverpkg=" + modulePath + "/kernel/...", ErrFlag, "never covered"},
	} {
		_, err := flagged(t, BuildOptions{goflags: splitFlags(tt.goflags)})
		if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("with GOFLAGS=%s: %v; want %v with %q", tt.goflags, err, tt.want, tt.says)
		}
	}
}
