package main

// Each command is a function of its arguments and three streams that returns an
// exit status. So a test runs a command as a user does, and no command ends the
// process by itself, which would leave a terminal raw or a machine running.

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// The exit statuses that all commands share. What `zf run` returns above 64 is
// the program's own status.
const (
	exitOK      = 0
	exitTrace   = 1 // the program ended in a trace
	exitUsage   = 2 // wrong usage, or the image cannot be built or resolved
	exitMachine = 3 // the machine failed
	exitProgram = 64
)

// command is one row of the dispatch table.
type command struct {
	name  string
	args  string // synopsis, without the name
	short string // what it does, one line of at most 50 columns
	run   func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
}

// commands is the dispatch table, in the order of a user's work.
func commands() []command {
	return []command{
		{"build", "[-o FILE] PKG", "build a main package into a bootable image", runBuild},
		{"run", "[flags] PKG|ELF [-- ARGS]", "boot it in QEMU, with traces resolved live", runRun},
		{"symbolize", "-e ELF [-json] [FILE|DEVICE|-]", "resolve the traces in a log or a stream", runSymbolize},
		{"addr", "-e ELF [-afiCps] [ADDR...]", "say where addresses are, as addr2line does", runAddr},
		{"version", "", "print the version", runVersion},
	}
}

func main() {
	os.Exit(dispatch(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// dispatch runs the command that args name.
func dispatch(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	switch name := args[0]; name {
	case "-h", "-help", "--help":
		usage(stdout)
		return exitOK
	case "-version", "--version":
		return runVersion(nil, stdin, stdout, stderr)
	case "help":
		return runHelp(args[1:], stdin, stdout, stderr)
	default:
		if c := find(name); c != nil {
			return c.run(args[1:], stdin, stdout, stderr)
		}
		fmt.Fprintf(stderr, "zf: unknown command %q; `zf -h` lists them\n", name)
		return exitUsage
	}
}

func find(name string) *command {
	for _, c := range commands() {
		if c.name == name {
			return &c
		}
	}
	return nil
}

// usage prints what there is.
func usage(w io.Writer) {
	fmt.Fprint(w, "Zf builds, boots and debugs bare-metal Go programs.\n\nUsage:\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  zf %-9s %s\n      %s\n", c.name, c.args, c.short)
	}
	fmt.Fprint(w, `
`+"`zf help COMMAND`"+` says more.

Exit status: 0 success, or the program exited 0; 1 it ended in a trace; 2 wrong
usage or a failed build; 3 the machine failed; otherwise the program's own + 64.
`)
}

// runHelp runs `zf help [COMMAND]`: the command's own -h, as asked for.
func runHelp(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stdout)
		return exitOK
	}
	c := find(args[0])
	if c == nil {
		fmt.Fprintf(stderr, "zf help: unknown command %q; `zf -h` lists them\n", args[0])
		return exitUsage
	}
	c.run([]string{"-h"}, stdin, stdout, stdout)
	return exitOK
}

// runVersion runs `zf version`.
func runVersion(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := newFlags("version", "", "Version prints the version of zf and of the Go that built it.", stderr)
	if code, ok := parse(fs, args); !ok {
		return code
	}
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Fprintf(stdout, "zf %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

// newFlags returns a flag set whose -h prints the synopsis, a text and the flags.
func newFlags(name, args, text string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("zf "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprintf(stderr, "Usage: zf %s %s\n\n%s\n", name, args, text)
		flags := false
		fs.VisitAll(func(*flag.Flag) { flags = true })
		if flags {
			fmt.Fprint(stderr, "\nFlags:\n\n")
			fs.PrintDefaults()
		}
	}
	return fs
}

// parse parses args. If there is nothing more to do, ok is false and code is the
// exit status.
func parse(fs *flag.FlagSet, args []string) (code int, ok bool) {
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return exitOK, false
	case err != nil:
		return exitUsage, false
	}
	return exitOK, true
}
