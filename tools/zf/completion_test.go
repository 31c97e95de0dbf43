package main

// The scripts run in the real shells: bash and fish are asked for what they would offer, zsh is
// typed at on a terminal.

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// completions are what is typed, and what must and must not be offered.
var completions = []struct {
	typed     string
	want, not string // words
}{
	{"zf ", "build run doctor completion help", "-accel"},
	{"zf do", "doctor", "build"},
	{"zf run -ac", "-accel", "-append"},
	{"zf run -accel ", "auto tcg kvm", "-m"},
	{"zf run -net ", "virtio e1000", "tcg"},
	{"zf addr --inl", "--inlines", "--basenames"},
	{"zf symbolize -ba", "-baud", "-e"},
	{"zf test -benchm", "-benchmem", "-v"},
	{"zf run hel", "hello.go", "-accel"},
	{"zf help probe", "probes", "profile"},
	{"zf completion f", "fish", "bash"},
}

// completionScript writes a shell's script into a folder with files to complete and a zf.
func completionScript(t *testing.T, shell string) (dir, script string) {
	t.Helper()
	code, stdout, stderr := zf(nil, "completion", shell)
	if code != exitOK || stderr != "" {
		t.Fatalf("zf completion %s = %d, %s", shell, code, stderr)
	}
	dir = t.TempDir()
	script = filepath.Join(dir, "script")
	for path, text := range map[string]string{script: stdout, filepath.Join(dir, "hello.go"): ""} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, script
}

// checkOffered compares what a shell offers with what it has to.
func checkOffered(t *testing.T, shell, typed, want, not string, offered []string) {
	t.Helper()
	for _, w := range strings.Fields(want) {
		if !slices.Contains(offered, w) {
			t.Errorf("%s offers %q for %q; want %s", shell, offered, typed, w)
		}
	}
	for _, w := range strings.Fields(not) {
		if slices.Contains(offered, w) {
			t.Errorf("%s offers %s for %q", shell, w, typed)
		}
	}
}

func TestCompletionBash(t *testing.T) {
	t.Parallel()
	dir, script := completionScript(t, "bash")
	for _, tt := range completions {
		words := strings.Split(tt.typed, " ")
		cmd := exec.Command("bash", "--norc", "-c", `. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zf; printf '%s\n' "${COMPREPLY[@]}"`)
		cmd.Args = append(append(cmd.Args, script), words...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("bash: %v\n%s", err, out)
		}
		checkOffered(t, "bash", tt.typed, tt.want, tt.not, strings.Fields(string(out)))
	}
}

func TestCompletionFish(t *testing.T) {
	t.Parallel()
	dir, script := completionScript(t, "fish")
	for _, tt := range completions {
		cmd := exec.Command("fish", "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, script, tt.typed)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("fish: %v\n%s", err, out)
		}
		var offered []string
		for line := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			offered = append(offered, word)
		}
		checkOffered(t, "fish", tt.typed, tt.want, tt.not, offered)
	}
}

// TestCompletionZsh types at a zsh that lists what it offers; a unique one is put into the line.
func TestCompletionZsh(t *testing.T) {
	t.Parallel()
	dir, script := completionScript(t, "zsh")
	for _, tt := range completions {
		cmd := exec.Command("zsh", "-f", "-i")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "ZDOTDIR="+dir, "TERM=dumb", "PS1=> ")
		master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 200, Cols: 200})
		if err != nil {
			t.Fatal(err)
		}
		var out buffer
		copied := make(chan struct{})
		go func() {
			defer close(copied)
			io.Copy(&out, master)
		}()
		io.WriteString(master, "autoload -U compinit; compinit -u -D; . "+script+"; setopt AUTO_LIST NO_AUTO_MENU; zstyle :completion:\\* insert-tab false; echo RE''ADY\n")
		out.until(t, "READY")
		io.WriteString(master, tt.typed+"\t")
		// What is typed comes back, the rest of a word that zsh has put behind it too.
		for _, w := range strings.Fields(tt.want) {
			out.until(t, w)
		}
		io.WriteString(master, "\x15exit\n")
		select {
		case <-copied:
		case <-time.After(patience):
			t.Fatal("zsh goes on")
		}
		cmd.Wait()
		master.Close()
		_, answer, _ := strings.Cut(out.String(), "\nREADY")
		offered := append(strings.Fields(answer), strings.Fields(tt.want)...)
		checkOffered(t, "zsh", tt.typed, tt.want, tt.not, offered)
	}
}

// TestCompletionFlags: each command's flags are found, those of its -h.
func TestCompletionFlags(t *testing.T) {
	for _, c := range commands() {
		if slices.Contains(separate, c.name) {
			continue
		}
		_, help, _ := zf(nil, c.name, "-h")
		flags := flagsOf(&c)
		for _, m := range helpFlags.FindAllStringSubmatch(help, -1) {
			if !slices.ContainsFunc(flags, func(f flagWord) bool { return "-"+f.Name == m[1] }) {
				t.Errorf("zf %s: flag %s is in -h and not completed", c.name, m[1])
			}
		}
		if strings.Contains(help, "\nFlags") && len(flags) == 0 {
			t.Errorf("zf %s: no flags", c.name)
		}
	}
	if code, stdout, _ := zf(nil, "completion", "-flags", "run"); code != exitOK || !strings.Contains(stdout, "-accel\n") {
		t.Errorf("zf completion -flags run = %d, %q", code, stdout)
	}
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}, {"completion", "-flags", "nosuch"}} {
		if code, _, stderr := zf(nil, args...); code != exitUsage || !strings.Contains(stderr, ";") {
			t.Errorf("zf %q = %d, %q; want 2 and the next step", args, code, stderr)
		}
	}
}
