package qemu

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// needy are options that need the parts, and words of the same.
var needy = map[string]string{
	"dump": "core=com2", "monitor": "monitor=on", "network": "ip=10.0.2.15",
	"observe": "record=all", "shares": "share=none,ro,/host", "sockets": "",
}

// dies is a program that dies two calls deep.
const dies = `package main

import "fmt"

func main() { outer(nil) }

//go:noinline
func outer(m map[string]int) { fmt.Println("before"); inner(m) }

//go:noinline
func inner(m map[string]int) { m["key"] = 1 }
`

// TestParts: without its parts, and with each part alone, the kernel boots, says what it is without
// and which options that makes nothing of, and a program's death has its whole trace.
func TestParts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module dies\n\ngo 1.25\n", "main.go": dies} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all := image.Parts()
	if len(all) != len(needy) {
		t.Fatalf("there are the parts %q; this test knows %d", all, len(needy))
	}
	line := ""
	for _, p := range all {
		line += needy[p] + " "
	}
	forms := [][]string{nil, {}}
	for _, p := range all {
		forms = append(forms, []string{p})
	}
	for _, parts := range forms {
		t.Run(fmt.Sprintf("%#v", parts), func(t *testing.T) {
			t.Parallel()
			path := built(t, image.BuildOptions{Package: ".", Dir: dir, Env: testEnv(), Parts: parts})
			end := "panic=monitor"
			monitor := parts == nil || slices.Contains(parts, "monitor")
			if monitor { // nobody types there
				end = ""
			}
			res, serial, err := boot(t, Config{Kernel: path}, line+end)
			if err != nil || res.Outcome != Traced {
				t.Errorf("the machine: %v, %v; want %v", res.Outcome, err, Traced)
			}
			without := []string{}
			for _, p := range all {
				linked := parts == nil || slices.Contains(parts, p)
				if !linked {
					without = append(without, p)
				}
				said := needy[p] + " is ignored: this image is without the part " + p + " "
				if needy[p] != "" && strings.Contains(serial, said) == linked {
					t.Errorf("%q is said: %v", said, linked)
				}
			}
			want := "\nparts   without " + strings.Join(without, ", ") + "\r\n"
			if strings.Contains(serial, want) != (len(without) > 0) || len(without) == 0 && strings.Contains(serial, "parts ") {
				t.Errorf("the boot report does not say %q, or says so without need", want)
			}
			if strings.Contains(serial, "panic=monitor is ignored") == monitor {
				t.Errorf("panic=monitor is said to be ignored: %v", !monitor)
			}
			got := traces(t, opened(t, path), serial)
			if len(got) != 1 {
				t.Fatalf("%d traces; want 1:\n%s", len(got), serial)
			}
			chain := got[0].chain()
			if !strings.Contains(chain, "main.inner main.outer main.main runtime.main runtime.goexit") {
				t.Errorf("the trace is of %s", chain)
			}
			if t.Failed() {
				t.Log(serial)
			}
		})
	}
}
