package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestZones: time zones are for a program that loads some, and whose own code does.
func TestZones(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"loads.go": "package p\n\nimport \"time\"\n\nvar _, _ = time.LoadLocation(\"Europe/Berlin\")\n",
		"other.go": "package p\n\nimport \"time\"\n\nvar _ = time.Now()\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loads := listed{ImportPath: "p", Dir: dir, GoFiles: []string{"other.go", "loads.go"}, Imports: []string{"time"}}
	other, standard, without := loads, loads, loads
	other.GoFiles, standard.Standard, without.Imports = loads.GoFiles[:1], true, nil
	absent := loads
	absent.Dir = filepath.Join(dir, "nosuch")
	if !loadsZones([]listed{other, loads}) {
		t.Error("a package that loads a time zone was not found")
	}
	if loadsZones([]listed{other, standard, without, absent}) {
		t.Error("time zones for packages that load none")
	}
}
