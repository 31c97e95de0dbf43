package qemu

// The programs of Delve's own tests, under Delve on Linux and under Delve on a machine: what it
// says after each step has to be the same. testdata/fixtures/sessions.txt has the steps.

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-delve/delve/service/api"

	"github.com/zeroframe/zeroframe/tools/machine/image"
)

// A walk is a line of the table.
type walk struct {
	fixture string
	flags   string // for the compiler
	steps   []string
	differs string // why it is not as on Linux; "": it is
}

// sessions reads the table: those of `make test`, and the others.
func sessions(t *testing.T) (few, more []walk) {
	t.Helper()
	all := &few
	for line := range strings.Lines(string(readFile(t, "testdata/fixtures/sessions.txt"))) {
		line, why, _ := strings.Cut(strings.TrimSpace(line), "  # ")
		switch {
		case line == "" || line[0] == '#':
			continue
		case line == "---":
			all = &more
			continue
		}
		name, steps, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("%q has no steps", line)
		}
		s := walk{fixture: name, flags: "all=-N -l", differs: why}
		if name, flags, ok := strings.Cut(name, " "); ok {
			s.fixture, s.flags = name, flags
		}
		for step := range strings.SplitSeq(steps, "; ") {
			n := 1
			if i := strings.LastIndexByte(step, '*'); i > 0 {
				if times, err := strconv.Atoi(step[i+1:]); err == nil {
					step, n = step[:i], times
				}
			}
			s.steps = append(s.steps, slices.Repeat([]string{step}, n)...)
		}
		*all = append(*all, s)
	}
	return few, more
}

var fixtureEach = flag.Bool("fixtures.each", false, "take each of Delve's programs to TestDelveFixtures/more, not every twelfth one")

// TestDelveFixtures: Delve's own programs stop, step and show their variables on a machine as they do
// on Linux.
func TestDelveFixtures(t *testing.T) {
	t.Parallel()
	module := delveModule(t)
	few, more := sessions(t)
	countSessions(t, slices.Concat(few, more))
	for name, all := range map[string][]walk{"few": few, "more": more} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			programs := map[string][]walk{}
			for _, s := range all {
				programs[s.fixture+" "+s.flags] = append(programs[s.fixture+" "+s.flags], s)
			}
			for i, key := range slices.Sorted(maps.Keys(programs)) {
				if name == "more" && i%12 != 0 && !*fixtureEach {
					continue
				}
				t.Run(key, func(t *testing.T) {
					t.Parallel()
					compareSessions(t, module, programs[key])
				})
			}
		})
	}
}

// countSessions holds the figures of the chapter against the table.
func countSessions(t *testing.T, all []walk) {
	t.Helper()
	programs, differ := map[string]bool{}, 0
	for _, s := range all {
		if programs[s.fixture] = true; s.differs != "" {
			differ++
		}
	}
	want := fmt.Sprintf("%d sessions with %d programs, of which %d differ.", len(all), len(programs), differ)
	if text := strings.Join(strings.Fields(string(readFile(t, "../doc/debugger.md"))), " "); !strings.Contains(text, want) {
		t.Errorf("doc/debugger.md does not say: %s", want)
	}
}

// compareSessions holds the sessions of one program against Linux's.
func compareSessions(t *testing.T, module string, all []walk) {
	folder := fixtureSource(t, module, all[0].fixture)
	elf := built(t, image.BuildOptions{Package: ".", Dir: folder, Env: testEnv(), GCFlags: all[0].flags})
	process := filepath.Join(folder, "process")
	c := exec.Command("go", "build", "-gcflags", all[0].flags, "-o", process, ".")
	c.Dir, c.Env = folder, testEnv()
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, s := range all {
		linux := exec.CommandContext(t.Context(), delve(t), "exec", "--wd", "/", process)
		machine := exec.CommandContext(t.Context(), zfCommand(t), "dlv", elf)
		want, have := s.run(t, linux), s.run(t, machine)
		for i, step := range s.steps {
			if have[i] == want[i] {
				if i == len(s.steps)-1 {
					t.Logf("as on Linux: %s: %s", s.fixture, strings.Join(s.steps, "; "))
				}
				continue
			}
			report := t.Errorf
			if s.differs != "" {
				report = t.Logf
			}
			lines := func(text, other string) (own []string) {
				for line := range strings.Lines(text) {
					if !strings.Contains(other+"\n", line) {
						own = append(own, line)
					}
				}
				return own
			}
			report("%s: step %d, %s: %.2000q; on Linux: %.2000q; before: %.200q%s", strings.Join(s.steps, "; "), i, step,
				lines(have[i], want[i]), lines(want[i], have[i]), have[max(0, i-1)], s.differs)
			break
		}
	}
}

// fixtureSource makes a module of a program of Delve's tests, and returns its folder.
func fixtureSource(t *testing.T, module, name string) string {
	t.Helper()
	dir := t.TempDir()
	internal := filepath.Join("_fixtures", "internal")
	if err := os.CopyFS(filepath.Join(dir, internal), os.DirFS(filepath.Join(module, internal))); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "_fixtures", name)
	if fi, err := os.Stat(filepath.Join(module, "_fixtures", name)); err == nil && fi.IsDir() {
		if err := os.CopyFS(folder, os.DirFS(filepath.Join(module, "_fixtures", name))); err != nil {
			t.Fatal(err)
		}
	} else {
		writeFile(t, filepath.Join(folder, name+".go"), readFile(t, filepath.Join(module, "_fixtures", name+".go")))
	}
	writeFile(t, filepath.Join(dir, "go.mod"), []byte("module github.com/go-delve/delve\n\ngo 1.26\n"))
	return folder
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

var listening = regexp.MustCompile(`listening at: (\S+)`)

// run runs the walk under a Delve, and returns what each step has shown.
func (s *walk) run(t *testing.T, c *exec.Cmd) []string {
	t.Helper()
	c.Env = append(os.Environ(), "GOMAXPROCS=1", "ZF_DLV="+delve(t), "HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	listen := []string{"--headless", "--listen=127.0.0.1:0"}
	if filepath.Base(c.Path) == "zf" {
		listen = []string{"-listen=127.0.0.1:0"}
	}
	c.Args = slices.Insert(c.Args, 2, listen...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	address := ""
	for address == "" {
		line, err := lines.ReadString('\n')
		if m := listening.FindStringSubmatch(line); m != nil {
			address = m[1]
		} else if err != nil {
			t.Fatalf("Delve does not listen: %v\n%s", err, &said)
		}
	}
	go lines.WriteTo(&said)
	client, err := jsonrpc.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	d := debugged{client, s.fixture}
	var shown []string
	for _, step := range s.steps {
		shown = append(shown, d.do(step))
	}
	d.ask("Detach", map[string]bool{"Kill": true})
	c.Wait()
	return shown
}

// debugged is a program under Delve.
type debugged struct {
	client  *rpc.Client
	fixture string
}

// reply has what Delve's answers have, of which each has a part.
type reply struct {
	State           *api.DebuggerState
	Breakpoint      *api.Breakpoint
	Breakpoints     []*api.Breakpoint
	Variable        *api.Variable
	Variables, Args []api.Variable
	Locations       []api.Stackframe
	Goroutines      []*api.Goroutine
}

// ask calls a method of Delve's.
func (d *debugged) ask(method string, args any) (r reply, err error) {
	return r, d.client.Call("RPCServer."+method, args, &r)
}

var loads = api.LoadConfig{FollowPointers: true, MaxVariableRecurse: 2, MaxStringLen: 64, MaxArrayValues: 16, MaxStructFields: -1}

// motions are Delve's names of what lets the program run.
var motions = map[string]string{"c": api.Continue, "n": api.Next, "s": api.Step, "so": api.StepOut, "si": api.StepInstruction}

// do does a step, and says what Delve shows then.
func (d *debugged) do(step string) string {
	name, rest, _ := strings.Cut(step, " ")
	type scope struct {
		Scope         api.EvalScope
		Cfg           *api.LoadConfig
		Expr          string
		Symbol, Value string
	}
	here := scope{Scope: api.EvalScope{GoroutineID: -1}, Cfg: &loads, Expr: rest}
	var r reply
	var err error
	var said string
	switch name {
	case "b": // PLACE [if CONDITION]
		place, cond, _ := strings.Cut(rest, " if ")
		if _, err := strconv.Atoi(place); err == nil {
			place = d.fixture + ".go:" + place
		}
		r, err = d.ask("CreateBreakpoint", struct {
			Breakpoint api.Breakpoint
			LocExpr    string
		}{api.Breakpoint{Cond: cond}, place})
		if b := r.Breakpoint; b != nil {
			said = fmt.Sprintf("breakpoint at %s:%d %s", filepath.Base(b.File), b.Line, b.FunctionName)
		}
	case "w":
		_, err = d.ask("CreateWatchpoint", struct {
			Scope api.EvalScope
			Expr  string
			Type  api.WatchType
		}{here.Scope, rest, api.WatchWrite})
	case "clear":
		r, err = d.ask("ListBreakpoints", struct{}{})
		for _, b := range r.Breakpoints {
			if b.ID > 0 {
				d.ask("ClearBreakpoint", map[string]int{"Id": b.ID})
			}
		}
	case "locals":
		r, err = d.ask("ListLocalVars", here)
		said = variables(r.Variables)
	case "args":
		r, err = d.ask("ListFunctionArgs", here)
		said = variables(r.Args)
	case "p":
		if r, err = d.ask("Eval", here); err == nil {
			said = variables([]api.Variable{*r.Variable})
		}
	case "set":
		here.Symbol, here.Value, _ = strings.Cut(rest, " = ")
		_, err = d.ask("Set", here)
	case "bt":
		r, err = d.ask("Stacktrace", map[string]int{"Id": -1, "Depth": 50})
		said = stack(r.Locations)
	case "gs":
		r, err = d.ask("ListGoroutines", struct{}{})
		said = ownGoroutines(r.Goroutines)
	default:
		r, err = d.ask("Command", api.DebuggerCommand{Name: motions[name], ReturnInfoLoadConfig: &loads})
		said = stopped(r.State)
	}
	if err != nil {
		return anyway.ReplaceAllString(err.Error(), "ANY")
	}
	return said
}

// anyway is what no two builds or runs have in common: addresses, which Delve writes as decimal
// numbers, too, types by their places in the file, and why something cannot be read.
var anyway = regexp.MustCompile(`0x[0-9a-f]+|\b\d{7,}\b|Str: \d+, PtrToThis: \d+|\(unreadable [^)]*\)|Process \d+`)

// stopped is where a program stands after a step.
func stopped(s *api.DebuggerState) string {
	switch {
	case s == nil || !s.Exited && s.CurrentThread == nil:
		return "nowhere"
	case s.Exited:
		return fmt.Sprintf("exited with %d", s.ExitStatus)
	}
	th := s.CurrentThread
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d %s", filepath.Base(th.File), th.Line, th.Function.Name())
	if p := th.Breakpoint; p != nil {
		fmt.Fprintf(&b, " at %s, hit %d times", p.Name, p.TotalHitCount)
	}
	for _, v := range th.ReturnValues {
		fmt.Fprintf(&b, "; %s = %s", v.Name, text(v))
	}
	return b.String()
}

func text(v api.Variable) string { return anyway.ReplaceAllString(v.SinglelineString(), "ANY") }

func variables(all []api.Variable) string {
	var b strings.Builder
	for _, v := range all {
		value := text(v)
		if strings.HasPrefix(v.Name, "~r") {
			value = "ANY" // a result without a name is whatever the stack has, until the function returns
		}
		fmt.Fprintf(&b, "  %s %s = %s\n", v.Name, v.Type, value)
	}
	return b.String()
}

func stack(frames []api.Stackframe) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "  %s:%d %s\n", filepath.Base(f.File), f.Line, f.Function.Name())
	}
	return b.String()
}

// ownGoroutines are those that the program's own code has started, and where they are in it.
func ownGoroutines(all []*api.Goroutine) string {
	var own []string
	for _, g := range all {
		if strings.HasPrefix(g.GoStatementLoc.Function.Name(), "main.") || g.ID == 1 {
			own = append(own, fmt.Sprintf("  %s:%d %s", filepath.Base(g.UserCurrentLoc.File), g.UserCurrentLoc.Line,
				g.StartLoc.Function.Name()))
		}
	}
	slices.Sort(own)
	return fmt.Sprintf("%d goroutines:\n%s", len(own), strings.Join(own, "\n"))
}
