package receive

import (
	"cmp"
	"context"
	"crypto/ecdh"
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

	"github.com/zeroframe/zeroframe/tools/format/terminal"

	"github.com/zeroframe/zeroframe/tools/receive/otlp"
	"github.com/zeroframe/zeroframe/tools/symbol/buildid"
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
		fmt.Fprintf(m.w, "zf receive: %s\n", terminal.AppendClean(nil,
			[]byte(strings.TrimPrefix(line, "zf: "))))
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	c, code, ok := parseFlags(args, stdout, stderr)
	if !ok {
		return code
	}
	m := &messages{w: stderr}
	if err := c.receive(ctx, stdin, stdout, m); err != nil {
		m.say(err.Error())
		return exitUsage
	}
	return exitOK
}

// receive receives until the input or ctx ends.
func (c *config) receive(ctx context.Context, stdin io.Reader, stdout io.Writer,
	m *messages) (err error) {
	if c.cores != "" {
		if err := os.MkdirAll(c.cores, 0o777); err != nil {
			return err
		}
	}
	if c.newKey != "" {
		public, err := NewKey(c.newKey)
		if err == nil {
			_, err = fmt.Fprintf(stdout, "core.key=%s\n", public)
		}
		return err
	}
	var key *ecdh.PrivateKey
	if c.key != "" {
		if key, err = ReadKey(c.key); err != nil {
			return err
		}
	}
	if c.com2 != "" {
		return c.readCom2(ctx, stdin, key, m)
	}
	finder, err := c.finder(m)
	if err != nil {
		return err
	}
	var l *Listener
	iopt := c.intakeOptions()
	iopt.Say, iopt.Key = m.say, key
	if c.pcap == "" {
		if l, err = Listen(c.listen); err != nil {
			return err
		}
		iopt.Answer = l.Answer
	}
	opt := c.reportOptions(stdout)
	opt.Finder, opt.Log = finder, m.say
	var export *otlp.Exporter
	stopExport := func() {}
	if c.otlp != "" {
		if export, err = otlp.New(context.Background(), c.otlp, m.say); err != nil {
			return fmt.Errorf("-otlp: %w", err)
		}
		opt.Export, stopExport = export.Put, startExport(export)
	}
	reporter := NewReporter(ctx, opt)
	in := NewIntake(iopt, reporter)
	captured, err := c.feed(ctx, stdin, l, in, reporter, m)
	in.Close()
	err = cmp.Or(err, reporter.Close())
	stopExport()
	if !c.quiet && (err == nil || in.Stats().Datagrams > 0) {
		summary(m, in.Stats(), reporter.Stats(), captured, export)
	}
	return err
}

// finder returns what finds the ELF files: those given, and the servers' of the environment.
func (c *config) finder(m *messages) (*buildid.Finder, error) {
	f := buildid.NewFinder()
	var err error
	if f.Server, err = buildid.FromEnvironment(); err != nil {
		return nil, err
	}
	if f.Server != nil {
		f.Server.Log = m.say
	}
	for _, path := range c.files {
		if err := f.Add(path); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// startExport runs an exporter. stop lets it send what is there, for a while.
func startExport(e *otlp.Exporter) (stop func()) {
	ctx, end := context.WithCancel(context.Background())
	drain, stopDrain := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(ctx, drain)
	}()
	return func() {
		e.Close()
		end()
		late := time.AfterFunc(drainTime, stopDrain)
		<-done
		late.Stop()
		stopDrain()
	}
}

func (c *config) reportOptions(stdout io.Writer) ReportOptions {
	shown := isTerminal(stdout)
	return ReportOptions{
		Out: stdout, Terminal: shown || c.color == "always",
		Color: c.color == "always" || c.color == "auto" && shown && os.Getenv("NO_COLOR") == "",
		JSON:  c.json,
		Lines: c.lines == "always" || c.lines == "auto" && !c.json && !c.quiet,
	}
}

func (c *config) intakeOptions() Options {
	opt := Options{
		Names: c.names, MaxMachines: c.machines, Patience: time.Duration(c.patience) * time.Second,
		Oops: true, Cores: c.cores, CoresSize: int64(c.coresSize) << 30,
	}
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
func (c *config) feed(ctx context.Context, stdin io.Reader, l *Listener, in *Intake, r *Reporter,
	m *messages) (*CaptureStats, error) {
	if c.pcap != "" {
		return c.readCapture(ctx, stdin, in, r)
	}
	if !c.quiet {
		m.say(fmt.Sprintf("listening on %s and, for the parity of traces, %s", l.Addr(),
			l.conns[1].LocalAddr()))
	}
	if n := l.Buffer(); n > 0 && n < WantBuffer {
		m.say(fmt.Sprintf(
			"the socket's buffer is %d KiB, so bursts may be lost: let it grow by `sysctl net.core.rmem_max=%d`",
			n>>10, WantBuffer))
	}
	return nil, l.Serve(ctx, in, r.Flush)
}

// errEnd stops the reading of a capture.
var errEnd = errors.New("interrupted")

func (c *config) readCapture(ctx context.Context, stdin io.Reader, in *Intake,
	r *Reporter) (*CaptureStats, error) {
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
	opt := CaptureOptions{Port: uint16(c.port), Idle: func() error {
		if ctx.Err() != nil {
			return errEnd
		}
		return r.Flush()
	}}
	stats, err := Datagrams(src, opt, func(when time.Time, from netip.AddrPort,
		payload []byte) {
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

// A counted is a number for the summary, and what it counts.
type counted struct {
	n    uint64
	what string
}

// others returns those that are not 0, with a separator before each.
func others(sep string, list ...counted) (s string) {
	for _, c := range list {
		if c.n > 0 {
			s += fmt.Sprintf("%s%d %s", sep, c.n, c.what)
		}
	}
	return s
}

// summary says what has been received.
func summary(m *messages, in Stats, out ReportStats, captured *CaptureStats,
	export *otlp.Exporter) {
	if captured != nil {
		s := fmt.Sprintf("%d packets, %d datagrams of the port", captured.Packets, captured.Datagrams) +
			others(", ", counted{captured.Malformed, "malformed"},
				counted{captured.Short, "of which the capture has a part only"})
		if captured.Cut {
			s += ", the file ends within a packet"
		}
		m.say(s)
	}
	m.say(in.String())
	if out.Unresolved > 0 {
		m.say(fmt.Sprintf("%d of %d traces without their ELF file", out.Unresolved, out.Traces))
	}
	if s := others("", counted{out.Known, "were counted before"}); s != "" {
		m.say(s)
	}
	if export != nil {
		s := export.Stats()
		m.say(fmt.Sprintf("%d exported", s.Exported) + others(", ",
			counted{s.Refused, "refused by the collector"},
			counted{s.Waiting + out.Unexported, "lost, since the collector did not take them in time"}))
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
