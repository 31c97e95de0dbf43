package image

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestParts: each part has its constant in the kernel, and the kernel no other.
func TestParts(t *testing.T) {
	text, err := os.ReadFile("../../../kernel/parts/parts.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "= true //"); n != len(Parts()) {
		t.Errorf("the kernel has %d constants; want one for each of %q", n, Parts())
	}
	for _, p := range Parts() {
		if !strings.Contains(string(text), "\n\t"+strings.ToUpper(p[:1])+p[1:]+" ") {
			t.Errorf("%s has no constant", p)
		}
	}
}

func TestParseParts(t *testing.T) {
	for s, want := range map[string][]string{
		"all": nil, "none": {}, "monitor": {"monitor"}, "shares,dump": {"shares", "dump"},
	} {
		if got, err := ParseParts(s); err != nil || !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%q: %#v, %v; want %#v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "Monitor", "monitor,", "none,monitor", "monitor dump"} {
		if got, err := ParseParts(s); err == nil || !strings.Contains(err.Error(), "want all, none, or some of dump,monitor,") {
			t.Errorf("%q: %q, %v", s, got, err)
		}
	}
}

// TestPartsFor: a word counts by its whole name, and the program's arguments and environment do not.
func TestPartsFor(t *testing.T) {
	for line, want := range map[string]string{
		"": "", "report=off env.ip=1 panic=halt core": "",
		"core.by=net": "dump", "ip=10.0.2.15": "network", "monitor": "monitor", "panic=monitor": "monitor",
		"record.ring=5 share=a,ro,/b net=on": "network observe shares",
	} {
		if got := strings.Join(PartsFor(strings.Fields(line)), " "); got != want {
			t.Errorf("%q needs %q; want %q", line, got, want)
		}
	}
}

// TestMakesSockets: by package net, or by packages that are not Go's own and can make system calls.
func TestMakesSockets(t *testing.T) {
	main := listed{ImportPath: "a", Imports: []string{"os"}}
	std := listed{ImportPath: "os", Standard: true, Imports: []string{"syscall"}, SFiles: []string{"x.s"}}
	for _, tt := range []struct {
		name string
		more listed
		want bool
	}{
		{"os alone", std, false},
		{"net", listed{ImportPath: "net", Standard: true}, true},
		{"a test's variant of net", listed{ImportPath: "net [net.test]", Standard: true}, true},
		{"net/netip", listed{ImportPath: "net/netip", Standard: true}, false},
		{"system calls", listed{ImportPath: "b", Imports: []string{"syscall"}}, true},
		{"assembly", listed{ImportPath: "b", SFiles: []string{"b.s"}}, true},
	} {
		if got := makesSockets([]listed{main, std, tt.more}, &main); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	if own := (listed{ImportPath: "os.test", Standard: true}); !makesSockets([]listed{own, std}, &own) {
		t.Error("tests of Go's own packages may make sockets")
	}
}
