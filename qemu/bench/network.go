package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zeroframe/zeroframe/qemu"
	"github.com/zeroframe/zeroframe/qemu/batch"
	"github.com/zeroframe/zeroframe/tools/machine/image"
	"github.com/zeroframe/zeroframe/tools/machine/initrd"
)

// The network beside Linux's: one program, which serves on two machines alike but for the kernel,
// and a client on the host.

// A server is a machine that serves.
type server struct {
	name string // what its samples begin with
	host string // an address of the host's own, at which its ports are
	vm   *qemu.VM
}

const (
	idle    = 1000     // connections that do nothing
	amount  = 16 << 20 // bytes each way
	atOnce  = 8        // datagrams that are under way
	waiting = time.Minute
)

// loads are what a machine is asked for, n times each.
var loads = []struct {
	name string
	n    int
	do   func(s *server, n int) error
}{
	{"http1", 400, func(s *server, n int) error { return s.requests(n, 1) }},
	{"http8", 800, func(s *server, n int) error { return s.requests(n, 8) }},
	{"http64", 1600, func(s *server, n int) error { return s.requests(n, 64) }},
	{"connect", 200, (*server).connect},
	{"pingpong", 1000, (*server).pingPong},
	{"send", amount, (*server).send},
	{"receive", amount, (*server).receive},
	{"udp", 2000, (*server).datagrams},
	{"tls", 40, (*server).handshakes},
}

// network takes how often a second each machine does what it is asked for, by turns.
func (b *bench) network() error {
	all, stop, err := b.servers()
	defer stop()
	if err != nil {
		return err
	}
	times, part := 5, 1
	if b.short {
		times, part = 1, 20
	}
	for range times {
		for _, l := range loads {
			for _, s := range all {
				begin, n := time.Now(), max(l.n/part, 1)
				if err := l.do(s, n); err != nil {
					return fmt.Errorf("%s of %s: %w", l.name, s.name, err)
				}
				b.add(s.name+"."+l.name, float64(n)/time.Since(begin).Seconds())
			}
		}
	}
	for _, s := range all {
		kib, err := s.idle(idle / part)
		if err != nil {
			return fmt.Errorf("idle connections of %s: %w", s.name, err)
		}
		b.add(s.name+".idle", kib)
	}
	return nil
}

// servers starts both machines. stop ends those that have started.
func (b *bench) servers() (all []*server, stop func(), err error) {
	stop = func() {
		for _, s := range all {
			s.vm.Kill()
			s.vm.Wait()
		}
	}
	const program = own + "wire"
	wire, err := batch.Build(b.ctx, image.BuildOptions{Package: program, Inet: true, Stderr: b.stderr,
		Output: filepath.Join(b.dir, "wire.elf")})
	if err != nil {
		return nil, stop, err
	}
	vmlinuz, files, err := b.linuxFiles(program)
	if err != nil {
		return nil, stop, err
	}
	for i, m := range []struct {
		name, append string
		files        []string
	}{
		{"zf", "net=on", []string{wire.Image}},
		{"linux", "console=ttyS0 quiet panic=-1", []string{vmlinuz, files}},
	} {
		s := &server{name: m.name, host: fmt.Sprintf("127.34.1.%d", i+1)}
		bytes := 0.0
		for _, file := range m.files {
			fi, err := os.Stat(file)
			if err != nil {
				return all, stop, err
			}
			bytes += float64(fi.Size())
		}
		b.add(s.name+".bytes", bytes)
		if err := b.start(s, m.files, m.append); err != nil {
			return all, stop, fmt.Errorf("%s: %w", s.name, err)
		}
		all = append(all, s)
	}
	return all, stop, nil
}

// start starts a machine, and takes how long it is from there to the first request that it answers.
func (b *bench) start(s *server, files []string, options string) (err error) {
	network := []string{"virtio"}
	for _, port := range []string{"80", "443", "7", "7/udp", "9", "19"} {
		number, _, _ := strings.Cut(port, "/")
		forward, err := qemu.Forward(fmt.Sprintf("%s:1%04s:%s", s.host, number, port))
		if err != nil {
			return err
		}
		network = append(network, forward)
	}
	serves := newClock("serving")
	cfg := qemu.Config{Kernel: files[0], Append: options, MemoryMiB: 512, CPU: "max", Stdout: serves,
		Timeout: time.Hour, Net: strings.Join(network, ",")}
	if len(files) > 1 {
		cfg.Initrd = files[1]
	}
	if s.vm, err = qemu.Start(b.ctx, cfg); err != nil {
		return err
	}
	if err = serves.wait(s.vm.Done()); err == nil {
		err = s.requests(1, 1)
	}
	if err != nil {
		s.vm.Kill()
		s.vm.Wait()
		return err
	}
	b.add(s.name+".first", ms(time.Since(serves.begin)))
	return nil
}

// linuxFiles returns a Linux kernel and an archive of its first files: the program, what starts it,
// and the modules that the network card needs, in their order.
func (b *bench) linuxFiles(program string) (vmlinuz, path string, err error) {
	vmlinuz, modules, err := batch.Linux(b.ctx)
	if err != nil {
		return "", "", err
	}
	var a initrd.Archive
	for _, dir := range []string{"/proc", "/dev"} {
		a.AddDir(dir, 0o755)
	}
	add := func(guest, host string) error {
		data, err := os.ReadFile(host)
		a.AddFile(guest, 0o755, data)
		return err
	}
	for guest, pkg := range map[string]string{"/init": own + "wireinit", "/wire": program} {
		host := filepath.Join(b.dir, guest)
		if err := cmp.Or(b.goBuild(pkg, host), add(guest, host)); err != nil {
			return "", "", err
		}
	}
	for i, module := range []string{"drivers/virtio/virtio_ring", "drivers/virtio/virtio",
		"drivers/virtio/virtio_pci_modern_dev", "drivers/virtio/virtio_pci_legacy_dev",
		"drivers/virtio/virtio_pci", "net/core/failover", "drivers/net/net_failover",
		"drivers/net/virtio_net"} {
		if modules != "" {
			host := filepath.Join(modules, "kernel", module+".ko")
			if err := add(fmt.Sprintf("/modules/%d.ko", i), host); err != nil {
				return "", "", err
			}
		}
	}
	path = filepath.Join(b.dir, "wire.cpio")
	return vmlinuz, path, a.WriteFile(path)
}

// dial connects to a port of a machine.
func (s *server) dial(network, port string) (net.Conn, error) {
	c, err := net.DialTimeout(network, fmt.Sprintf("%s:1%04s", s.host, port), waiting)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(waiting))
	}
	return c, err
}

// get asks for a page.
func (s *server) get(c *http.Client, page string) (string, error) {
	r, err := c.Get("http://" + s.host + ":10080" + page)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// requests asks for a page n times, by so many connections at a time, which stay open. They are
// made one after the other: QEMU's forwarding has a backlog of 1, and on a busy host it would never
// take some of those that come at once.
func (s *server) requests(n, connections int) error {
	var left atomic.Int64
	left.Store(int64(n - connections)) // each asks once
	var first sync.Mutex
	return together(connections, func() error {
		client := &http.Client{Timeout: waiting, Transport: new(http.Transport)}
		defer client.CloseIdleConnections()
		ask := func() error {
			text, err := s.get(client, "/")
			if err != nil || text != "hello\n" {
				return fmt.Errorf("%q, %w", text, err)
			}
			return nil
		}
		first.Lock()
		err := ask()
		first.Unlock()
		for err == nil && left.Add(-1) >= 0 {
			err = ask()
		}
		return err
	})
}

// together does something n times at once.
func together(n int, do func() error) error {
	all := make([]error, n)
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { all[i] = do() })
	}
	wait.Wait()
	return errors.Join(all...)
}

// connect connects n times, one after the other, with a byte there and back by each.
func (s *server) connect(n int) error {
	for range n {
		c, err := s.dial("tcp", "7")
		if err != nil {
			return err
		}
		err = exchange(c, 1)
		if c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// pingPong sends a byte there and back n times.
func (s *server) pingPong(n int) error {
	c, err := s.dial("tcp", "7")
	if err != nil {
		return err
	}
	defer c.Close()
	return exchange(c, n)
}

func exchange(c net.Conn, n int) (err error) {
	b := make([]byte, 1)
	for i := 0; i < n && err == nil; i++ {
		if _, err = c.Write(b); err == nil {
			_, err = io.ReadFull(c, b)
		}
	}
	return err
}

// send sends n bytes to a machine.
func (s *server) send(n int) error {
	c, err := s.dial("tcp", "9")
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 64<<10)
	for left := n; left > 0; left -= len(b) {
		b = b[:min(left, len(b))]
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	var got int64
	if err := binary.Read(c, binary.BigEndian, &got); err != nil || got != int64(n) {
		return fmt.Errorf("%d bytes of %d have come, %w", got, n, err)
	}
	return nil
}

// receive takes n bytes from a machine.
func (s *server) receive(n int) error {
	c, err := s.dial("tcp", "19")
	if err != nil {
		return err
	}
	defer c.Close()
	if err := binary.Write(c, binary.BigEndian, int64(n)); err != nil {
		return err
	}
	if got, err := io.Copy(io.Discard, c); err != nil || got != int64(n) {
		return fmt.Errorf("%d bytes of %d have come, %w", got, n, err)
	}
	return nil
}

// datagrams sends n datagrams there and back, with some under way at each time. What is lost is
// sent again.
func (s *server) datagrams(n int) error {
	c, err := s.dial("udp", "7")
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, 512)
	for range atOnce {
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
	for range n {
		for {
			c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err = c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
		if err == nil {
			_, err = c.Write(b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// handshakes connects n times by TLS.
func (s *server) handshakes(n int) error {
	for range n {
		c, err := s.dial("tcp", "443")
		if err != nil {
			return err
		}
		err = tls.Client(c, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(context.Background())
		if c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// idle returns how much RAM a machine needs for n connections that have brought a byte, in KiB.
func (s *server) idle(n int) (kib float64, err error) {
	used := func() float64 {
		text, e := s.get(&http.Client{Timeout: waiting}, "/used")
		bytes, e2 := strconv.ParseFloat(text, 64)
		err = cmp.Or(err, e, e2)
		return bytes / 1024
	}
	before := used()
	for range n {
		c, err := s.dial("tcp", "7")
		if err != nil {
			return 0, err
		}
		defer c.Close()
		if err := exchange(c, 1); err != nil {
			return 0, err
		}
	}
	return used() - before, err
}
