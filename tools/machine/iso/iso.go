package iso

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/whole"
	"github.com/zeroframe/zeroframe/tools/machine/host"
)

// ErrMissing is returned when a program or a file of GRUB's is not there.
var ErrMissing = errors.New("missing")

// Options say what goes into an ISO image.
type Options struct {
	Kernel  string // path of a finished image
	Cmdline string // of the kernel
	Files   string // path of a cpio archive for the kernel; "" means none
	Title   string // what GRUB calls it; "" means the kernel's name
	Output  string // path of the ISO image
	// Words takes what GRUB's tools say themselves; nil: nobody wants it.
	Words io.Writer
	// WantScreen makes the image's bytes ask GRUB for a screen; nil leaves them. It is
	// that of package image.
	WantScreen func(kernel []byte) ([]byte, error)
}

// platform is a kind of firmware that GRUB starts from.
type platform struct {
	name, dir, thing string // the thing is one that package host installs
}

var platforms = []platform{
	{"BIOS", "i386-pc", "grub-bios"},
	{"UEFI", "x86_64-efi", "grub-uefi"},
}

// grubDirs is where systems have GRUB's modules.
var grubDirs = []string{"/usr/lib/grub", "/usr/share/grub", "/usr/lib/grub2", "/usr/share/grub2"}

// tools are the programs that are needed: one of the names, and what package host calls it.
var tools = []struct {
	names []string
	thing string
}{
	{[]string{"grub-mkrescue", "grub2-mkrescue"}, "grub"},
	{[]string{"xorriso"}, "xorriso"},
	{[]string{"mformat"}, "mtools"},
}

// kernel reads the kernel, for a screen if one is wanted.
func (o *Options) kernel() ([]byte, error) {
	b, err := os.ReadFile(o.Kernel)
	if err != nil || o.WantScreen == nil {
		return b, err
	}
	if b, err = o.WantScreen(b); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Kernel, err)
	}
	return b, nil
}

// Make writes an ISO image that BIOSes and UEFI start, from an optical disc or from a
// stick, and returns what kinds of firmware it is for. Errors wrap [ErrMissing],
// [ErrCmdline], those of o.WantScreen and those of the file system; what went wrong
// in grub-mkrescue is a sentence with the next step.
func Make(ctx context.Context, o Options) (firmware []string, err error) {
	if err := checkOutput(o.Output); err != nil {
		return nil, err
	}
	mkrescue, firmware, err := Find()
	if err != nil {
		return nil, err
	}
	if o.Title == "" {
		o.Title = strings.TrimSuffix(filepath.Base(o.Kernel), ".elf")
	}
	cfg, err := config(o.Title, o.Cmdline, o.Files != "")
	if err != nil {
		return nil, err
	}
	kernel, err := o.kernel()
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp("", "zf-iso-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	tree, image := filepath.Join(tmp, "tree"), filepath.Join(tmp, "iso")
	contents := map[string][]byte{configPath: []byte(cfg), kernelPath: kernel}
	if o.Files != "" {
		if contents[filesPath], err = os.ReadFile(o.Files); err != nil {
			return nil, err
		}
	}
	if err := write(tree, contents); err != nil {
		return nil, err
	}
	cmd := host.Command(ctx, mkrescue, "-o", image, tree, "--", "-volid", "ZEROFRAME")
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp) // where it leaves a folder if it is killed
	var msg bytes.Buffer
	cmd.Stdout = &msg
	if o.Words != nil {
		cmd.Stdout = io.MultiWriter(&msg, o.Words)
	}
	cmd.Stderr = cmd.Stdout
	if err := host.Run(ctx, cmd); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, sentence(filepath.Base(mkrescue), msg.String(), err)
	}
	made, err := os.Open(image)
	if err != nil {
		return nil, sentence(filepath.Base(mkrescue), "", err)
	}
	defer made.Close()
	return firmware, whole.File(o.Output, 0o644, func(to *os.File) error {
		_, err := io.Copy(to, made)
		return err
	})
}

// write writes the files of the image's tree.
func write(tree string, contents map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(tree, filepath.Dir(configPath)), 0o755); err != nil {
		return err
	}
	for name, b := range contents {
		if err := os.WriteFile(filepath.Join(tree, name), b, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// said has what GRUB's tools say when they fail, as regular expressions, what zf says for it, and
// what is to be installed again.
var said = []struct{ words, means, thing string }{
	{`No space left on device|exceeds free space on media`,
		"there is no room for the image in " + os.TempDir() + "; make some, or set TMPDIR to another folder", ""},
	{`xorriso not found|xorriso. invocation failed`, "xorriso does not work here", "xorriso"},
	{`mformat. invocation failed|mcopy. invocation failed`, "mtools do not work here", "mtools"},
	{`cannot (?:open|find|stat|copy) [` + "`'" + `]?(\S*/grub/[^\s':]*)`, "GRUB's $1 cannot be read", "grub"},
}

// sentence says in zf's words what a tool of GRUB's has failed of.
func sentence(tool, words string, err error) error {
	for _, s := range said {
		re := regexp.MustCompile(s.words)
		at := re.FindStringSubmatchIndex(words)
		if at == nil {
			continue
		}
		means := string(re.ExpandString(nil, s.means, words, at))
		if s.thing != "" {
			means += "; " + host.InstallHint("install it again", s.thing)
		}
		return fmt.Errorf("%s: %s", tool, means)
	}
	return fmt.Errorf("%s has made no image (%w); `zf iso -v` shows what it says", tool, err)
}

// checkOutput keeps what is no ISO image from being replaced by one: a source file, or a
// stick's device, whose name would then be a file's.
func checkOutput(path string) error {
	fi, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case fi.IsDir():
		return fmt.Errorf("%s is a folder; say what file in it to write", path)
	case !fi.Mode().IsRegular():
		return fmt.Errorf("%s is no file; write the image to a file, and that to a stick by dd", path)
	case fi.Size() == 0:
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := descriptor(f); err != nil {
		return fmt.Errorf("%s is there already and is no ISO image", path)
	}
	return nil
}

// Find returns the path of grub-mkrescue and the kinds of firmware, BIOS and UEFI, that GRUB
// here makes images for. Errors wrap [ErrMissing] and say how to install what is missing.
func Find() (mkrescue string, firmware []string, err error) {
	if mkrescue, err = find(exec.LookPath); err == nil {
		firmware, err = findPlatforms(grubDirs)
	}
	return mkrescue, firmware, err
}

// find returns the path of grub-mkrescue, if it and what it calls is there.
func find(look func(string) (string, error)) (mkrescue string, err error) {
	var names, things []string
next:
	for i, t := range tools {
		for _, n := range t.names {
			if path, err := look(n); err == nil {
				if i == 0 {
					mkrescue = path
				}
				continue next
			}
		}
		names, things = append(names, t.names[0]), append(things, t.thing)
	}
	if len(names) > 0 {
		return "", missing(names, things)
	}
	return mkrescue, nil
}

// findPlatforms returns the kinds of firmware that GRUB in one of the folders has modules
// for.
func findPlatforms(dirs []string) (have []string, err error) {
	var names, things []string
next:
	for _, p := range platforms {
		for _, d := range dirs {
			if _, err := os.Stat(filepath.Join(d, p.dir, "multiboot.mod")); err == nil {
				have = append(have, p.name)
				continue next
			}
		}
		names, things = append(names, "GRUB's modules for "+p.name+", "+p.dir), append(things, p.thing)
	}
	if len(have) == 0 {
		return nil, missing(names, things)
	}
	return have, nil
}

func missing(names, things []string) error {
	return fmt.Errorf("%w: %s; %s", ErrMissing, strings.Join(names, "; "),
		host.InstallHint("they come with GRUB, xorriso and mtools", things...))
}

// MissingFirmware returns what an ISO image would not start from, with the package that
// is missing, or "".
func MissingFirmware(have []string) string {
	var all []string
	for _, p := range platforms {
		if !slices.Contains(have, p.name) {
			all = append(all, fmt.Sprintf("not for %s: GRUB's modules %s are missing; %s", p.name, p.dir,
				host.InstallHint("they come with GRUB", p.thing)))
		}
	}
	return strings.Join(all, "; ")
}
