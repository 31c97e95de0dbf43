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
)

// Options say what is served.
type Options struct {
	Launch Launch
	Image  string // the ELF file's path
	// the address of the instruction that counts as the first; 0: it is the one that the replay begins
	// with
	Start uint64
	Last  uint64 // instructions at the recording's end
	// Exits has the machine exit at the recording's end, for a debugger that takes no other word for
	// it.
	Exits bool
	// Log is told what cannot be done, a line each; nil: nobody.
	Log func(string)
}

// Server is a stub with a debugger behind a connection.
type Server struct {
	travel
	o    Options
	conn net.Conn

	runs   atomic.Bool // a packet is being answered that lets the machine run
	mu     sync.Mutex
	acks   bool
	quiet  bool // behind a restart, whose continue is none
	cancel context.CancelFunc
}

// Serve serves one debugger until it ends the session or the context is done, whose error it
// returns then. Host.
func Serve(outer context.Context, conn net.Conn, o Options) error {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	defer context.AfterFunc(outer, func() { conn.Close() })() // the reader waits for the debugger
	s := &Server{o: o, conn: conn, acks: true, cancel: cancel}
	s.travel = travel{ctx: ctx, launch: o.Launch, start: o.Start, last: o.Last,
		stops: map[string]bool{}}
	defer s.travel.end()
	if err := s.reset(); err != nil {
		return err
	}
	packets := make(chan string)
	go s.read(packets)
	for p := range packets {
		s.runs.Store(p[:min(1, len(p))] == "v" || p[:min(1, len(p))] == "b" || p == "c" || p == "s")
		answer, err := s.handle(p)
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
	r := bufio.NewReader(s.conn)
	for {
		c, err := r.ReadByte()
		if err != nil {
			s.cancel()
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
			s.cancel()
			return
		}
		var sum [2]byte
		if _, err := io.ReadFull(r, sum[:]); err != nil {
			s.cancel()
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
	if err != nil {
		return "", err
	}
	switch {
	case w == atBegin:
		return "T00thread:01;replaylog:begin;", nil
	case w == atEnd && s.o.Exits:
		return "W00", nil
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

const refused = "E01"

// handle answers a packet.
func (s *Server) handle(p string) (string, error) {
	name, rest, _ := strings.Cut(p, ":")
	switch name {
	case "qSupported":
		return "PacketSize=1000;qXfer:features:read+;qXfer:exec-file:read+;QStartNoAckMode+;vContSupported+;ReverseStep+;ReverseContinue+", nil
	case "QStartNoAckMode":
		if err := s.send("OK"); err != nil {
			return "", err
		}
		s.mu.Lock()
		s.acks = false
		s.mu.Unlock()
		return "", errAnswered
	case "?":
		return "T05thread:01;", nil
	case "qfThreadInfo":
		return "m01", nil
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
	switch p[:min(1, len(p))] {
	case "H", "T", "!":
		return "OK", nil
	case "m", "g", "p":
		p, _, _ = strings.Cut(p, ";thread:")
		return s.m.Ask(p)
	case "M", "X", "G", "P":
		return refused, nil // the run would be another one
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
	s.stops = map[string]bool{}
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
