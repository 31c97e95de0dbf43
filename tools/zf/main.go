package main

// Each command is a function of its arguments and three streams that returns an
// exit status. So a test runs a command as a user does, and no command ends the
// process by itself, which would leave a terminal raw or a machine running.

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/gotest"
	"github.com/zeroframe/zeroframe/tools/image"
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

// kernelVersion is that of the kernel that this zf belongs to. No host package may
// import the kernel, so a test compares the two.
const kernelVersion = "0.1.0"

// command is one row of the dispatch table.
type command struct {
	name  string
	args  string // synopsis, without the name
	short string // what it does, one line of at most 50 columns
	run   func(args []string, stdin io.Reader, stdout, stderr io.Writer) int
	minor bool // the help has it in a line with others, to fit on a screen
}

// commands is the dispatch table, in the order of a user's work.
func commands() []command {
	return []command{
		{"build", "[-o FILE] PKG", "build a main package into a bootable image", runBuild, false},
		{"run", "[flags] PKG|ELF [-- ARGS]", "boot it in QEMU, with traces resolved live", runRun, false},
		{"replay", "[flags] FILE.zfr", "do a run again that zf run -record has recorded", runReplay, true},
		{"why", "[flags] FILE.zfr", "say what a recorded death came from", runWhy, true},
		{"iso", "[flags] PKG|ELF [-- ARGS]", "make an ISO image of it, for real machines", runISO, false},
		{"test", "[flags] [PKG...]", "run packages' tests in QEMU, as go test does", runTest, false},
		{"symbolize", "-e ELF [-json] [FILE|DEVICE|-]", "resolve the traces in a log or a stream", runSymbolize, false},
		{"receive", "[-listen ADDR] [-pcap FILE] [-e ELF]", "show machines' logs and traces, sent by UDP", runReceive, false},
		{"addr", "-e ELF [-afiCps] [ADDR...]", "say where addresses are, as addr2line does", runAddr, true},
		{"symbolizer", "[flags] [ADDR...]", "the same as llvm-symbolizer does, for sanitizers", runSymbolizer, true},
		{"index", "[-rebuild] [ELF...]", "make symbolize and addr answer at once", runIndex, false},
		{"profile", "[-svg FILE] [-folded FILE] FILE", "show a CPU profile: table, flame graph", runProfile, false},
		{"map", "-e ELF [-o FILE]", "write a map file, or turn another kind into one", runMap, false},
		{"stacks", "-e ELF [-v] [-f FUNC]", "bound how deep each stack can get", runStacks, false},
		{"handles", "[-e ELF] [flags] FILE", "show what a program has open, and who opened it", runHandles, true},
		{"leaks", "[-e ELF] [flags] BEFORE AFTER", "show which stacks have more open than before", runLeaks, true},
		{"report", "-e ELF [-o FILE] LOG", "make an HTML page of a log, for a bug", runReport, false},
		{"core", "-e ELF [-o FILE] LOG", "make a core file, for gdb and Delve", runCore, false},
		{"trace", "-e ELF [-o FILE] LOG|CORE", "write what a dead machine did last, for Perfetto", runTrace, true},
		{"goroutines", "-e ELF [flags] CORE|LOG", "list a dead program's goroutines", runGoroutines, true},
		{"print", "-e ELF [flags] CORE [EXPR...]", "print a dead program's variables", runPrint, true},
		{"heap", "-e ELF [flags] CORE", "say what is in a dead program's heap, and why", runHeap, true},
		{"waits", "-e ELF [flags] CORE", "say who waits for whom in a dead program", runWaits, true},
		{"dlv", "-e ELF [flags] CORE", "look at a dead program in Delve", runDlv, true},
		{"gdb", "[flags] PKG|ELF [-- ARGS]", "boot it in QEMU, stopped, with gdb on it", runGDB, false},
		{"doctor", "", "say what this machine has, and what to install", runDoctor, true},
		{"completion", "bash|zsh|fish", "print a script with which a shell completes zf", runCompletion, true},
		{"clean", "[-cache]", "remove what zf keeps between its runs", runClean, true},
		{"version", "[-m]", "print the version", runVersion, true},
	}
}

func main() {
	image.RunTool()    // if the go command started us in the compiler's place
	gotest.RunWorker() // if a fuzzing coordinator did so in a test binary's
	isCommand = true
	os.Exit(dispatch(calledAs(os.Args[0], os.Args[1:]), os.Stdin, os.Stdout, os.Stderr))
}

// dispatch runs the command that args name.
func dispatch(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	if isHelp(args[0]) {
		usage(stdout)
		return exitOK
	}
	switch name := args[0]; name {
	case "-version", "--version":
		return runVersion(nil, stdin, stdout, stderr)
	case "help":
		return runHelp(args[1:], stdin, stdout, stderr)
	default:
		if c := find(name); c != nil {
			if len(args) > 1 && isHelp(args[1]) {
				stderr = stdout // asked for, it is the output
			}
			return c.run(args[1:], stdin, stdout, stderr)
		}
		fmt.Fprintf(stderr, "zf: unknown command %q%s; `zf -h` lists them\n", name, meant(name, "", commandNames()))
		return exitUsage
	}
}

func isHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

// commandNames returns what may stand behind zf.
func commandNames() []string {
	names := []string{"help"}
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return names
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
	fmt.Fprint(w, "Usage: zf COMMAND [ARGS]: build, boot and debug bare-metal Go programs\n\n")
	var minor []string
	for i, c := range commands() {
		if !c.minor {
			fmt.Fprintf(w, "  zf %-10s %s\n", c.name, c.short)
			continue
		}
		minor = append(minor, c.name)
		if all := commands(); i+1 == len(all) || !all[i+1].minor {
			what := "this host, the shell, the cache"
			switch c.name {
			case "dlv":
				what = "a dead program, from its core"
			case "why":
				what = "a run that was recorded, and what its death came from"
			case "symbolizer":
				what = "where addresses are, as addr2line and llvm's do"
			case "leaks":
				what = "what a program has open, and who opened it"
			}
			fmt.Fprintf(w, "  zf %s: %s\n", strings.Join(minor, ", "), what)
			minor = nil
		}
	}
	fmt.Fprint(w, "  zf help       say more of a COMMAND; `zf help topics` lists the chapters\n"+`
Exit status: 0 success; 1 the program ended in a trace; 2 wrong usage or a
failed build; 3 the machine failed; otherwise the program's own + 64.
`)
}

// kernelHelp is made of the kernel's table of options, kernel/option/table.go.
//
//go:embed kernel.txt
var kernelHelp string

// runHelp runs `zf help [COMMAND|TOPIC]`: the command's own -h, as asked for, the text on the
// kernel's options, or a chapter.
func runHelp(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stdout)
		return exitOK
	}
	if args[0] == "kernel" {
		fmt.Fprint(stdout, kernelHelp)
		return exitOK
	}
	if c := find(args[0]); c != nil {
		c.run([]string{"-h"}, stdin, stdout, stdout)
		if slices.Contains(helpTopics(), args[0]) {
			fmt.Fprintf(stdout, "\nThe chapter: zf help %s.md\n", args[0])
		}
		return exitOK
	}
	if showTopic(args[0], stdout) {
		return exitOK
	}
	return failing("zf help", stderr)("unknown command or topic %q%s; `zf -h` lists commands, `zf help topics` topics", args[0], meant(args[0], "", topics()))
}

// runVersion runs `zf version`.
func runVersion(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	fs := newFlags("version", "[-m]", "Version prints the versions of zf, of its kernel and of the Go that built zf.", stderr)
	modules := fs.Bool("m", false, "print the modules that zf was built of, and how, as go version -m does")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	version := "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	fmt.Fprintf(stdout, "zf %s, kernel %s, %s %s/%s\n", version, kernelVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if info, ok := debug.ReadBuildInfo(); ok && *modules {
		for line := range strings.Lines(info.String()) {
			if _, said := strings.CutPrefix(line, "go\t"); !said {
				fmt.Fprint(stdout, "\t"+line)
			}
		}
	}
	return exitOK
}

// failing returns what says an error of a command, and returns its exit status.
func failing(command string, stderr io.Writer) func(format string, a ...any) int {
	return func(format string, a ...any) int {
		msg := fmt.Sprintf(format, a...)
		for _, v := range a {
			if err, ok := v.(error); ok {
				msg = withStep(msg, err)
			}
		}
		fmt.Fprintf(stderr, "%s: %s\n", command, msg)
		return exitUsage
	}
}

// newFlags returns a flag set whose -h prints the synopsis, a text and the flags.
func newFlags(name, args, text string, stderr io.Writer) *flag.FlagSet {
	fs := flag.NewFlagSet("zf "+name, flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		w := fs.Output()
		if c, ok := w.(*flagCollector); ok {
			fs.VisitAll(c.add)
			return
		}
		fmt.Fprintf(w, "Usage: zf %s\n\n%s\n", strings.TrimSpace(name+" "+args), text)
		flags := false
		fs.VisitAll(func(*flag.Flag) { flags = true })
		if flags {
			fmt.Fprint(w, "\nFlags:\n\n")
			gotest.PrintDefaults(fs, func(bool) bool { return true })
		}
	}
	return fs
}

// parse parses args. If there is nothing more to do, ok is false and code is the
// exit status. An error is one line and where to read on: the whole usage would
// hide it.
func parse(fs *flag.FlagSet, args []string) (code int, ok bool) {
	w := fs.Output()
	fs.SetOutput(io.Discard) // where Parse says it all
	args, err := gotest.Enter(fs, args)
	if err == nil {
		err = fs.Parse(args)
	}
	fs.SetOutput(w)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.Usage()
		return exitOK, false
	case err != nil:
		fmt.Fprintf(w, "%s: %s; `%s -h` lists the flags\n", fs.Name(), meantFlag(fs, err), fs.Name())
		return exitUsage, false
	}
	return exitOK, true
}
