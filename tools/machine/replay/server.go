package replay

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/tools/postmortem/core"
	"github.com/zeroframe/zeroframe/tools/postmortem/memory"
)

// Options say what is served.
type Options struct {
	Launch Launch
	Image  string // the ELF file's path
	// the address of the instruction that counts as the first; 0: it is the one that the replay begins
	// with
	Start uint64
	Last  uint64 // instructions at the recording's end
	Live  bool   // it is no recording, but a machine that runs: it goes forwards alone
	// Trap is the first instruction of the kernel's way into the breakpoint exception, 0 if that is
	// not known. The machine stops there as a process does at such an instruction.
	Trap uint64
	// Zeros reports whether an address is of memory that the program has and that nothing is mapped
	// for, which it reads by read. nil: there is none.
	Zeros func(read func(p []byte, addr uint64) error, addr uint64) bool
	// Threads returns the program's threads that have no CPU, in a machine whose CPU has these
	// registers. nil: there are none.
	Threads func(read func(p []byte, addr uint64) error, cpu memory.CPU) []core.Thread
	// Exits has the machine exit at the recording's end, for a debugger that takes no other word for
	// it.
	Exits bool
	// Ended, if there is one, waits until all has been shown that a machine has said that has ended,
	// and returns the signal that has ended its program, 0 if none has.
	Ended func() int
	// Log is told what cannot be done, a line each; nil: nobody.
	Log func(string)
}

// Server is a stub with a debugger behind a connection.
type Server struct {
	travel
	o    Options
	conn net.Conn

	runs             atomic.Bool // a packet is being answered that lets the machine run
	mu               sync.Mutex
	acks             bool
	called, restored bool   // a function is called; its end has been within this stop
	flags            uint64 // of the program, while one is called
	quiet            bool   // behind a restart, whose continue is none
	cancel           context.CancelFunc
	threads
}

// Serve serves one debugger until it ends the session or the context is done, whose error it
// returns then. Host.
func Serve(outer context.Context, conn net.Conn, o Options) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	defer context.AfterFunc(outer, func() { conn.Close() })() // the reader waits for the debugger
	s := &Server{o: o, conn: conn, acks: true, cancel: cancel}
	s.travel = travel{ctx: ctx, launch: o.Launch, start: o.Start, last: o.Last, live: o.Live,
		trap: o.Trap, stops: map[string]bool{}}
	defer s.travel.end()
	if err := s.reset(); err != nil {
		return err
	}
	packets := make(chan string)
	go s.read(packets)
	for p := range packets {
		running := p[:min(1, len(p))] == "v" || p[:min(1, len(p))] == "b" || p == "c" || p == "s"
		s.runs.Store(running)
		if running {
			s.restored = false
		}
		answer, err := s.handle(p)
		if running {
			s.told = answer
		}
		if errors.Is(err, errAnswered) {
			continue
		}
		if errors.Is(err, errEnded) {
			s.send(answer)
			return nil
		}
		if err != nil {
			if ctx.Err() == nil && o.Log != nil {
				o.Log(err.Error())
			}
			s.send("X09") // there is no machine any more
			return err
		}
		if err := s.send(answer); err != nil {
			break
		}
		s.runs.Store(false)
	}
	return outer.Err()
}

// read reads the debugger's packets. A ^C stops a machine that runs.
func (s *Server) read(to chan<- string) {
	defer close(to)
	defer s.cancel()
	r := bufio.NewReader(s.conn)
	for {
		c, err := r.ReadByte()
		if err != nil {
			return
		}
		switch c {
		case 0x03:
			s.halt.Store(true)
			continue
		case '$':
		default:
			continue
		}
		text, err := r.ReadString('#')
		if err != nil {
			return
		}
		var sum [2]byte
		if _, err := io.ReadFull(r, sum[:]); err != nil {
			return
		}
		s.mu.Lock()
		acks := s.acks
		s.mu.Unlock()
		if acks {
			s.conn.Write([]byte("+"))
		}
		if text == "?#" && s.runs.Load() {
			continue // Delve asks so after ten seconds, and debugserver says nothing while the machine runs
		}
		// A ^C counts from the packet on that lets the machine run.
		s.halt.Store(false)
		select {
		case to <- strings.TrimSuffix(text, "#"):
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *Server) send(text string) error {
	var b strings.Builder
	sum := byte(0)
	for i := range len(text) {
		c := text[i]
		if c == '#' || c == '$' || c == '}' || c == '*' {
			b.WriteByte('}')
			sum += '}'
			c ^= 0x20
		}
		b.WriteByte(c)
		sum += c
	}
	_, err := fmt.Fprintf(s.conn, "$%s#%02x", b.String(), sum)
	return err
}

// stop is the packet for a stop.
func (s *Server) stop(w why, err error) (string, error) {
	s.others, s.now = nil, ""
	if err != nil {
		return "", err
	}
	switch {
	case w == atBegin:
		return "T00thread:01;replaylog:begin;", nil
	case w == atEnd && s.o.Live:
		return s.exited(), errEnded
	case w == atEnd && s.o.Exits:
		return "W00", errEnded
	case w == atEnd:
		return "T09thread:01;replaylog:end;", nil
	case w == halted:
		return "T02thread:01;", nil
	}
	if a := s.data; a != "" {
		s.data = ""
		return "T05thread:01;watch:" + a + ";", nil
	}
	return "T05thread:01;", nil
}

// exited is the packet for the end of a machine that ran: the program's status, or that of a Go
// program that dies.
func (s *Server) exited() string {
	res, err := s.m.VM.Wait()
	signal := 0
	if s.o.Ended != nil {
		signal = s.o.Ended()
	}
	switch {
	case err != nil:
		return "X09"
	case signal != 0: // Delve takes no negative number from debugserver
		return fmt.Sprintf("W%02x", 128+signal)
	case res.Outcome == qemu.Traced:
		return "W02"
	}
	return fmt.Sprintf("W%02x", res.Program&0xff)
}

const refused = "E01"

// handle answers a packet.
func (s *Server) handle(p string) (string, error) {
	name, rest, _ := strings.Cut(p, ":")
	switch name {
	case "qSupported":
		can := "PacketSize=1000;qXfer:features:read+;qXfer:exec-file:read+;QStartNoAckMode+;" +
			"vContSupported+"
		if !s.o.Live {
			can += ";ReverseStep+;ReverseContinue+"
		}
		return can, nil
	case "QStartNoAckMode":
		if err := s.send("OK"); err != nil {
			return "", err
		}
		s.mu.Lock()
		s.acks = false
		s.mu.Unlock()
		return "", errAnswered
	case "QThreadSuffixSupported":
		if s.o.Live {
			return "OK", nil
		}
		return "", nil
	case "?":
		return "T05thread:01;", nil
	case "qfThreadInfo":
		return s.listThreads()
	case "qsThreadInfo":
		return "l", nil
	case "qC":
		return "QC01", nil
	case "qAttached":
		return "1", nil
	case "vCont?":
		return "vCont;c;C;s;S", nil
	case "qRRCmd":
		cmd, _, _ := strings.Cut(rest, ":")
		return s.command(cmd)
	case "qXfer":
		switch {
		case strings.HasPrefix(rest, "features:read:"):
			return s.m.Ask(p)
		case strings.HasPrefix(rest, "exec-file:read:"):
			return part(s.o.Image, rest), nil
		}
		return "", nil
	}
	if id, ok := strings.CutPrefix(p, "qThreadStopInfo"); ok && s.o.Threads != nil {
		return s.stopOf(id), nil
	}
	switch p[:min(1, len(p))] {
	case "H", "T", "!":
		return "OK", nil
	case "m":
		return s.memory(p)
	case "g", "p":
		p, id, _ := strings.Cut(p, ";thread:")
		return s.registers(p, id)
	case "M", "X":
		if s.o.Live {
			return s.m.Ask(p)
		}
		return "E.nothing can be changed in a recording", nil
	case "G", "P":
		if s.o.Live {
			p, id, _ := strings.Cut(p, ";thread:")
			if s.other(id) != "" {
				return unchanged, nil
			}
			s.now = ""
			return s.setRegisters(p)
		}
		return "E.nothing can be changed in a recording", nil
	case "Z", "z":
		answer, err := s.m.Ask(p)
		if err == nil && answer == "OK" {
			if p[0] == 'Z' {
				s.stops[p[1:]] = true
			} else {
				delete(s.stops, p[1:])
			}
		}
		return answer, err
	case "D":
		return "OK", errEnded
	case "k":
		return "X09", errEnded
	case "c":
		return s.stop(s.forwards())
	case "s":
		return s.stop(s.step())
	case "b":
		if s.o.Live {
			return "", nil
		}
		switch p {
		case "bc":
			return s.stop(s.backwards())
		case "bs":
			return s.stop(s.back())
		}
	case "v":
		switch {
		case strings.HasPrefix(p, "vRun"):
			s.quiet = true
			return s.restart()
		case strings.HasPrefix(p, "vKill"):
			return "OK", errEnded
		case strings.HasPrefix(p, "vCont;"):
			if s.quiet {
				s.quiet = false
				return "T05thread:01;", nil
			}
			for action := range strings.SplitSeq(p[len("vCont;"):], ";") {
				_, id, _ := strings.Cut(action, ":")
				if s.other(id) != "" {
					return waits, nil
				}
				if action != "" && (action[0] == 's' || action[0] == 'S') {
					return s.stop(s.step())
				}
			}
			return s.stop(s.forwards())
		}
	}
	return "", nil
}

var errAnswered = errors.New("it is answered")

// restart begins once more.
func (s *Server) restart() (string, error) {
	if err := s.reset(); err != nil {
		return "", err
	}
	s.others, s.now = nil, ""
	s.stops, s.called, s.restored = map[string]bool{}, false, false
	return "T05thread:01;", nil
}

// command answers one of rr's own.
func (s *Server) command(cmd string) (string, error) {
	if b, err := hex.DecodeString(cmd); err == nil {
		cmd = string(b)
	}
	n, err := s.count()
	if err != nil || cmd != "when" {
		return "", err
	}
	return hex.EncodeToString([]byte("Current instruction: " + strconv.FormatUint(n, 10))), nil
}

// part is the answer for a part of a file: annex:offset,length stands behind "read:".
func part(text, request string) string {
	i := strings.LastIndexByte(request, ':')
	a, b, _ := strings.Cut(request[i+1:], ",")
	off, err1 := strconv.ParseUint(a, 16, 32)
	n, err2 := strconv.ParseUint(b, 16, 32)
	if err1 != nil || err2 != nil || off > uint64(len(text)) {
		return refused
	}
	rest := text[off:]
	if uint64(len(rest)) <= n {
		return "l" + rest
	}
	return "m" + rest[:n]
}
