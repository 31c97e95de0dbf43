package main

// The commands, and the help on them.

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// The exit statuses that all commands share. What `zf run` returns from 64 on is 64 more than the
// program's own status.
const (
	exitOK      = 0
	exitTrace   = 1 // the program ended in a trace
	exitUsage   = 2 // wrong usage, or the image cannot be built or resolved
	exitMachine = 3 // the machine failed
	exitProgram = 64
	// exitSignal and a signal's number are what a shell says of a process that the signal has ended.
	exitSignal    = 128
	exitInterrupt = exitSignal + int(syscall.SIGINT)
	exitMost      = 255 // of the program's own status 191 and all above
)

// kernelVersion is that of the kernel that this zf belongs to. No host package may
// import the kernel, so a test compares the two.
const kernelVersion = "0.2.0"

// command is one row of the dispatch table.
type command struct {
	name  string
	args  string // synopsis, without the name
	short string // what it does, one line of at most 50 columns
	text  string // the help, without the flags
	run   func(*call) error
	group string // the help has it in a line with others that are about this; "": in one of its own
}

// What commands that share a line of the help are about.
const (
	ofRecordings = "a run that was recorded, and what its death came from"
	ofAddresses  = "where addresses are, as addr2line and llvm's do"
	ofHandles    = "what a program has open, and who opened it"
	ofCores      = "a dead program, from its core"
	ofHost       = "this host, the shell"
)

// commands is the dispatch table, in the order of a user's work. What it has no function for is of
// the debugger's half.
func commands() []command {
	all := []command{
		{"build", "[flags] PKG", "build a main package into a bootable image", buildText, runBuild, ""},
		{"run", "[flags] PKG|ELF [-- ARGS]", "boot it in QEMU, with traces resolved live",
			runText, runRun, ""},
		{"last", "[-report]", "show the whole trace of the latest death", lastText, runLast, ""},
		{"replay", "[flags] FILE.zfr", "do a run again that zf run -record has recorded", "", nil, ofRecordings},
		{"why", "[flags] FILE.zfr", "say what a recorded death came from", "", nil, ofRecordings},
		{"iso", "[flags] PKG|ELF [-- ARGS]", "make an ISO image of it, for real machines",
			isoText, runISO, ""},
		{"test", "[flags] [PKG...] [flags] [-args ARGS]", "run packages' tests in QEMU, as go test does",
			testText, runTest, ""},
		{"symbolize", "-e ELF [flags] [INPUT]", "resolve the traces in a log or a stream", symbolizeText,
			runSymbolize, ""},
		{"receive", "", "show machines' logs and traces, sent by UDP", "", runReceive, ""},
		{"addr", "", "say where addresses are, as addr2line does", addrUsage, runAddr, ofAddresses},
		{"symbolizer", "", "the same as llvm-symbolizer does, for sanitizers", symbolizerUsage,
			runSymbolizer, ofAddresses},
		{"profile", "[flags] FILE", "show a CPU profile: table, flame graph", "", nil, ""},
		{"map", "-e ELF|-map FILE [-o FILE]", "write a map file, or turn another kind into one",
			mapText, runMap, ""},
		{"stacks", "-e ELF [flags]", "bound how deep each stack can get", stacksText, runStacks, ""},
		{"handles", "[-e ELF] [flags] FILE", "show what a program has open, and who opened it", "", nil, ofHandles},
		{"leaks", "[-e ELF] [flags] BEFORE AFTER", "show which stacks have more open than before", "", nil, ofHandles},
		{"report", "-e ELF [flags] LOG", "make an HTML page of a log, for a bug", "", nil, ""},
		{"core", "-e ELF [flags] LOG|-qmp SOCKET|-dump FILE|-gdb HOST:PORT", "make a core file, for gdb and Delve", "", nil, ""},
		{"trace", "[-e ELF] [-o FILE] [flags] LOG|CORE", "write what a dead machine did last, for Perfetto", "", nil, ofCores},
		{"goroutines", "[-e ELF] [flags] CORE|LOG", "list a dead program's goroutines", "", nil, ofCores},
		{"print", "[-e ELF] [flags] CORE [EXPR...]", "print a dead program's variables, or ask for more", "", nil, ofCores},
		{"heap", "[-e ELF] [flags] CORE", "say what is in a dead program's heap, and why", "", nil, ofCores},
		{"waits", "[-e ELF] [flags] CORE", "say who waits for whom in a dead program", "", nil, ofCores},
		{"dlv", "[flags] PKG|ELF [-- ARGS] | [-e ELF] CORE | FILE.zfr", "boot a program in Delve, or look at a dead one", "", nil, ofCores},
		{"gdb", "[flags] PKG|ELF [-- ARGS]", "boot it in QEMU, stopped, with gdb on it", "", nil, ""},
		{"doctor", "", "say what this machine has, and what to install", doctorText, runDoctor, ofHost},
		{"completion", "bash|zsh|fish", "print a script with which a shell completes zf", "", nil, ofHost},
		{"version", "", "print the version",
			"Version prints the versions of zf, of its kernel and of the Go that built zf.",
			runVersion, ofHost},
	}
	for i := range all {
		if c := &all[i]; c.run == nil {
			c.text, c.run = debugger(c.name)
		}
	}
	return all
}

func main() {
	image.RunTool() // if the go command started us in the compiler's place
	answerQuestion(os.Args[1:])
	os.Exit(dispatch(calledAs(os.Args[0], os.Args[1:]), os.Stdin, os.Stdout, os.Stderr))
}

// dispatch runs the command that args name, and returns the exit status.
func dispatch(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return dispatchIn(context.Background(), args, stdin, stdout, stderr)
}

// dispatchIn is dispatch for a command that ends with ctx.
func dispatchIn(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) == 0 {
		usage(stderr)
		return exitUsage
	}
	name, rest := args[0], args[1:]
	switch {
	case isHelp(name):
		name, rest = "help", nil
	case name == "-version" || name == "--version":
		name = "version"
	}
	c := find(name)
	if name == "help" {
		c = &command{name: name, run: runHelp}
	}
	if c == nil {
		fmt.Fprintf(stderr, "zf: unknown command %q%s; `zf -h` lists them\n", name,
			meant(name, "", commandNames()))
		return exitUsage
	}
	return newCall(ctx, c, rest, stdin, stdout, stderr).do()
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
	var names []string // of one group
	for i, all := 0, commands(); i < len(all); i++ {
		c := &all[i]
		if c.group == "" {
			fmt.Fprintf(w, "  zf %-10s %s\n", c.name, c.short)
			continue
		}
		names = append(names, c.name)
		if i+1 == len(all) || all[i+1].group != c.group {
			fmt.Fprintf(w, "  zf %s: %s\n", strings.Join(names, ", "), c.group)
			names = nil
		}
	}
	fmt.Fprint(w, "  zf help       say more of a COMMAND; `zf help topics` lists the chapters\n"+`
Exit status: 0 success; 1 the program ended in a trace; 2 wrong usage or a
failed build; 3 the machine failed; 130 ^C; otherwise the program's own + 64.
`)
}

// kernelHelp is made of the kernel's table of options, kernel/option/table.go.
//
//go:embed kernel.txt
var kernelHelp string

// runHelp prints the help of a command, the text on the kernel's options, or a chapter.
func runHelp(c *call) error {
	if len(c.given) == 0 {
		usage(c.stdout)
		return nil
	}
	name := c.given[0]
	if name == "kernel" {
		fmt.Fprint(c.stdout, kernelHelp)
		return nil
	}
	if of := find(name); of != nil {
		newCall(c.ctx, of, []string{"-h"}, c.stdin, c.stdout, c.stdout).do()
		if slices.Contains(helpTopics(), name) {
			fmt.Fprintf(c.stdout, "\nThe chapter: zf help %s.md\n", name)
		}
		return nil
	}
	if showTopic(name, c.stdout) {
		return nil
	}
	return fmt.Errorf("unknown command or topic %q%s; `zf -h` lists commands, `zf help topics` topics",
		name, meant(name, "", topics()))
}

// runVersion prints the version.
func runVersion(c *call) error {
	if err := c.parse(nil); err != nil {
		return err
	}
	fmt.Fprintf(c.stdout, "zf %s, kernel %s, %s %s/%s\n", moduleVersion(), kernelVersion,
		runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
