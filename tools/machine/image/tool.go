package image

// The kernel is added to a program that does not import it between the go command
// and its tools: with -toolexec, the go command starts this program instead of the
// compiler and the linker, and this program starts them with one thing more. The
// compiler of package main gets a file that imports the kernel, the linker gets the
// kernel's archives. So no file of the program changes, no module needs a
// requirement, and what may import nothing but the standard library, such as a test
// of package strings, can be linked with the kernel too.
//
// The go command's build cache stays right by two means. The tools' version lines
// pass unchanged, so that all other packages are those of any build. And the
// compiler of package main is given a flag, [marker] and a hash of the kernel's
// archives, that this program takes out again: flags are part of what the cache
// looks results up by, so that a main package with the kernel is never taken for one
// without, nor for one with another kernel. By way of the cache's key the hash also
// becomes a part of the image's build ID.

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// toolWord is the first argument of a process that is to stand for a tool.
	toolWord = "-zeroframe-tool"
	// marker is the compiler flag that marks a build with the kernel added. The
	// compiler itself does not know it.
	marker = "-zeroframe-kernel="

	// The files in the folder that the go command passes on to us.
	importFile   = "zeroframe_kernel.go" // imports the kernel
	archivesFile = "importcfg"           // the kernel's packages, as lines of an importcfg
)

// toolReady says that RunTool has been called.
var toolReady bool

// RunTool must be called first thing in main, and in TestMain, by every program that
// calls [Build] with packages that do not import the kernel: the go command starts
// the running program again, as a wrapper of its compiler and linker. In such a
// process RunTool does not return.
func RunTool() {
	toolReady = true
	if len(os.Args) < 4 || os.Args[1] != toolWord {
		return
	}
	os.Exit(runTool(os.Args[2], os.Args[3], os.Args[4:]))
}

// runTool runs a tool of the go command, with the kernel that folder dir describes,
// and returns its exit status.
func runTool(dir, tool string, args []string) int {
	var err error
	switch strings.TrimSuffix(filepath.Base(tool), ".exe") {
	case "compile":
		args, err = compileArgs(dir, args)
	case "link":
		args, err = linkArgs(dir, args)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "adding the kernel: %v\n", err)
		return 1
	}
	cmd := exec.Command(tool, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	// An interrupt ends the tool, and we are still there until it has ended: the go command waits
	// for us to remove the folder that the tool writes to.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return max(exit.ExitCode(), 1) // -1 after a signal
	case err != nil:
		fmt.Fprintf(os.Stderr, "%v\n", err)
		return 1
	}
	return 0
}

// compileArgs returns the compiler's arguments without the marker, and for a marked
// package main with the file that imports the kernel.
func compileArgs(dir string, args []string) ([]string, error) {
	args, err := expand(args)
	if err != nil {
		return nil, err
	}
	marked, isMain := false, false
	rest := args[:0:0]
	for i, arg := range args {
		if strings.HasPrefix(arg, marker) {
			marked = true
			continue
		}
		isMain = isMain || arg == "main" && i > 0 && args[i-1] == "-p"
		rest = append(rest, arg)
	}
	if !marked || !isMain {
		return rest, nil
	}
	if err := addArchives(dir, rest); err != nil {
		return nil, err
	}
	return append(rest, filepath.Join(dir, importFile)), nil
}

// linkArgs returns the linker's arguments with the kernel's archives.
func linkArgs(dir string, args []string) ([]string, error) {
	args, err := expand(args)
	if err != nil || !slices.Contains(args, "-importcfg") { // -V=full, for one
		return args, err
	}
	return args, addArchives(dir, args)
}

// addArchives replaces the file after -importcfg in args by a copy with the kernel's
// packages. Those that are there already are the program's own: it imports a part of
// the kernel.
func addArchives(dir string, args []string) error {
	for i := 1; i < len(args); i++ {
		if args[i-1] != "-importcfg" {
			continue
		}
		cfg, err := os.ReadFile(args[i])
		if err != nil {
			return err
		}
		kernel, err := os.ReadFile(filepath.Join(dir, archivesFile))
		if err != nil {
			return err
		}
		there := make(map[string]bool)
		for line := range strings.Lines(string(cfg)) {
			there[packageOf(line)] = true
		}
		var b strings.Builder
		b.WriteString(strings.TrimRight(string(cfg), "\n") + "\n")
		for line := range strings.Lines(string(kernel)) {
			if !there[packageOf(line)] {
				b.WriteString(line)
			}
		}
		file, err := os.CreateTemp(dir, "importcfg-*")
		if err != nil {
			return err
		}
		_, err = file.WriteString(b.String())
		args[i] = file.Name()
		return cmp.Or(err, file.Close())
	}
	return errors.New("the go command did not pass -importcfg; this zf does not know its version")
}

// packageOf returns the import path in a line "packagefile PATH=FILE", or "".
func packageOf(line string) string {
	rest, ok := strings.CutPrefix(line, "packagefile ")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "=")
	return name
}

// expand replaces an argument @FILE by the arguments in the file, one a line, as the
// go command passes very many (cmd/internal/objabi, expandArgs).
func expand(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "@")
		if !ok {
			out = append(out, arg)
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
			line = strings.TrimSuffix(line, "\r")
			out = append(out, strings.NewReplacer(`\\`, `\`, `\n`, "\n").Replace(line))
		}
	}
	return out, nil
}
