package qemu

// The editor's configuration in doc/debugger.md, done as the editor does it: the task in a shell,
// and gdb by its machine interface.

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const editedProgram = `package main

import "fmt"

func worker(n int, results chan<- int) {
	square := n * n
	results <- square
}

func main() {
	results := make(chan int)
	go worker(7, results)
	fmt.Println("square", <-results)
}
`

func TestEditor(t *testing.T) {
	t.Parallel()
	need(t, "gdb")
	chapter, err := os.ReadFile("../doc/debugger.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	address := freePort(t, "tcp4")
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(chapter), -1)
	if len(blocks) != 3 {
		t.Fatalf("the chapter has %d blocks of JSON; want Delve's launch.json, tasks.json and launch.json", len(blocks))
	}
	blocks = blocks[1:]
	var tasks struct {
		Tasks []struct {
			Label, Command string
			ProblemMatcher struct {
				Background struct{ BeginsPattern, EndsPattern string }
			}
		}
	}
	var launch struct {
		Configurations []struct {
			PreLaunchTask, Program, MiDebuggerPath, MiDebuggerServerAddress string
			SetupCommands                                                   []struct{ Text string }
		}
	}
	for i, to := range []any{&tasks, &launch} {
		text := strings.ReplaceAll(strings.ReplaceAll(blocks[i][1], "${workspaceFolder}", dir), "127.0.0.1:1234", address)
		if err := json.Unmarshal([]byte(text), to); err != nil {
			t.Fatalf("block %d: %v", i, err)
		}
	}
	task, debug := tasks.Tasks[0], launch.Configurations[0]
	if task.Label != debug.PreLaunchTask {
		t.Errorf("the launch waits for the task %q, and there is %q", debug.PreLaunchTask, task.Label)
	}
	for name, text := range map[string]string{"main.go": editedProgram, "go.mod": "module example.com/edited\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	shell := exec.Command("/bin/sh", "-c", task.Command)
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PATH="+filepath.Dir(zfCommand(t))+":"+os.Getenv("PATH"))
	said := new(log)
	shell.Stdout, shell.Stderr = said, said
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shell.Process.Kill() })
	for _, p := range []string{task.ProblemMatcher.Background.BeginsPattern, task.ProblemMatcher.Background.EndsPattern} {
		said.For(t, strings.TrimPrefix(p, "^"))
	}

	gdb := exec.Command(debug.MiDebuggerPath, "--interpreter=mi2", "-nx", "-q")
	gdb.Dir, gdb.Env = dir, append(os.Environ(), "DEBUGINFOD_URLS=")
	in, err := gdb.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers := new(log)
	gdb.Stdout, gdb.Stderr = answers, answers
	if err := gdb.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gdb.Process.Kill() })
	var commands []string
	for _, c := range debug.SetupCommands {
		commands = append(commands, c.Text)
	}
	commands = append(commands, "-file-exec-and-symbols "+debug.Program, "-target-select remote "+debug.MiDebuggerServerAddress,
		"-break-insert "+dir+"/main.go:6")
	for _, c := range commands {
		io.WriteString(in, c+"\n")
	}
	answers.For(t, `func="main.worker"`)
	io.WriteString(in, "-exec-continue\n")
	answers.For(t, `reason="breakpoint-hit"`)
	io.WriteString(in, "-stack-list-variables --simple-values\n-stack-list-frames\n-interpreter-exec console zf-goroutines\n")
	answers.For(t, `{name="n",arg="1",type="int",value="7"}`)
	answers.For(t, `func="runtime.goexit"`)
	answers.For(t, `started as main.main`)
	io.WriteString(in, "-exec-next\n-exec-continue\n")
	said.For(t, "square 49\n")
	said.For(t, "zf gdb: the program exited with status 0\n")
	if err := shell.Wait(); err != nil {
		t.Errorf("the task: %v", err)
	}
	io.WriteString(in, "-gdb-exit\n")
	gdb.Wait()
	if _, err := os.Stat(debug.Program); err != nil {
		t.Error(err)
	}
}
