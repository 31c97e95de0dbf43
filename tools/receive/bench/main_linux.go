package main

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"sort"
	"strconv"
	"syscall"
	"time"

	"github.com/zeroframe/zeroframe/tools/receive"
)

const (
	goalRate = 200_000
	runs     = 5
	rounds   = 3 // of the corpus in a run: seconds, so that no buffer can hold what is not read
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "receive" { // the measured process
		os.Exit(profiled(func() int { return receive.Run(os.Args[2:], os.Stdin, os.Stdout, os.Stderr) }))
	}
	out := flag.String("o", "", "write the figures to `FILE` too")
	machines := flag.Int("machines", 4000, "machines in the corpus")
	one := flag.Int("one", 0, "send one round at `RATE` datagrams a second, print what became of it, and end; with\n"+profileEnv+"=FILE in the environment, profile the receiver")
	flag.Parse()
	if err := measure(*machines, *one, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// measure measures one round, if one is its rate, or all, whose figures go to file out too.
func measure(machines, one int, out string, args []string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
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
		f, err := l.zf(dir, port, one, args)
		if err == nil {
			fmt.Printf("%d datagrams sent at %.0f a second, %d lost; each took %.2f us of CPU, and %.2f to send; %.0f MiB\n",
				f.sent, f.rate, f.lost, f.cpu.Seconds()*1e6, f.sender.Seconds()*1e6, f.memory)
		}
		return err
	}
	var text bytes.Buffer
	err = l.bench(dir, port, func(format string, a ...any) {
		line := fmt.Sprintf(format, a...)
		fmt.Println(line)
		text.WriteString(line + "\n")
	})
	if err == nil && out != "" {
		err = os.WriteFile(out, text.Bytes(), 0o644)
	}
	return err
}

// profileEnv names the file that the measured process writes its CPU profile to.
const profileEnv = "ZF_BENCH_PROFILE"

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

// sweep are the rates that are tried, in datagrams a second.
var sweep = []int{100_000, 150_000, goalRate, 250_000}

// figures of one run of one receiver.
type figures struct {
	sent, lost int
	rate       float64       // datagrams a second that were sent
	cpu        time.Duration // of the receiver, a datagram that it has taken
	sender     time.Duration // of the sender, a datagram
	memory     float64       // of the receiver, in MiB, at most
}

func (l *load) bench(dir string, port int, print func(string, ...any)) error {
	var err error
	at := make(map[int][]figures)
	var fast, plain, plainJSON []figures
	var peers = map[string][]figures{}
	for range runs {
		measure := func(to *[]figures, rate int, args ...string) {
			if err == nil {
				var f figures
				f, err = l.zf(dir, port, rate, args)
				*to = append(*to, f)
			}
		}
		for _, rate := range sweep {
			list := at[rate]
			measure(&list, rate+rate/50) // a little more, so that it is reached
			at[rate] = list
		}
		measure(&fast, 0)
		measure(&plain, goalRate, "-lines=never")
		measure(&plainJSON, goalRate, "-json")
		if err != nil {
			return err
		}
		for name, args := range map[string][]string{
			"netcat":   {"nc", "-u", "-l", "-k", "127.0.0.1", strconv.Itoa(port)},
			"netconsd": {"netconsd", "-a", "127.0.0.1", "-p", strconv.Itoa(port)},
		} {
			if _, err := exec.LookPath(args[0]); err != nil {
				continue
			}
			f, err := l.peer(port, args)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			peers[name] = append(peers[name], f)
		}
	}
	verdict := func(ok bool) string {
		if ok {
			return "ok"
		}
		return "short"
	}
	sent := func(f figures) float64 { return f.rate }
	cpu := func(f figures) float64 { return f.cpu.Seconds() * 1e6 }
	for _, rate := range sweep {
		lost := 0
		for _, f := range at[rate] {
			lost += f.lost
		}
		name, got := fmt.Sprintf("receive.%dk", rate/1000), median(at[rate], sent)
		if rate == goalRate {
			print("receive.rate\t%.0f\t>=%d\t%s", got, goalRate, verdict(got >= goalRate))
			print("receive.rate.lost\t%d\t<=0\t%s", lost, verdict(lost == 0))
		} else {
			print("%s.rate\t%.0f\t-\t-", name, got)
			print("%s.lost\t%d\t-\t-", name, lost)
		}
		print("%s.cpu.us\t%.3f\t-\t-", name, median(at[rate], cpu))
	}
	print("receive.fast.rate\t%.0f\t-\t-", median(fast, sent))
	print("receive.fast.lost\t%.4f\t-\t-", median(fast, func(f figures) float64 { return float64(f.lost) / float64(f.sent) }))
	print("receive.memory.mib\t%.0f\t-\t-", median(at[goalRate], func(f figures) float64 { return f.memory }))
	print("receive.send.cpu.us\t%.3f\t-\t-", median(at[goalRate], func(f figures) float64 { return f.sender.Seconds() * 1e6 }))
	print("receive.cpu.nolines.us\t%.3f\t-\t-", median(plain, cpu))
	print("receive.cpu.json.us\t%.3f\t-\t-", median(plainJSON, cpu))
	for _, name := range []string{"netcat", "netconsd"} {
		if peers[name] == nil {
			print("# %s is not installed: not measured", name)
			continue
		}
		print("receive.%s.cpu.us\t%.3f\t-\t-", name, median(peers[name], cpu))
		print("receive.%s.lost\t%.4f\t-\t-", name, median(peers[name], func(f figures) float64 { return float64(f.lost) / float64(f.sent) }))
		print("receive.cpu.%s.ratio\t%.2f\t-\t-", name, median(at[goalRate], cpu)/median(peers[name], cpu))
	}
	return nil
}

func median(all []figures, of func(figures) float64) float64 {
	v := make([]float64, len(all))
	for i, f := range all {
		v[i] = of(f)
	}
	sort.Float64s(v)
	return v[len(v)/2]
}

func freePort() (int, error) {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).Port, nil
}

var datagramCount = regexp.MustCompile(`(\d+) datagrams?,`)

// zf measures the receiver itself: all of its work, with traces resolved, grouped and
// stored, and everything printed to a file.
func (l *load) zf(dir string, port, rate int, args []string) (figures, error) {
	var f figures
	self, err := os.Executable()
	if err != nil {
		return f, err
	}
	outFile, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		return f, err
	}
	defer outFile.Close()
	var errs bytes.Buffer
	cmd := exec.Command(self, append([]string{"receive", "-listen", fmt.Sprintf("127.0.0.1:%d", port), "-e", self,
		"-store", filepath.Join(dir, fmt.Sprintf("crashes-%d.db", time.Now().UnixNano()))}, args...)...)
	cmd.Stdout, cmd.Stderr = outFile, &errs
	if err := cmd.Start(); err != nil {
		return f, err
	}
	if err := l.drive(cmd, port, rate, &f); err != nil {
		return f, fmt.Errorf("%w\n%s", err, errs.String())
	}
	m := datagramCount.FindStringSubmatch(errs.String())
	if m == nil {
		return f, fmt.Errorf("no summary in:\n%s", errs.String())
	}
	got, _ := strconv.Atoi(m[1])
	f.lost = f.sent - got
	f.cpu /= time.Duration(max(got, 1))
	return f, nil
}

// drive sends a round to a process, ends it, and takes its CPU time.
func (l *load) drive(cmd *exec.Cmd, port, rate int, f *figures) error {
	if err := listening(port); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return err
	}
	start, used := time.Now(), ownCPU()
	var err error
	f.sent, err = l.send(rate)
	f.rate = float64(f.sent) / time.Since(start).Seconds()
	f.sender = (ownCPU() - used) / time.Duration(max(f.sent, 1))
	time.Sleep(300 * time.Millisecond)
	cmd.Process.Signal(syscall.SIGTERM) // an interrupt is ignored by what a script has put in the background
	werr := cmd.Wait()
	f.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	f.memory = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	if err != nil {
		return err
	}
	if werr != nil && cmd.ProcessState.Exited() {
		return werr
	}
	return nil
}

// ownCPU is the CPU time that this process has used.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // its arguments are right
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// listening waits until somebody has the port.
func listening(port int) error {
	want := fmt.Appendf(nil, ":%04X ", port)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, table := range []string{"/proc/net/udp", "/proc/net/udp6"} {
			b, err := os.ReadFile(table)
			if err != nil {
				continue
			}
			for _, line := range bytes.Split(b, []byte("\n")) {
				fields := bytes.Fields(line)
				if len(fields) > 1 && bytes.HasSuffix(append(fields[1], ' '), want) {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("nobody listens on port %d", port)
}

// peer measures another receiver of datagrams. What it has not printed, it has lost.
func (l *load) peer(port int, args []string) (figures, error) {
	var f figures
	sent := l.bytes
	var got counter
	cmd := exec.Command(args[0], args[1:]...)
	r, w, err := os.Pipe()
	if err != nil {
		return f, err
	}
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return f, err
	}
	w.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		got.from(r)
	}()
	err = l.drive(cmd, port, goalRate, &f)
	<-done
	r.Close()
	f.lost = int(float64(sent-got.n) / float64(sent) * float64(f.sent))
	f.cpu /= time.Duration(max(f.sent-f.lost, 1))
	return f, err
}

// counter counts the bytes of a stream.
type counter struct{ n int }

func (c *counter) from(r *os.File) {
	b := make([]byte, 1<<20)
	for {
		n, err := r.Read(b)
		c.n += n
		if err != nil {
			return
		}
	}
}
