package qemu

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A terminal as a person has it: tmux keeps it, types into it and says what it shows.

// A screen is a terminal in which a command runs.
type screen struct {
	t      *testing.T
	tmux   string
	socket string
	output log // what the terminal gets, which tmux has shown before it passes it on
}

// inTmux runs a command in a terminal of 80 columns; its last line there says its status.
func inTmux(t *testing.T, words ...string) *screen {
	t.Helper()
	s := &screen{t: t, tmux: need(t, "tmux"), socket: filepath.Join(plainFolder(t), "s")}
	for i, w := range words {
		words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	conf := filepath.Join(t.TempDir(), "tmux.conf")
	if err := os.WriteFile(conf, []byte("set -g history-limit 20000\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	// The command starts when there is somebody to read what it says.
	fifo := filepath.Join(t.TempDir(), "output")
	if err := syscall.Mkfifo(fifo, 0o666); err != nil {
		t.Fatal(err)
	}
	s.run("-f", conf, "new-session", "-d", "-x", "80", "-y", "50", "sh", "-c", "read go; "+strings.Join(words, " ")+"; echo STATUS $?; read end")
	s.run("pipe-pane", "-O", "cat >'"+fifo+"'")
	pipe, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	go func() { io.Copy(&s.output, pipe); s.output.End() }()
	s.key("Enter")
	t.Cleanup(func() {
		pipe.Close()
		if t.Failed() {
			t.Logf("the terminal:\n%s", s.text())
		}
		exec.Command(s.tmux, "-S", s.socket, "kill-server").Run()
	})
	return s
}

func (s *screen) run(args ...string) string {
	s.t.Helper()
	out, err := exec.Command(s.tmux, append([]string{"-S", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// text is all that the terminal has shown; lines that it has wrapped are joined.
func (s *screen) text() string {
	return strings.TrimRight(s.run("capture-pane", "-p", "-J", "-S", "-"), "\n ")
}

// key presses keys by tmux's names.
func (s *screen) key(keys ...string) { s.run(append([]string{"send-keys"}, keys...)...) }

// typed types text and presses Enter.
func (s *screen) typed(text string) {
	s.run("send-keys", "-l", text)
	s.key("Enter")
}

// until waits until the terminal shows what the expression matches, n times or more.
func (s *screen) until(what string, n int) string {
	s.t.Helper()
	re := regexp.MustCompile(what)
	text := ""
	s.output.Until(s.t, func(string) bool {
		text = s.text()
		found := len(re.FindAllString(text, -1)) >= n
		if !found && strings.Contains(text, "\nSTATUS ") {
			s.t.Fatalf("the command has ended; want %q, %d times", what, n)
		}
		return found
	}, "%q, %d times", what, n)
	return text
}

const monitorPrompt = `(?m)^monitor>`

// ask types a command at the prompt and returns the answer.
func (s *screen) ask(command string) string {
	s.t.Helper()
	n := strings.Count(s.text(), "\nmonitor>")
	s.typed(command)
	// What has been typed is not the prompt behind the answer.
	text := s.until(monitorPrompt+`$`, 1)
	if strings.Count(text, "\nmonitor>") <= n {
		text = s.until(monitorPrompt, n+1)
	}
	all := strings.Split(text, "\nmonitor>")
	_, answer, _ := strings.Cut(all[n], "\n")
	return answer
}

// TestEditedLine: a typed line is corrected, at a program over the edge of a row, and at the
// monitor's prompt with the arrow keys.
func TestEditedLine(t *testing.T) {
	t.Parallel()
	s := inTmux(t, zfCommand(t), "run", "-smp", "1", "-timeout", "10m", "-append", "report=off", program(t, "streams"), "--", "keys")
	s.until(`(?m)^ready$`, 1)
	s.run("send-keys", "-l", strings.Repeat("a", 75)+strings.Repeat("b", 100))
	s.key(slices.Repeat([]string{"BSpace"}, 105)...)
	s.typed("cd")
	s.until(`read "a+cd\\n"`, 1)
	// Row by row: for tmux, the one that was wrapped goes on for good.
	line := strings.Repeat("a", 70) + "cd"
	if rows, want := s.run("capture-pane", "-p"), "\nready\n"+line+"\nread \""+line; !strings.Contains(rows, want) {
		t.Errorf("the terminal does not show %q:\n%s", want, rows)
	}
	s.key("C-]")
	s.until(monitorPrompt, 1)
	s.run("send-keys", "-l", "lpx")
	s.key("Left", "DC", "Home", "h", "f", "BSpace", "e", "End")
	if a := s.ask(" bt"); !strings.Contains(s.text(), "\nmonitor> help bt\n") || !strings.HasPrefix(a, "bt ") {
		t.Errorf("the answer to a command that was corrected is\n%s", a)
	}
}
