package gotest

// Fuzzing has two halves, which Go's engine (internal/fuzz) keeps in processes of their own: a
// coordinator, which keeps the corpus, minimizes and reports, and workers, which mutate an input
// and run the fuzz target with it until that covers new code or fails. The kernel has one process.
// So the coordinator is the package's test binary on this host, as go test has it, and a worker
// is its test binary on a machine.
//
// The coordinator starts its own os.Args[0] as a worker. That is the program that this package
// is a part of: RunWorker is all that such a process does. It says who it is on a socket, and
// stays until it is told how the machine has ended. Its descriptors 3, 4 and 5, of calls,
// answers and memory, are used by Coordinator.Run meanwhile.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	workerFlag = "-test.fuzzworker"
	workerEnv  = "ZEROFRAME_FUZZ" // path of the socket
	workerFile = 3                // its first descriptor that is the engine's
)

// MachineFailed is a status of a machine that has failed, and not what it tested.
const MachineFailed = -1

// stopWait is how long a coordinator that has been interrupted may write its corpus.
const stopWait = 10 * time.Second

// RunWorker must be called first thing in main by every program that calls [Coordinator.Run]. In
// a process that a coordinator has started as its worker, it does not return.
func RunWorker() {
	if len(os.Args) < 2 || os.Args[1] != workerFlag || os.Getenv(workerEnv) == "" {
		return
	}
	status := MachineFailed
	if c, err := net.Dial("unix", os.Getenv(workerEnv)); err == nil {
		fmt.Fprintln(c, os.Getpid())
		if _, err := fmt.Fscanln(c, &status); err != nil {
			status = MachineFailed
		}
	}
	if status == MachineFailed {
		// The engine takes this for nothing that an input has done.
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
	}
	os.Exit(status)
}

// Coordinator is a fuzzing coordinator on this host, which must be Linux.
type Coordinator struct {
	Program string   // the package's test binary
	Dir     string   // its folder
	Args    []string // arguments
	Tmp     string   // a folder for the socket
	Out     io.Writer

	// Machine boots a machine on which the test binary runs with args, and returns its windows,
	// whose RAM is closed when they are of no use any more. When it has ended, or ctx has, its status as of a process is sent: [MachineFailed] if it
	// has none.
	Machine func(ctx context.Context, args []string) (w *Windows, ended <-chan int, err error)
	// Log receives what goes wrong between the coordinator and a machine.
	Log func(error)
}

// Run runs the coordinator and reports whether it has found nothing. The end of ctx interrupts
// it, as ^C does: it writes what it has.
func (c *Coordinator) Run(ctx context.Context) (passed bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	socket := filepath.Join(c.Tmp, "fuzz")
	l, err := net.Listen("unix", socket)
	if err != nil {
		return false, err
	}
	working, stop := context.WithCancel(context.WithoutCancel(ctx)) // machines, until their coordinator has ended
	served := make(chan struct{})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if err := c.serve(working, conn); err != nil {
				c.Log(err)
			}
			conn.Close()
		}
	}()
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Args[0] = self
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), workerEnv+"="+socket, "PWD="+c.Dir)
	cmd.Stdout, cmd.Stderr = c.Out, c.Out
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopWait
	err = cmd.Run()
	l.Close()
	stop()
	<-served
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return false, nil
	}
	return err == nil, err
}

// serve is what one worker does: it has the calls of the coordinator answered by a machine. A
// coordinator that closes the pipe of its calls wants no more of them.
func (c *Coordinator) serve(ctx context.Context, conn net.Conn) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var pid int
	if _, err := fmt.Fscanln(conn, &pid); err != nil {
		return err
	}
	go func() { // it is killed when it is in the coordinator's way
		io.Copy(io.Discard, conn)
		stop()
	}()
	var files [3]*os.File
	for i, mode := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR} {
		file, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", pid, workerFile+i), mode, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		files[i] = file
	}
	calls, answers, memory := files[0], files[1], files[2]
	if info, err := memory.Stat(); err != nil || info.Size() != fuzzHeader+fuzzRoom {
		return fmt.Errorf("the fuzzing engine of this version of Go has another memory (%v)", err)
	}
	w, ended, err := c.Machine(ctx, append([]string{workerFlag}, c.Args...))
	if err != nil {
		return err
	}
	defer w.RAM.Close()
	running, died := context.WithCancel(ctx)
	defer died()
	status := make(chan int, 1)
	go func() {
		status <- <-ended
		died()
		calls.SetReadDeadline(time.Now()) // or it is waited for
	}()
	err = pass(running, w, calls, answers, memory)
	done := running.Err() == nil // the coordinator wants no more
	stop()
	s := <-status
	if done {
		s = 0
	}
	fmt.Fprintln(conn, s)
	if !done {
		err = nil
	}
	return err
}

// pass passes calls to a machine and its answers back, until there are no more or ctx ends.
func pass(ctx context.Context, w *Windows, calls io.Reader, answers io.Writer, memory RAM) error {
	for r := bufio.NewReader(calls); ; {
		call, err := r.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		var answer []byte
		if err == nil {
			answer, err = w.Call(ctx, memory, call)
		}
		if err == nil {
			_, err = answers.Write(answer)
		}
		if err != nil {
			return err
		}
	}
}

// FuzzArgs returns the arguments of the coordinator, of those of the test binary: what belongs
// to fuzzing and how it is shown. cache is the folder of the inputs that are found.
func (f *Flags) FuzzArgs(binary []string, cache string) []string {
	args := []string{"-test.run=^$", "-test.parallel=1", "-test.fuzzcachedir=" + cache}
	for _, name := range []string{"fuzz", "fuzztime", "fuzzminimizetime"} {
		if v, ok := f.values[name]; ok {
			args = append(args, "-test."+name+"="+v)
		}
	}
	for _, a := range binary {
		name, _, _ := strings.Cut(strings.TrimPrefix(a, "-test."), "=")
		switch {
		case !strings.HasPrefix(a, "-test."), name == "v", name == "short", name == "skip", name == "fullpath", name == "paniconexit0":
			args = append(args, a)
		}
	}
	return args
}
