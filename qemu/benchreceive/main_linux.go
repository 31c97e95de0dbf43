package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/receive"
)

const (
	goalRate = 200_000
	runs     = 5
	// profileEnv names the file that the measured process writes its CPU profile to.
	profileEnv = "ZF_BENCH_PROFILE"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "receive" { // the measured process
		os.Exit(profiled(func() int { return receive.Run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr) }))
	}
	out := flag.String("o", "", "write the figures to `FILE` too")
	machines := flag.Int("machines", 4000, "machines in the corpus")
	one := flag.Int("one", 0,
		"send one round at `RATE` datagrams a second, print what became of it, and end; with\n"+
			profileEnv+"=FILE in the environment, profile the receiver")
	flag.Parse()
	if err := measure(*machines, *one, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func profiled(run func() int) int {
	if path := os.Getenv(profileEnv); path != "" {
		file, err := os.Create(path)
		if err == nil {
			err = pprof.StartCPUProfile(file)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
		defer file.Close()
		defer pprof.StopCPUProfile()
	}
	return run()
}

// measure measures one round, if one is its rate, or all, whose figures go to file out too.
func measure(machines, one int, out string, args []string) error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return err
	}
	port := c.LocalAddr().(*net.UDPAddr).Port
	c.Close()
	l, err := newLoad(machines, port)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "zf-bench-receive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if one > 0 {
		f, err := l.zf(dir, port, one, args...)
		if err == nil {
			fmt.Printf("%d datagrams sent at %.0f a second, %d lost; each took %.2f us of CPU, and %.2f to send; %.0f MiB\n",
				f.sent, f.rate, f.lost, f.cpu, f.sender, f.memory)
		}
		return err
	}
	var text bytes.Buffer
	if err := l.bench(dir, port, io.MultiWriter(os.Stdout, &text)); err != nil || out == "" {
		return err
	}
	return os.WriteFile(out, text.Bytes(), 0o644)
}

// figures of one run of one receiver.
type figures struct {
	sent, lost int
	rate       float64 // datagrams a second that were sent
	cpu        float64 // us of the receiver, a datagram that it has taken
	sender     float64 // us of the sender, a datagram
	memory     float64 // of the receiver, in MiB, at most
}

func rate(f figures) float64   { return f.rate }
func cpu(f figures) float64    { return f.cpu }
func sender(f figures) float64 { return f.sender }
func memory(f figures) float64 { return f.memory }
func lost(f figures) float64   { return float64(f.lost) / float64(f.sent) }

// cases are what is measured in each run. A little more than the rate is sent, so that it is
// reached. Other receivers are measured if they are installed.
var cases = []struct {
	name string
	rate int
	args []string // of zf receive; peer: the command and where its port goes
	peer string
}{
	{name: "100k", rate: 102_000}, {name: "150k", rate: 153_000}, {name: "goal", rate: 204_000},
	{name: "250k", rate: 255_000}, {name: "fast"},
	{name: "nolines", rate: goalRate, args: []string{"-lines=never"}},
	{name: "json", rate: goalRate, args: []string{"-json"}},
	{name: "netcat", rate: goalRate, peer: "nc -u -l -k 127.0.0.1"},
	{name: "netconsd", rate: goalRate, peer: "netconsd -a 127.0.0.1 -p"},
}

func (l *load) bench(dir string, port int, w io.Writer) error {
	all := make(map[string][]figures)
	for range runs {
		for _, c := range cases {
			var f figures
			var err error
			if c.peer == "" {
				f, err = l.zf(dir, port, c.rate, c.args...)
			} else {
				args := append(strings.Fields(c.peer), strconv.Itoa(port))
				if _, missing := exec.LookPath(args[0]); missing != nil {
					continue
				}
				f, err = l.peer(port, c.rate, args)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			all[c.name] = append(all[c.name], f)
		}
	}
	figure := func(name, format string, value float64, goal string, met ...bool) {
		verdict := "-"
		if len(met) > 0 {
			verdict = map[bool]string{true: "ok", false: "short"}[met[0]]
		}
		fmt.Fprintf(w, "receive.%s\t"+format+"\t%s\t%s\n", name, value, goal, verdict)
	}
	of := func(name string, what func(figures) float64) float64 {
		var v []float64
		for _, f := range all[name] {
			v = append(v, what(f))
		}
		slices.Sort(v)
		return v[len(v)/2]
	}
	for _, c := range cases[:4] {
		sum := 0.0
		for _, f := range all[c.name] {
			sum += float64(f.lost)
		}
		if got := of(c.name, rate); c.name == "goal" {
			figure("rate", "%.0f", got, fmt.Sprintf(">=%d", goalRate), got >= goalRate)
			figure("rate.lost", "%.0f", sum, "<=0", sum == 0)
			figure("200k.cpu.us", "%.3f", of(c.name, cpu), "-")
			continue
		}
		figure(c.name+".rate", "%.0f", of(c.name, rate), "-")
		figure(c.name+".lost", "%.0f", sum, "-")
		figure(c.name+".cpu.us", "%.3f", of(c.name, cpu), "-")
	}
	figure("fast.rate", "%.0f", of("fast", rate), "-")
	figure("fast.lost", "%.4f", of("fast", lost), "-")
	figure("memory.mib", "%.0f", of("goal", memory), "-")
	figure("send.cpu.us", "%.3f", of("goal", sender), "-")
	figure("cpu.nolines.us", "%.3f", of("nolines", cpu), "-")
	figure("cpu.json.us", "%.3f", of("json", cpu), "-")
	for _, c := range cases[7:] {
		if all[c.name] == nil {
			fmt.Fprintf(w, "# %s is not installed: not measured\n", c.name)
			continue
		}
		figure(c.name+".cpu.us", "%.3f", of(c.name, cpu), "-")
		figure(c.name+".lost", "%.4f", of(c.name, lost), "-")
		figure("cpu."+c.name+".ratio", "%.2f", of("goal", cpu)/of(c.name, cpu), "-")
	}
	return nil
}

var datagramCount = regexp.MustCompile(`(\d+) datagrams?,`)

// zf measures the receiver itself: all of its work, with traces resolved and grouped, and
// everything printed to a file.
func (l *load) zf(dir string, port, rate int, args ...string) (f figures, err error) {
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	var errs bytes.Buffer
	cmd := exec.Command(self, append([]string{"receive", "-listen", fmt.Sprintf("127.0.0.1:%d", port),
		"-e", self}, args...)...)
	if cmd.Stdout, err = os.Create(filepath.Join(dir, "out")); err != nil {
		return f, err
	}
	cmd.Stderr = &errs
	if f, err = l.drive(cmd, port, rate); err != nil {
		return f, fmt.Errorf("%w\n%s", err, errs.String())
	}
	m := datagramCount.FindStringSubmatch(errs.String())
	if m == nil {
		return f, fmt.Errorf("no summary in:\n%s", errs.String())
	}
	got, _ := strconv.Atoi(m[1])
	f.lost = f.sent - got
	f.cpu /= float64(max(got, 1))
	return f, nil
}

// peer measures another receiver of datagrams. What it has not printed, it has lost.
func (l *load) peer(port, rate int, args []string) (f figures, err error) {
	cmd := exec.Command(args[0], args[1:]...)
	var got counter
	cmd.Stdout = &got
	f, err = l.drive(cmd, port, rate)
	f.lost = int(float64(l.bytes-int(got)) / float64(l.bytes) * float64(f.sent))
	f.cpu /= float64(max(f.sent-f.lost, 1))
	return f, err
}

// counter counts the bytes that are written to it.
type counter int

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// drive sends a round to a process and ends it. The CPU time is that of all it has taken.
func (l *load) drive(cmd *exec.Cmd, port, rate int) (f figures, err error) {
	if err := cmd.Start(); err != nil {
		return f, err
	}
	if err = listening(port); err == nil {
		start, used := time.Now(), ownCPU()
		f.sent, err = l.send(rate)
		f.rate = float64(f.sent) / time.Since(start).Seconds()
		f.sender = (ownCPU() - used) / float64(max(f.sent, 1))
		time.Sleep(300 * time.Millisecond)
	}
	// an interrupt is ignored by what a script has put in the background
	cmd.Process.Signal(syscall.SIGTERM)
	ended := cmd.Wait()
	p := cmd.ProcessState
	f.cpu = float64((p.UserTime() + p.SystemTime()).Microseconds())
	f.memory = float64(p.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	if !p.Exited() {
		ended = nil // by the signal
	}
	return f, cmp.Or(err, ended)
}

// ownCPU is the CPU time that this process has used, in us.
func ownCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // its arguments are right
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1000
}

// listening waits until somebody has the port.
func listening(port int) error {
	taken := regexp.MustCompile(fmt.Sprintf(`(?m)^ *\d+: [0-9A-F]+:%04X `, port))
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(
		5 * time.Millisecond) {
		four, _ := os.ReadFile("/proc/net/udp")
		six, _ := os.ReadFile("/proc/net/udp6")
		if taken.Match(four) || taken.Match(six) {
			return nil
		}
	}
	return fmt.Errorf("nobody listens on port %d", port)
}
