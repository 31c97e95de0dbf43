package iso

import (
	"errors"
	"fmt"
	"strings"
)

// Where the files are in the ISO image.
const (
	kernelPath = "/boot/kernel.elf"
	filesPath  = "/boot/files.cpio"
	configPath = "/boot/grub/grub.cfg"
)

// ErrCmdline is returned for a command line that GRUB cannot hand on.
var ErrCmdline = errors.New("command line")

// config returns GRUB's configuration: one entry, which starts at once.
func config(title, cmdline string, files bool) (string, error) {
	if i := strings.IndexFunc(cmdline, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return "", fmt.Errorf("%w: GRUB takes no control character, as that at byte %d", ErrCmdline, i)
	}
	var b strings.Builder
	b.WriteString("set timeout=0\n")
	b.WriteString("insmod all_video\n") // for the screen under UEFI
	fmt.Fprintf(&b, "menuentry %s {\n", quote(title))
	fmt.Fprintf(&b, "\tmultiboot %s", kernelPath)
	words, _ := Words(cmdline)
	for _, w := range words {
		b.WriteString(" " + quote(w))
	}
	b.WriteString("\n")
	if files {
		fmt.Fprintf(&b, "\tmodule %s\n", filesPath)
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// Words splits a kernel's command line as the kernel does (kernel/option/words.go): at spaces,
// but for those in double quotes, in which a backslash stands before a quote that does not end
// them. The quotes stay: each word is one of GRUB's, which the kernel gets as it is (boot/grub.go).
// open says that a quote is not closed.
func Words(line string) (words []string, open bool) {
	escaped := false
	words = strings.FieldsFunc(line, func(r rune) bool {
		was := escaped
		escaped = !was && open && r == '\\'
		if r == '"' && !was {
			open = !open
		}
		return r == ' ' && !open
	})
	return words, open
}

// quote quotes a word for GRUB's shell, which knows single quotes as others do.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
