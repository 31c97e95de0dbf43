package receive

import (
	"context"
	"crypto/ecdh"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/zeroframe/zeroframe/tools/buildid"
	"github.com/zeroframe/zeroframe/tools/dump"
	"github.com/zeroframe/zeroframe/tools/receive/capture"
	"github.com/zeroframe/zeroframe/tools/receive/crash"
	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tools/terminal"
)

// Exit statuses, as those of all commands of zf.
const (
	exitOK          = 0
	exitUsage       = 2
	exitInterrupted = 130 // as a shell says it of SIGINT
)

// drainTime is how long the end waits for the collector.
const drainTime = 3 * time.Second

// Run runs `zf receive` until its input ends or it is interrupted: by the first signal in
// good order, by a second interrupt at once. It is the whole process.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	// What reads the socket and what sorts the datagrams must not wait for those that
	// resolve traces, of which there are as many as CPUs: the kernel shares these out
	// more fairly than the runtime.
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		interrupts := 0
		for s := range signals {
			cancel()
			if s == os.Interrupt {
				interrupts++
			}
			if interrupts > 1 {
				os.Exit(exitInterrupted)
			}
		}
	}()
	return run(ctx, args, stdin, stdout, stderr)
}

// messages writes lines for the user, from any goroutine. What a server has answered may be
// in them, so control characters are shown.
type messages struct {
	mu sync.Mutex
	w  io.Writer
}

func (m *messages) say(s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for line := range strings.SplitSeq(s, "\n") {
		fmt.Fprintf(m.w, "zf receive: %s\n", terminal.AppendClean(nil, []byte(strings.TrimPrefix(line, "zf: "))))
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, code, ok := parseFlags(args, stdout, stderr)
	if !ok {
		return code
	}
	m := &messages{w: stderr}
	var err error
	if c.groups {
		err = c.printGroups(stdout)
	} else {
		err = c.receive(ctx, stdin, stdout, m)
	}
	if err != nil {
		m.say(err.Error())
		return exitUsage
	}
	return exitOK
}

// receive receives until the input or ctx ends.
func (c *config) receive(ctx context.Context, stdin io.Reader, stdout io.Writer, m *messages) (err error) {
	if c.cores != "" {
		if err := os.MkdirAll(c.cores, 0o777); err != nil {
			return err
		}
	}
	if c.newKey != "" {
		public, err := dump.NewKey(c.newKey)
		if err == nil {
			_, err = fmt.Fprintf(stdout, "core.key=%s\n", public)
		}
		return err
	}
	var key *ecdh.PrivateKey
	if c.key != "" {
		if key, err = dump.ReadKey(c.key); err != nil {
			return err
		}
	}
	if c.com2 != "" {
		return c.readCom2(ctx, stdin, key, m)
	}
	finder := buildid.NewFinder()
	if finder.Server, err = buildid.FromEnvironment(); err != nil {
		return err
	}
	if finder.Server != nil {
		finder.Server.Log = m.say
	}
	for _, path := range c.files {
		if err := finder.Add(path); err != nil {
			return err
		}
	}
	path := c.store
	if path == "" && c.pcap == "" {
		if path, err = crash.DefaultPath(); err != nil {
			return fmt.Errorf("%w; say where by -store", err)
		}
	}
	store, err := crash.Open(path)
	if err != nil {
		return err
	}
	defer store.Close()
	var l *Listener
	if c.pcap == "" {
		if l, err = Listen(c.listen); err != nil {
			return err
		}
	}

	opt := ReportOptions{
		Out: stdout, Terminal: isTerminal(stdout) || c.color == "always",
		Color: c.color == "always" || c.color == "auto" && isTerminal(stdout) && os.Getenv("NO_COLOR") == "",
		JSON:  c.json, Traces: true,
		Lines:  c.lines == "always" || c.lines == "auto" && !c.json && !c.quiet,
		Finder: finder, Store: store, Log: m.say,
	}
	var export *exporting
	if c.otlp != "" {
		if export, err = startExport(c.otlp, store, path, m.say); err != nil {
			return err
		}
		opt.Export, opt.Spooled = true, export.e.Wake
	}
	reporter := NewReporter(ctx, opt)
	iopt := c.intakeOptions()
	iopt.Say, iopt.Cores, iopt.CoresSize, iopt.Key = m.say, c.cores, int64(c.coresSize)<<30, key
	if l != nil {
		iopt.Answer = l.Answer
	}
	in := NewIntake(iopt, reporter)
	captured, err := c.feed(ctx, stdin, l, in, reporter, m)
	in.Close()
	if cerr := reporter.Close(); err == nil {
		err = cerr
	}
	if export != nil {
		export.stop()
	}
	if !c.quiet && (err == nil || in.Stats().Datagrams > 0) {
		c.summary(m, in.Stats(), reporter.Stats(), captured, export, store)
	}
	return err
}

func (c *config) intakeOptions() Options {
	opt := Options{Names: c.names, MaxMachines: c.machines, Patience: time.Duration(c.patience) * time.Second, Oops: true}
	if c.lookUp {
		opt.LookUp = lookUp
	}
	return opt
}

// lookTimeout is how long the DNS has for a name.
const lookTimeout = 5 * time.Second

// lookUp returns the name of an address in the DNS.
func lookUp(a netip.Addr) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	names, err := net.DefaultResolver.LookupAddr(ctx, a.String())
	if err != nil || len(names) == 0 {
		return ""
	}
	for _, r := range names[0] { // whoever has the address writes its name
		if r <= ' ' || r >= 0x7f {
			return ""
		}
	}
	return strings.TrimSuffix(names[0], ".")
}

// feed gives the intake its datagrams, from the network or from a capture.
func (c *config) feed(ctx context.Context, stdin io.Reader, l *Listener, in *Intake, r *Reporter, m *messages) (*capture.Stats, error) {
	if c.pcap != "" {
		return c.readCapture(ctx, stdin, in, r)
	}
	if !c.quiet {
		m.say(fmt.Sprintf("listening on %s and, for the parity of traces, %s", l.Addr(), l.conns[1].LocalAddr()))
	}
	if n := l.Buffer(); n > 0 && n < WantBuffer {
		m.say(fmt.Sprintf("the socket's buffer is %d KiB, so bursts may be lost: let it grow by `sysctl net.core.rmem_max=%d`",
			n>>10, WantBuffer))
	}
	return nil, l.Serve(ctx, in, r.Flush)
}

// errEnd stops the reading of a capture.
var errEnd = errors.New("interrupted")

func (c *config) readCapture(ctx context.Context, stdin io.Reader, in *Intake, r *Reporter) (*capture.Stats, error) {
	src := stdin
	if c.pcap != "-" {
		file, err := os.Open(c.pcap)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		src = file
	} else if file, ok := stdin.(*os.File); ok {
		// A read that waits for a pipe ends by its being closed.
		defer context.AfterFunc(ctx, func() { file.Close() })()
	}
	var ticked time.Time
	opt := capture.Options{Port: uint16(c.port), Idle: func() error {
		if ctx.Err() != nil {
			return errEnd
		}
		return r.Flush()
	}}
	stats, err := capture.Datagrams(src, opt, func(when time.Time, from netip.AddrPort, payload []byte) {
		in.Datagram(when, from, payload)
		if d := when.Sub(ticked); d > 50*time.Millisecond || d < 0 {
			in.Tick(when)
			ticked = when
		}
	})
	if ctx.Err() != nil {
		err = nil
	}
	return &stats, err
}

// exporting is an exporter that runs.
type exporting struct {
	e     *otlp.Exporter
	end   context.CancelFunc
	drain context.CancelFunc
	done  chan struct{}
}

func startExport(url string, store *crash.Store, path string, say func(string)) (*exporting, error) {
	e, err := otlp.New(context.Background(), url, store, path, say)
	if err != nil {
		return nil, fmt.Errorf("-otlp: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	drain, stopDrain := context.WithCancel(context.Background())
	x := &exporting{e, end, stopDrain, make(chan struct{})}
	go func() {
		defer close(x.done)
		e.Run(ctx, drain)
	}()
	return x, nil
}

// stop lets the exporter send what is there, for a while.
func (x *exporting) stop() {
	x.end()
	late := time.AfterFunc(drainTime, x.drain)
	<-x.done
	late.Stop()
	x.drain()
	x.e.Close()
}

// summary says what has been received.
func (c *config) summary(m *messages, in Stats, out ReportStats, captured *capture.Stats, x *exporting, store *crash.Store) {
	lines := strings.Split(in.String(), "\n")
	if captured != nil {
		s := fmt.Sprintf("%d packets, %d datagrams of the port", captured.Packets, captured.Datagrams)
		if captured.Malformed > 0 {
			s += fmt.Sprintf(", %d malformed", captured.Malformed)
		}
		if captured.Short > 0 {
			s += fmt.Sprintf(", %d of which the capture has a part only", captured.Short)
		}
		if captured.Cut {
			s += ", the file ends within a packet"
		}
		lines = append([]string{s}, lines...)
	}
	if out.Unresolved > 0 {
		lines = append(lines, fmt.Sprintf("%d of %d traces without their ELF file", out.Unresolved, out.Traces))
	}
	if out.Known > 0 {
		lines = append(lines, fmt.Sprintf("%d were counted before", out.Known))
	}
	if out.Uncounted+out.Unspooled > 0 {
		lines = append(lines, fmt.Sprintf("%d could not be counted, %d not be kept for the collector", out.Uncounted, out.Unspooled))
	}
	if x != nil {
		s := x.e.Stats()
		line := fmt.Sprintf("%d exported", s.Exported)
		if s.Refused > 0 {
			line += fmt.Sprintf(", %d refused by the collector", s.Refused)
		}
		if n, err := store.Waiting(); err == nil && n > 0 {
			line += fmt.Sprintf(", %d kept until the collector takes them", n)
		}
		lines = append(lines, line)
	}
	for _, line := range lines {
		m.say(line)
	}
}

// printGroups prints the groups of the store.
func (c *config) printGroups(w io.Writer) error {
	path := c.store
	var err error
	if path == "" {
		if path, err = crash.DefaultPath(); err != nil {
			return err
		}
	}
	groups, err := crash.Groups(path)
	if err != nil {
		return err
	}
	if c.json {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for i := range groups {
			if err := e.Encode(&groups[i]); err != nil {
				return err
			}
		}
		return nil
	}
	fmt.Fprintln(w, "group             count  first        last         what")
	for i := range groups {
		if _, err := fmt.Fprintln(w, groups[i].String()); err != nil {
			return err
		}
	}
	return nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
