package image

import (
	"os"
	"strings"
	"testing"
)

// TestOldestGo: CheckGo asks for what go.mod asks for.
func TestOldestGo(t *testing.T) {
	mod, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if want := "\ngo " + strings.TrimPrefix(oldestGo, "go"); !strings.Contains(string(mod), want) {
		t.Errorf("go.mod has no %q; set oldestGo to what it has", want)
	}
}
