package qemu

// What a program gets from who starts it: arguments, environment, working directory;
// and what it gives back: its exit status.

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// environment is what testdata/calls/environment says of itself.
type environment struct {
	Args    [][]byte
	Env     map[string]string
	Names   []string
	Dir     string
	Host    string
	Process []int
}

func readEnvironment(t *testing.T, text string) (e environment) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return e
}

// args are the arguments, the program's name first.
func (e *environment) args() (all []string) {
	for _, a := range e.Args {
		all = append(all, string(a))
	}
	return all
}

// TestArguments: behind the -- of zf run's command line stands what a shell would have
// given the program, and what the same program gets on the host.
func TestArguments(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/environment")
	many := make([]string, 300)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	for _, args := range [][]string{
		nil,
		{""},
		{"a", "", "", "b"},
		{"a b", " ", "  two  spaces  ", "tab\there", "new\nline"},
		{`"`, `""`, `"quoted"`, `half"quoted`, `'`, `it's`, `a "b c" d`},
		{`\`, `\\`, `\"`, `a\b`, `a\ b`, `trailing\`, `"\`},
		{"--", "-x", "--flag=value", "- -", "a--b", "--"},
		{"env.X=1", "panic=halt", "tty=raw", "crash=x", "a=b", `a="b c"`},
		{"ü", "日本語", "€ and ß", "\U0001f600", "\xff\xfe", "\x01\x02\x7f"},
		{"$HOME", "`id`", "*", "?", "~", "!", "#", ";", "&", "|", "(", "%s", "a,b,,c"},
		{strings.Repeat("long", 500)},
		many,
	} {
		want, err := exec.Command(elf, args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		got, stderr := booted(t, strings.NewReader(""), append([]string{elf, "--"}, args...)...)
		if got.status != 0 {
			t.Errorf("with arguments %.200q: status %d, %s", args, got.status, stderr)
			continue
		}
		host, ours := readEnvironment(t, string(want)), readEnvironment(t, got.text)
		if a := ours.args()[1:]; !slices.Equal(a, host.args()[1:]) || !slices.Equal(a, args) {
			t.Errorf("the arguments %.300q came as %.300q", args, a)
		}
		if name := ours.args()[0]; name != "environment" {
			t.Errorf("os.Args[0] = %q; want the program's name", name)
		}
	}
}

// TestVariables: options of the kernel make up the environment, beside what a login of root has.
func TestVariables(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/environment")
	dir := filepath.Join(t.TempDir(), "a folder")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		options string
		env     map[string]string
		args0   string
		dir     string
	}{
		{``, nil, "environment", "/"},
		{`env.A=1 env.B=2`, map[string]string{"A": "1", "B": "2"}, "environment", "/"},
		{`env.GREETING="hello there" env.EMPTY= env.Q="\"x\" \\"`, map[string]string{"GREETING": "hello there", "EMPTY": "", "Q": `"x" \`}, "environment", "/"},
		{`env.EQ=a=b=c env.Ü=日本 env.PATH=/bin:/usr/bin`, map[string]string{"EQ": "a=b=c", "Ü": "日本", "PATH": "/bin:/usr/bin"}, "environment", "/"},
		{`env.GOMEMLIMIT=50MiB env.GOGC=50`, map[string]string{"GOMEMLIMIT": "50MiB", "GOGC": "50"}, "environment", "/"},
		{`arg0=other cwd=/tmp env.HOME=/tmp`, map[string]string{"HOME": "/tmp"}, "other", "/tmp"},
		{`arg0="two words" cwd="/data/sub"`, nil, "two words", "/data/sub"},
		{`cwd=/nosuch`, nil, "environment", "/"},
	} {
		if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		got, stderr := booted(t, strings.NewReader(""), "-files", dir+":/data", "-append", tt.options, elf, "--", "x")
		text := got.text
		if tt.dir == "/" && strings.Contains(tt.options, "cwd=") {
			complaint := "cwd=/nosuch is ignored: there is no such directory\r\n"
			if !strings.HasPrefix(text, complaint) {
				t.Errorf("%s: the kernel says %q; want %q", tt.options, text, complaint)
			}
			text = strings.TrimPrefix(text, complaint)
		}
		if got.status != 0 {
			t.Errorf("%s: status %d, %s", tt.options, got.status, stderr)
			continue
		}
		e := readEnvironment(t, text)
		want := map[string]string{
			"HOME": "/root", "LOGNAME": "root", "USER": "root", "PWD": tt.dir,
			"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		}
		maps.Copy(want, tt.env)
		for name, value := range want {
			if v, ok := e.Env[name]; !ok || v != value {
				t.Errorf("%s: variable %s is %q, %v; want %q", tt.options, name, v, ok, value)
			}
			delete(e.Env, name)
		}
		limit := e.Env["GOMEMLIMIT"]
		delete(e.Env, "GOMEMLIMIT")
		if n, err := strconv.Atoi(limit); tt.env["GOMEMLIMIT"] == "" && (err != nil || n < 64<<20 || n > 128<<20) {
			t.Errorf("%s: GOMEMLIMIT is %q; want most of 128 MiB", tt.options, limit)
		}
		if len(e.Env) > 0 || len(e.Names) != len(slices.Compact(slices.Sorted(slices.Values(e.Names)))) {
			t.Errorf("%s: there are more variables: %q", tt.options, e.Names)
		}
		if !slices.Equal(e.args(), []string{tt.args0, "x"}) || e.Dir != tt.dir {
			t.Errorf("%s: arguments %q in %q; want %q in %q", tt.options, e.args(), e.Dir, tt.args0, tt.dir)
		}
		if e.Host != "zeroframe" || !slices.Equal(e.Process, []int{1, 0, 0, 0}) {
			t.Errorf("%s: host %q, process %v; want zeroframe, process 1 of root", tt.options, e.Host, e.Process)
		}
	}
}

// TestExitStatus: of each kind, as zf run tells it.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	elf := program(t, "calls/environment")
	for status, want := range map[int]int{0: 0, 1: 65, 2: 66, 3: 67, 42: 106, 62: 126, 63: 127, 64: 128, 125: 189, 190: 254, 256: 0, 257: 65} {
		cmd := zfRun(t, "-append", "env.STATUS="+strconv.Itoa(status), elf)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		code := exitCode(t, cmd.Run())
		if code != want {
			t.Errorf("os.Exit(%d): zf run exits with %d; want %d", status, code, want)
		}
		if says := "the program exited with status " + strconv.Itoa(want-64); want > 64 && !strings.Contains(stderr.String(), says) {
			t.Errorf("os.Exit(%d): zf run says %q; want %q", status, stderr.String(), says)
		}
	}
}
