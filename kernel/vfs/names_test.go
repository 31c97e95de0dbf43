package vfs

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestNames: each name of the tree comes once, with its directory and node, also when the
// table has been split many times.
func TestNames(t *testing.T) {
	start(t)
	collect := func() (paths []string) {
		var n Names
		for {
			dir, node, name, ok := n.Next()
			if !ok {
				return paths
			}
			var room [PathMax]byte
			path, e := Path(dir, room[:])
			if e != 0 {
				t.Fatalf("the directory of %q has no path: %v", name, e)
			}
			full := strings.TrimSuffix(string(path), "/") + "/" + string(name)
			if got := walkTo(t, full); got != node {
				t.Errorf("%s is node %d; Names says %d", full, got, node)
			}
			paths = append(paths, full)
		}
	}
	had := collect()
	var made []string
	for d := range 10 {
		dir := fmt.Sprintf("/d%d", d)
		mkdir(t, dir)
		made = append(made, dir)
		for i := range 300 {
			path := fmt.Sprintf("%s/%d%s", dir, i, strings.Repeat("y", i%2*100))
			newFile(t, path, "")
			made = append(made, path)
		}
	}
	want := append(had, made...)
	got := collect()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("Names has %d names, the tree has %d", len(got), len(want))
	}
	if len(made) < perBucketFrame {
		t.Errorf("%d names are fewer than the first buckets, %d: none was split", len(made), perBucketFrame)
	}
}
