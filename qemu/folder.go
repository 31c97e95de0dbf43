package qemu

import (
	"fmt"
	"os"
	"strings"
)

const (
	// notPlain are the characters that QEMU's and gdb's own rules keep out of paths.
	notPlain = " \t\n,"
	// maxFolder is the longest path, in bytes, of a folder in which that of a socket is
	// short enough: some systems have 104 bytes for it.
	maxFolder = 64
)

// PlainFolder makes a folder for temporary files in which a path has no space and no comma
// and may be that of a socket: in that of the system if its path is such a one. The caller
// removes it. The error says what to set. Context: host.
func PlainFolder() (string, error) {
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp"}
	for _, dir := range dirs {
		if strings.ContainsAny(dir, notPlain) || len(dir) > maxFolder {
			continue
		}
		if tmp, err := os.MkdirTemp(dir, "zf-qemu-"); err == nil {
			return tmp, nil
		}
	}
	return "", fmt.Errorf(
		"none of %q will do for temporary files: set TMPDIR to a folder with a short path without spaces and commas", dirs)
}
