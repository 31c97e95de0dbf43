package inspect

import (
	"slices"
	"testing"
)

// TestUnknown: names that nothing has are told from those that have no value where nothing runs.
func TestUnknown(t *testing.T) {
	i, err := OpenImage(dead(t).ELF)
	if err != nil {
		t.Fatal(err)
	}
	defer i.Close()
	f := i.bi.LookupFunc()["main.deep"]
	if len(f) == 0 {
		t.Fatal("there is no main.deep")
	}
	for expr, want := range map[string][]string{
		"n":                                 nil,
		"p.name":                            nil,
		"p.next.next.name":                  nil,
		"main.list.name":                    nil,
		"list.next":                         nil,
		"len(p.name) + cap(s)":              nil,
		"*(*main.T)(0x10)":                  nil,
		"int(n) + 3":                        nil,
		"p == nil || true":                  nil,
		"m[\"k\"]":                          nil,
		"nobody":                            {"nobody"},
		"n + nobody":                        {"nobody"},
		"m[nobody], n":                      nil, // two expressions
		"m[nobody]":                         {"nobody"},
		"nobody.name":                       {"nobody.name"},
		"main.nothing":                      {"main.nothing"},
		"nowhere.nothing":                   {"nowhere.nothing"},
		"*(*main.Nothing)(0x10) == nothing": {"main.Nothing", "nothing"},
	} {
		if got := i.Unknown(f[0].Entry, expr); !slices.Equal(got, want) {
			t.Errorf("in %q unknown are %q, not %q", expr, got, want)
		}
	}
}
