package receive

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/input"
)

const text = `Receive shows what machines send by UDP: their log (netconsole, also Linux's)
and their traces, resolved, each line behind the machine's name or address.

  zf receive -e hello.elf                      # listens on :6666 and :6667
  zf receive -name 10.0.0.7=rack3 -e builds/   # a folder of builds
  zf receive -e vmlinux                        # Linux machines: oopses resolved
  zf receive -pcap dump.pcap -e hello.elf      # of tcpdump, QEMU's filter-dump
  zf receive -json | jq 'select(.count == 1)'  # the first of each cause
  zf receive -otlp http://collector:4318       # on to OpenTelemetry

A machine sends with netconsole=6665@10.0.0.7/,6666@10.0.0.1/ on the kernel
command line, Zeroframe's as Linux's: its own address, then the receiver's.

The ELF file of a trace is found by its build ID: among those given by -e, in a
folder of the layout .build-id/xx/yyyy, or at the debuginfod servers that the
variable DEBUGINFOD_URLS names, from where it comes once and is kept. Of more
than 8 GiB, what was used least recently goes.

Crashes of the same functions are one group; its fingerprint stays the same
from build to build. Groups are counted while zf receive runs, and a crash that
comes again is not counted again. A collector (-otlp) keeps them for longer.

^C ends it with a summary: machines, traces, what was rejected and why, and what
was lost.`

// config is what the command line says.
type config struct {
	listen, pcap string
	port         uint
	files        []string
	names        map[netip.AddrPort]string
	lookUp       bool
	json, quiet  bool
	lines        string
	color        string
	otlp         string
	cores, com2  string
	coresSize    int
	key, newKey  string
	baud         int
	machines     int
	patience     int
}

// parseFlags reads the arguments. Unless ok, code is the exit status.
func parseFlags(args []string, stdout, stderr io.Writer) (c *config, code int, ok bool) {
	c = &config{names: make(map[netip.AddrPort]string)}
	fs := flag.NewFlagSet("zf receive", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&c.listen, "listen", ":6666",
		"take datagrams that are sent to `ADDR`, and to the next port, where the\nparity of traces goes")
	fs.StringVar(&c.pcap, "pcap", "",
		"read a capture instead: `FILE` is pcap or pcapng, also gzipped, or -")
	fs.UintVar(&c.port, "port", 6666,
		"of a capture, take datagrams to `PORT` and the next; 0: to\nany")
	fs.Func("e",
		"the ELF `FILE` that machines run, or a folder of the layout\n.build-id/xx/yyyy; may be given many times", func(s string) error {
			c.files = append(c.files, s)
			return nil
		})
	fs.Func("name",
		"show a machine by its name: `ADDR=NAME`, where ADDR may have a\n:PORT; may be given many times",
		c.addName)
	fs.BoolVar(&c.lookUp, "dns", false, "show machines by their names in the DNS")
	fs.BoolVar(&c.json, "json", false, "print traces as JSON, one object a line, instead of text")
	fs.StringVar(&c.lines, "lines", "auto",
		"print log lines: `WHEN` is always, never, or auto: in text,\nnot in JSON")
	fs.BoolVar(&c.quiet, "q", false, "print traces only, and no summary")
	fs.StringVar(&c.color, "color", "auto", "colour the output: `WHEN` is auto, always or never")
	fs.StringVar(&c.cores, "cores", "",
		"take the memory of machines that die (core=net, core=ram) to files in\n`FOLDER`; without it they are told that nobody does")
	fs.IntVar(&c.coresSize, "cores-size", 64,
		"let the folder of -cores take `GIB` at most; when it is full, dumps are\nrefused")
	fs.StringVar(&c.key, "key", "", "the private key for what -cores takes (core.key=), in `FILE`")
	fs.StringVar(&c.newKey, "new-key", "",
		"make a private key for -key, write it to `FILE`, print the option\ncore.key= for machines, and end")
	fs.StringVar(&c.com2, "com2", "",
		"take one machine's memory to -cores that it has sent by its second\nserial port (core=com2, core.by=com2), and end: `FILE` is a file\nor a device")
	fs.IntVar(&c.baud, "baud", input.DefaultBaud, "the speed of the device of -com2, in bits a second")
	fs.StringVar(&c.otlp, "otlp", "",
		"export what ended a kernel to the OpenTelemetry collector at\n`URL`, such as http://localhost:4318 (OTLP over HTTP)")
	fs.IntVar(&c.machines, "machines", DefaultMachines, "know up to `N` machines at a time")
	fs.IntVar(&c.patience, "patience", int(DefaultPatience.Seconds()),
		"wait `SECONDS` for what is missing of a trace")
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(stdout, "Usage: zf receive [flags]\n\n%s\n\nFlags:\n\n", text)
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return nil, exitOK, false
	case err == nil:
		err = c.check(fs)
	}
	if err != nil {
		fmt.Fprintf(stderr, "zf receive: %v; `zf receive -h` lists the flags\n", err)
		return nil, exitUsage, false
	}
	return c, exitOK, true
}

// addName takes an argument of -name.
func (c *config) addName(s string) error {
	addr, name, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		return errors.New("want ADDR=NAME")
	}
	for _, r := range name {
		if r <= ' ' || r == 0x7f {
			return fmt.Errorf("the name %q has blanks or control characters", name)
		}
	}
	if ap, err := netip.ParseAddrPort(addr); err == nil {
		c.names[ap] = name
		return nil
	}
	a, err := netip.ParseAddr(addr)
	if err != nil {
		return fmt.Errorf("%q is no IP address", addr)
	}
	c.names[netip.AddrPortFrom(a.Unmap(), 0)] = name
	return nil
}

// check says what is wrong with the flags together.
func (c *config) check(fs *flag.FlagSet) error {
	given := make(map[string]bool)
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	always := []string{"auto", "always", "never"}
	switch {
	case fs.NArg() > 0:
		return fmt.Errorf("what is %q? A capture is given by -pcap", fs.Arg(0))
	case given["pcap"] && given["listen"]:
		return errors.New("-pcap and -listen: give one of them")
	case given["pcap"] && c.pcap == "":
		return errors.New("-pcap: name the capture")
	case given["port"] && c.pcap == "":
		return errors.New("-port is for -pcap; -listen has its own")
	case c.port > 65535:
		return fmt.Errorf("-port %d is none", c.port)
	case !slices.Contains(always, c.color):
		return fmt.Errorf("-color is auto, always or never, not %q", c.color)
	case !slices.Contains(always, c.lines):
		return fmt.Errorf("-lines is auto, always or never, not %q", c.lines)
	case c.key != "" && c.cores == "":
		return errors.New("-key is for what -cores takes")
	case c.com2 != "" && (given["pcap"] || given["listen"] || c.cores == ""):
		return errors.New("-com2 wants -cores, the folder to write to, and neither -pcap nor -listen")
	case c.cores != "" && c.pcap != "":
		return errors.New("-cores: a machine sends its memory to who answers, which a capture does not")
	case c.coresSize < 1 || c.coresSize > 1<<20:
		return errors.New("-cores-size: from 1 to 1048576 GiB")
	case given["cores-size"] && c.cores == "":
		return errors.New("-cores-size is for the folder of -cores")
	case c.machines < 1:
		return errors.New("-machines: at least one")
	case c.patience < 1:
		return errors.New("-patience: at least one second")
	}
	if c.pcap == "" {
		if _, err := net.ResolveUDPAddr("udp", c.listen); err != nil {
			return fmt.Errorf("-listen: %w", err)
		}
	}
	return nil
}
