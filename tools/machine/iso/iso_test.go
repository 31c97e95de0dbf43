package iso

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zeroframe/zeroframe/tools/machine/host"
	"github.com/zeroframe/zeroframe/tools/machine/image"
)

func TestMain(m *testing.M) {
	image.RunTool()
	os.Exit(m.Run())
}

func TestConfig(t *testing.T) {
	got, err := config("it's", `arg0=x env.A="b c" -- "a \"q\"" 'x $y`, true)
	const want = `set timeout=0
insmod all_video
menuentry 'it'\''s' {
	multiboot /boot/kernel.elf 'arg0=x' 'env.A="b c"' '--' '"a \"q\""' ''\''x' '$y'
	module /boot/files.cpio
}
`
	if err != nil || got != want {
		t.Errorf("config = %v\n%s\nwant\n%s", err, got, want)
	}
	if got, err := config("x", "", false); err != nil || strings.Contains(got, "module") || !strings.Contains(got, "multiboot /boot/kernel.elf\n") {
		t.Errorf("config = %v\n%s", err, got)
	}
	if _, err := config("x", "a\nb", false); !errors.Is(err, ErrCmdline) {
		t.Errorf("a line feed: %v; want %v", err, ErrCmdline)
	}
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                      nil,
		"  a  b ":               {"a", "b"},
		`a="b c" d`:             {`a="b c"`, "d"},
		`"a \" b" "c`:           {`"a \" b"`, `"c`},
		`a\ b`:                  {`a\`, "b"},
		`-- "" "two  spaces"`:   {"--", `""`, `"two  spaces"`},
		`"a\\" "b"`:             {`"a\\"`, `"b"`},
		"x" + `"` + " \\":       {`x" \`},
		"env.NAME=\"v \\\" w\"": {`env.NAME="v \" w"`},
	} {
		if got, _ := Words(line); !slices.Equal(got, want) {
			t.Errorf("Words(%s) = %q; want %q", line, got, want)
		}
	}
}

// TestShell: a shell takes the words for what they are.
func TestShell(t *testing.T) {
	for _, w := range []string{"", "plain", "it's", `a "b" c`, `\`, "$HOME `x`", "''"} {
		out, err := exec.Command("sh", "-c", "printf %s "+quote(w)).Output()
		if err != nil || string(out) != w {
			t.Errorf("quote(%q) = %s, for a shell %q, %v", w, quote(w), out, err)
		}
	}
}

// TestSentence: what GRUB's tools fail of is a sentence with the next step; of what they say nothing
// else is in it.
func TestSentence(t *testing.T) {
	failed := errors.New("exit status 1")
	for _, tt := range []struct{ words, says string }{
		{"xorriso : FAILURE : Image size 15620s exceeds free space on media 1118s\ngrub-mkrescue: error: `xorriso` invocation failed\n.",
			"; make some, or set TMPDIR"},
		{"error: cannot copy `/usr/share/grub/unicode.pf2' to `/tmp/x': No space left on device.", "there is no room for the image in "},
		{"grub-mkrescue: error: `xorriso` invocation failed\n.", "xorriso does not work here; install"},
		{"grub-mkrescue: error: xorriso not found.", "xorriso does not work here; install"},
		{"grub-mkrescue: error: `mformat` invocation failed\n.", "mtools do not work here; install"},
		{"grub-mkrescue: error: cannot open `/usr/lib/grub/i386-pc/moddep.lst': No such file or directory.", "GRUB's /usr/lib/grub/i386-pc/moddep.lst cannot be read; install"},
		{"what nobody knows", "mkrescue has made no image (exit status 1); `zf iso -v` shows what it says"},
		{"", "mkrescue has made no image (exit status 1); `zf iso -v` shows"},
	} {
		if got := sentence("mkrescue", tt.words, failed).Error(); !strings.Contains(got, tt.says) || strings.Contains(got, "\n") || strings.Contains(got, "error:") {
			t.Errorf("of %q zf says %q; want %q", tt.words, got, tt.says)
		}
	}
}

func TestMissing(t *testing.T) {
	debian := t.TempDir()
	if err := os.WriteFile(filepath.Join(debian, "apt-get"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", debian)
	for _, tt := range []struct{ there, says string }{
		{"", "missing: grub-mkrescue; xorriso; mformat; " + host.InstallHint("", "grub", "xorriso", "mtools")},
		{"grub2-mkrescue mformat", "missing: xorriso; " + host.InstallHint("", "xorriso")},
		{"grub-mkrescue xorriso mformat", ""},
	} {
		path, err := find(func(name string) (string, error) {
			if slices.Contains(strings.Fields(tt.there), name) {
				return "/bin/" + name, nil
			}
			return "", exec.ErrNotFound
		})
		if tt.says == "" && (err != nil || path != "/bin/grub-mkrescue") || tt.says != "" && (!errors.Is(err, ErrMissing) || err.Error() != tt.says) {
			t.Errorf("with %q: %q, %v; want %q", tt.there, path, err, tt.says)
		}
	}
	script, err := os.ReadFile("../../setup.sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range grubDirs {
		for _, p := range platforms {
			if file := filepath.Join(d, p.dir, "multiboot.mod"); !strings.Contains(string(script), file) || !strings.Contains(string(script), p.thing) {
				t.Errorf("tools/setup.sh does not know %s of %s", file, p.thing)
			}
		}
	}
	empty, bios := t.TempDir(), t.TempDir()
	if _, err := findPlatforms([]string{empty}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "grub-pc-bin grub-efi-amd64-bin") {
		t.Errorf("no modules: %v", err)
	}
	if err := os.Mkdir(filepath.Join(bios, "i386-pc"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bios, "i386-pc/multiboot.mod"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	have, err := findPlatforms([]string{empty, bios})
	if err != nil || !slices.Equal(have, []string{"BIOS"}) {
		t.Errorf("modules for BIOS: %q, %v", have, err)
	}
	if got := MissingFirmware(have); !strings.Contains(got, "not for UEFI") || !strings.Contains(got, "grub-efi-amd64-bin") || strings.Contains(got, "BIOS") {
		t.Errorf("MissingFirmware = %q", got)
	}
	if got := MissingFirmware([]string{"BIOS", "UEFI"}); got != "" {
		t.Errorf("MissingFirmware of all = %q", got)
	}
}

// TestMake: what goes in comes out of the ISO image, by xorriso's word and by ours.
func TestMake(t *testing.T) {
	dir := t.TempDir()
	elf, files := filepath.Join(dir, "lab.elf"), filepath.Join(dir, "x.cpio")
	if _, err := image.Build(context.Background(), image.BuildOptions{Package: "../../../kernel/crashlab", Output: elf, Stderr: t.Output()}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files, []byte("an archive"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "lab.iso")
	have, err := Make(t.Context(), Options{Kernel: elf, Files: files, Cmdline: "a=b", Output: out, WantScreen: image.WantScreen})
	if err != nil || len(have) != 2 {
		t.Fatalf("Make = %q, %v; want BIOS and UEFI", have, err)
	}
	kernel, err := os.ReadFile(elf)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err = image.WantScreen(kernel)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Kernel(f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, kernel) {
		t.Errorf("the kernel in the ISO image has %d bytes, %v; want the %d of the image", len(got), err, len(kernel))
	}
	for name, want := range map[string][]byte{kernelPath: kernel, filesPath: []byte("an archive")} {
		copied := filepath.Join(dir, "copy"+filepath.Base(name))
		msg, err := exec.Command("xorriso", "-osirrox", "on", "-indev", out, "-extract", name, copied).CombinedOutput()
		if err != nil {
			t.Fatalf("xorriso: %v\n%s", err, msg)
		}
		if got, err := os.ReadFile(copied); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes, %v; want %d", name, len(got), err, len(want))
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".zf-iso-*"))
	if len(left) != 0 {
		t.Errorf("Make has left %q", left)
	}

	if _, err := Make(t.Context(), Options{Kernel: files, Output: out, WantScreen: image.WantScreen}); !errors.Is(err, image.ErrLayout) {
		t.Errorf("Make of no kernel: %v; want %v", err, image.ErrLayout)
	}
	if _, err := Make(t.Context(), Options{Kernel: elf, Output: filepath.Join(dir, "no/such/x.iso")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Make in no folder: %v; want %v", err, os.ErrNotExist)
	}
}
