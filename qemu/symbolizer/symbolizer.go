// Package symbolizer says which llvm-symbolizer the tests compare with. Versions differ in
// their answers, so the tests name one, whatever else is on the machine. tools/setup.sh
// installs this one. What other versions answer differently, a test of tools/symbol says.
//
// It is for tests only, and imports nothing of ours.
package symbolizer

import (
	"fmt"
	"os/exec"
	"strings"
)

// Version is the version of LLVM.
const Version = "22"

// Path returns the path of the program: llvm-symbolizer with the version in its name, or
// the plain one where that is of the version. The error says how to get it.
func Path() (string, error) {
	if path, err := exec.LookPath("llvm-symbolizer-" + Version); err == nil {
		return path, nil
	}
	path, err := exec.LookPath("llvm-symbolizer")
	if err == nil {
		var out []byte
		if out, err = exec.Command(path, "--version").Output(); err == nil &&
			strings.Contains(string(out), "LLVM version "+Version+".") {
			return path, nil
		}
	}
	return "", fmt.Errorf(
		"no llvm-symbolizer of LLVM %s in PATH: run tools/setup.sh test, which installs it", Version)
}
