package image

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheirVersion: a program that has a package of the kernel's in another version, as here that
// of a folder or of its vendor folder, is linked with a kernel of that version, with -trimpath, too,
// and its files stay as they are. Where the kernel cannot be compiled with it, the error says so.
func TestTheirVersion(t *testing.T) {
	const module = "github.com/google/gopacket"
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	from := os.DirFS(strings.TrimSpace(string(out)))
	for _, tt := range []struct {
		name, folder, edit string
		flags              []string
	}{
		{"replaced", "fork", "replace " + module + " => ./fork\n", nil},
		{"vendored, trimmed", "vendor/" + module, "", []string{"-trimpath=true"}},
		{"too old", "fork", "replace " + module + " => ./fork\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := outside(t)
			mod := "module example.com/outside\n\ngo 1.26\n\nrequire " + module + " v1.1.17\n" + tt.edit
			put(t, o.Dir, map[string]string{
				"go.mod":  mod,
				"main.go": "package main\n\nimport _ \"" + module + "/layers\"\n\nfunc main() {}\n",
			})
			folder := filepath.Join(o.Dir, filepath.FromSlash(tt.folder))
			if err := os.CopyFS(folder, from); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(tt.folder, "vendor") {
				os.Remove(filepath.Join(folder, "go.mod"))
				put(t, o.Dir, map[string]string{"vendor/modules.txt": "# " + module + " v1.1.17\n## explicit; go 1.12\n" + module + "\n" + module + "/layers\n"})
			}
			if tt.name == "too old" {
				put(t, folder, map[string]string{"layers/arp.go": "package layers\n"})
			}
			o.Net, o.Output, o.Flags = true, filepath.Join(t.TempDir(), "out.elf"), tt.flags
			_, err := Build(context.Background(), o)
			if tt.name == "too old" {
				if !errors.Is(err, ErrNoKernel) || !strings.Contains(err.Error(), "with the program's "+module+" v1.1.17 (`go get "+module+"@v1.1.19` gives") {
					t.Error(err)
				}
			} else if err != nil || !hasSymbol(t, o.Output, modulePath+"/kernel/net/netup.(*neighbor).handle") {
				t.Error(err)
			}
			if b, err := os.ReadFile(filepath.Join(o.Dir, "go.mod")); err != nil || !bytes.Equal(b, []byte(mod)) {
				t.Errorf("go.mod has become %q, %v", b, err)
			}
		})
	}
}
