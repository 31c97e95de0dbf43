package memory

// A machine behind a gdb stub, by gdb's remote protocol (gdb manual, appendix E): packets
// $data#sum, answered by + and a packet. Registers come by g, memory by m, in hexadecimal. QEMU's
// stub reads physical addresses when it is told to (Qqemu.PhyMemMode). For another stub the
// kernel's map of all RAM serves.

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
	"syscall"
	"time"
)

// ErrStub is returned when a gdb stub refuses something or says what it cannot.
var ErrStub = errors.New("gdb stub")

// ErrEnded is wrapped by the error of a stub whose machine has ended.
var ErrEnded = errors.New("the machine has ended")

// stubTimeout is how long a stub may take for an answer, which takes no time but on a busy host.
const stubTimeout = time.Minute

// mostPacket is the longest packet that is taken, in bytes.
const mostPacket = 1 << 20

// Stub is a connection to a gdb stub. It is a [Physical], and with Blocks set a [Source]: a stub
// does not say where there is RAM.
type Stub struct {
	conn net.Conn
	r    *bufio.Reader

	cpus     []CPU
	blocks   []Block
	physical bool   // it reads physical addresses
	direct   uint64 // where the kernel has physical address 0, if it does not
	most     int    // bytes that one read may ask for
}

// DialStub connects to a stub, which stops the machine. Errors wrap ErrStub.
func DialStub(ctx context.Context, address string) (*Stub, error) {
	s, err := dial(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w; start QEMU with -gdb tcp:%s", err, address)
	}
	if err := s.begin(); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// dial connects to a stub and says nothing to it.
func dial(ctx context.Context, network, address string) (*Stub, error) {
	ctx, cancel := context.WithTimeout(ctx, stubTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrStub, err)
	}
	return newStub(conn), nil
}

func newStub(conn net.Conn) *Stub {
	return &Stub{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), most: 1024}
}

// Close leaves the stub: the machine goes on, as behind gdb's detach.
func (s *Stub) Close() error {
	if s.physical {
		s.ask("Qqemu.PhyMemMode:0")
	}
	s.ask("D")
	return s.conn.Close()
}

// begin learns what the stub can, and reads the registers.
func (s *Stub) begin() error {
	features, err := s.ask("qSupported:multiprocess-;swbreak+;hwbreak+;qXfer:features:read+")
	if err != nil {
		return err
	}
	described := false
	for f := range strings.SplitSeq(features, ";") {
		if n, ok := strings.CutPrefix(f, "PacketSize="); ok {
			if v, err := strconv.ParseUint(n, 16, 31); err == nil && v > 64 {
				s.most = int(min(v, mostPacket)-16) / 2
			}
		}
		described = described || f == "qXfer:features:read+"
	}
	if _, err := s.ask("?"); err != nil {
		return err
	}
	if a, err := s.ask("Qqemu.PhyMemMode:1"); err == nil && a == "OK" {
		s.physical = true
	}
	regs := plainRegs
	if described {
		if regs, err = s.describedRegs(); err != nil {
			return err
		}
	}
	return s.readCPUs(regs)
}

// ask sends a packet and returns the answer; "" is what a stub answers that does not know it.
func (s *Stub) ask(packet string) (string, error) {
	s.conn.SetDeadline(time.Now().Add(stubTimeout))
	if err := s.send(packet); err != nil {
		return "", err
	}
	for {
		answer, err := s.packet()
		if err != nil {
			return "", fmt.Errorf("%w: %.20s: %w", ErrStub, packet, err)
		}
		switch {
		case strings.HasPrefix(answer, "O") && answer != "OK": // what the program says
			continue
		case strings.HasPrefix(answer, "T") && packet != "?":
			// that it has stopped, as QEMU says to who connects
			continue
		case strings.HasPrefix(answer, "W"), strings.HasPrefix(answer, "X"):
			// QEMU's last word, whatever it was asked
			return "", fmt.Errorf("%w: %w", ErrStub, ErrEnded)
		}
		return answer, nil
	}
}

// send sends a packet.
func (s *Stub) send(packet string) error {
	sum := byte(0)
	for i := range len(packet) {
		sum += packet[i]
	}
	if _, err := fmt.Fprintf(s.conn, "$%s#%02x", packet, sum); err != nil {
		return fmt.Errorf("%w: %w", ErrStub, gone(err))
	}
	return nil
}

// packet reads a packet and takes what is escaped or repeated in it for what it stands.
func (s *Stub) packet() (string, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return "", gone(err)
		}
		if c == '$' {
			break
		}
		if c == '-' {
			return "", errors.New("it says that it has got garbage")
		}
	}
	var b []byte
	sum := byte(0)
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return "", gone(err)
		}
		if c == '#' {
			break
		}
		sum += c
		switch {
		case c == '}' || c == '*':
			n, err := s.r.ReadByte()
			if err != nil {
				return "", gone(err)
			}
			sum += n
			if c == '}' {
				b = append(b, n^0x20)
				break
			}
			if len(b) == 0 || n < 29 {
				return "", errors.New("a damaged packet")
			}
			b = append(b, strings.Repeat(string(b[len(b)-1:]), int(n)-29)...)
		default:
			b = append(b, c)
		}
		if len(b) > mostPacket {
			return "", errors.New("a packet without an end")
		}
	}
	var digits [2]byte
	if _, err := io.ReadFull(s.r, digits[:]); err != nil {
		return "", gone(err)
	}
	if v, err := strconv.ParseUint(string(digits[:]), 16, 8); err != nil || byte(v) != sum {
		return "", errors.New("a damaged packet")
	}
	if _, err := s.conn.Write([]byte("+")); err != nil {
		return "", gone(err)
	}
	return string(b), nil
}

// gone says what the end of the connection means.
func gone(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET) {
		return ErrEnded
	}
	return err
}

// SetBlocks says where there is RAM.
func (s *Stub) SetBlocks(blocks []Block) { s.blocks = blocks }

// SetDirectMap says where the kernel has mapped physical address 0, and all RAM from there on.
// Until then only the image can be read by physical addresses, which are its virtual ones, from a
// stub that does not take physical addresses.
func (s *Stub) SetDirectMap(virtual uint64) {
	if !s.physical {
		s.direct = virtual
	}
}

// CPUs implements [Source].
func (s *Stub) CPUs() []CPU { return s.cpus }

// Blocks implements [Source] and [Physical].
func (s *Stub) Blocks() []Block { return s.blocks }

// ReadPhysical implements [Physical].
func (s *Stub) ReadPhysical(p []byte, addr uint64) error {
	for len(p) > 0 {
		n := min(len(p), s.most)
		answer, err := s.ask(fmt.Sprintf("m%x,%x", s.direct+addr, n))
		if err != nil {
			return err
		}
		b, err := hex.DecodeString(answer)
		if err != nil || len(b) == 0 || len(b) > n {
			return fmt.Errorf("memory at %#x: %w", addr, ErrNotRAM) // E01
		}
		copy(p, b)
		p, addr = p[len(b):], addr+uint64(len(b))
	}
	return nil
}

// Copy implements [Source]: of the blocks, what can be read.
func (s *Stub) Copy(put func(addr uint64, data []byte) error) error {
	var b [64 << 10]byte
	for _, block := range s.blocks {
		for at := block.Start; at < block.End(); at += uint64(len(b)) {
			part := b[:min(uint64(len(b)), block.End()-at)]
			err := s.ReadPhysical(part, at)
			switch {
			case errors.Is(err, ErrNotRAM):
				clear(part)
				for i := 0; i < len(part); i += PageSize {
					if err := s.ReadPhysical(part[i:i+PageSize], at+uint64(i)); err != nil &&
						!errors.Is(err, ErrNotRAM) {
						return err
					}
				}
			case err != nil:
				return err
			}
			if err := put(at, part); err != nil {
				return err
			}
		}
	}
	return nil
}
