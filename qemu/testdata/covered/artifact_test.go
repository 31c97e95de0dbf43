//go:build go1.26

package covered

import (
	"os"
	"path/filepath"
	"testing"
)

func TestArtifact(t *testing.T) {
	dir := filepath.Join(t.ArtifactDir(), "sub")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	data := make([]byte, 100_000)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), data, 0o666); err != nil {
		t.Fatal(err)
	}
}
