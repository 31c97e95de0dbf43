package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// TCP, UDP and HTTP, as Go programs use them.

func tcp() {
	for _, network := range []string{"tcp4", "tcp6"} {
		host := map[string]string{"tcp4": "127.0.0.1", "tcp6": "[::1]"}[network]
		ln := must(net.Listen(network, host+":0"))
		say("%s listens at %v", network, ln.Addr())
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go func() {
					io.Copy(c, c)
					c.Close()
				}()
			}
		}()

		// Many connections at once, each with its own bytes.
		const many = 300
		var wg sync.WaitGroup
		failed := make([]error, many)
		for i := range many {
			wg.Go(func() { failed[i] = echo(network, ln.Addr().String(), i) })
		}
		wg.Wait()
		bad := 0
		for i, err := range failed {
			if err != nil {
				if bad++; bad < 5 {
					say("connection %d: %v", i, err)
				}
			}
		}
		say("%d connections, %d bad", many, bad)

		// Addresses, and a bound local one.
		c := must(net.Dial(network, ln.Addr().String()))
		say("%v to %v, %s", c.LocalAddr(), c.RemoteAddr(), c.LocalAddr().Network())
		c.Close()
		say("read after close: %s", why(c.Read(make([]byte, 1))))
		say("write after close: %s", why(c.Write(make([]byte, 1))))
		addr := ln.Addr().String()
		say("second listener: %s", why(net.Listen(network, addr)))
		ln.Close()
		say("refused: %s", why(net.Dial(network, addr)))
		ln = must(net.Listen(network, addr))
		say("the port can be had again: %v", ln.Addr())
		time.AfterFunc(20*time.Millisecond, func() { ln.Close() })
		say("accept, closed: %s", why(ln.Accept()))
	}

	a, b := tcpPair()
	// Half-close: the other direction goes on.
	a.Write([]byte("question"))
	a.CloseWrite()
	got, err := io.ReadAll(b)
	say("half-closed: %q %s", got, kindOf(err))
	b.Write([]byte("answer"))
	b.Close()
	got, err = io.ReadAll(a)
	say("and back: %q %s", got, kindOf(err))
	say("write after CloseWrite: %s", why(a.Write([]byte("x"))))
	a.Close()

	// Deadlines.
	a, b = tcpPair()
	a.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	say("read deadline: %s", why(a.Read(make([]byte, 1))))
	a.SetReadDeadline(time.Time{})
	b.Write([]byte("z"))
	n, err := a.Read(make([]byte, 1))
	say("read after deadline: %d %s", n, kindOf(err))
	a.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
	chunk := make([]byte, 1<<20)
	for err = nil; err == nil; {
		_, err = a.Write(chunk)
	}
	say("write deadline: %s", kindOf(err))
	a.Close()
	b.Close()

	// Closing with unread bytes, and with SO_LINGER 0, breaks the connection off.
	a, b = tcpPair()
	a.Write([]byte("unread"))
	time.Sleep(20 * time.Millisecond)
	b.Close()
	time.Sleep(20 * time.Millisecond)
	say("reset by unread bytes: %s", why(a.Read(make([]byte, 1))))
	say("and then: %s", why(a.Read(make([]byte, 1))))
	say("and writing: %s", why(a.Write([]byte("x"))))
	a.Close()
	a, b = tcpPair()
	b.SetLinger(0)
	b.Close()
	time.Sleep(20 * time.Millisecond)
	say("reset by linger 0: %s", why(a.Read(make([]byte, 1))))
	a.Close()

	// The other end is gone: the first write is lost, the next one fails.
	a, b = tcpPair()
	b.Close()
	time.Sleep(20 * time.Millisecond)
	say("first write: %s", why(a.Write([]byte("x"))))
	time.Sleep(20 * time.Millisecond)
	say("second write: %s", why(a.Write([]byte("x"))))
	a.Close()

	// Close unblocks a read.
	a, b = tcpPair()
	time.AfterFunc(20*time.Millisecond, func() { a.Close() })
	say("read, closed: %s", why(a.Read(make([]byte, 1))))
	b.Close()

	// Through both of the kernel's short cuts: a file by sendfile, a connection by splice.
	name := must(os.MkdirTemp("", "")) + "/file"
	data := bytes.Repeat([]byte("0123456789abcdef"), 50000)
	check(os.WriteFile(name, data, 0o600))
	f := must(os.Open(name))
	a, b = tcpPair()
	c, d := tcpPair()
	go func() {
		a.ReadFrom(io.LimitReader(f, 700001))
		a.CloseWrite()
	}()
	go func() {
		io.Copy(c, b)
		c.CloseWrite()
	}()
	got, err = io.ReadAll(d)
	say("by sendfile and splice: %d bytes, %t, %s", len(got), bytes.Equal(got, data[:700001]), kindOf(err))
	for _, c := range []net.Conn{a, b, c, d} {
		c.Close()
	}
	os.Remove(name)

	// A listener for all: both families come in.
	all := must(net.Listen("tcp", ":0"))
	_, port, _ := net.SplitHostPort(all.Addr().String())
	for _, host := range []string{"127.0.0.1", "127.0.0.2", "::1"} {
		c := must(net.Dial("tcp", net.JoinHostPort(host, port)))
		s := must(all.Accept())
		if host != "localhost" {
			say("by %s: %v and %v", host, c.RemoteAddr(), s.LocalAddr())
		}
		c.Close()
		s.Close()
	}
	all.Close()
}

func echo(network, addr string, i int) error {
	c, err := net.Dial(network, addr)
	if err != nil {
		return err
	}
	defer c.Close()
	sent := bytes.Repeat([]byte{byte(i), byte(i >> 8), 3}, 500+i)
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err == nil && !bytes.Equal(got, sent) {
		err = fmt.Errorf("%d bytes came back of %d", len(got), len(sent))
	}
	return err
}

func tcpPair() (a, b *net.TCPConn) {
	ln := must(net.Listen("tcp4", "127.0.0.1:0"))
	defer ln.Close()
	c := must(net.Dial("tcp4", ln.Addr().String()))
	return c.(*net.TCPConn), must(ln.Accept()).(*net.TCPConn)
}

func udp() {
	for _, host := range []string{"127.0.0.1", "::1"} {
		p := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host)}))
		say("listens at %v", p.LocalAddr())
		c := must(net.DialUDP("udp", nil, p.LocalAddr().(*net.UDPAddr)))
		say("%v to %v", c.LocalAddr(), c.RemoteAddr())
		for _, n := range []int{0, 1, 1500, 65000} {
			c.Write(bytes.Repeat([]byte{7}, n))
			b := make([]byte, 70000)
			got, from, err := p.ReadFrom(b)
			say("%d of %d bytes from %v, itself %t, %s", got, n, from, from.String() == c.LocalAddr().String(), kindOf(err))
		}
		c.Write([]byte("abcdef"))
		b := make([]byte, 3)
		n, _, flags, _, err := p.ReadMsgUDP(b, nil)
		say("cut: %q flags %#x %s", b[:n], flags, kindOf(err))
		_, err = p.WriteTo([]byte("back"), c.LocalAddr())
		n, err2 := c.Read(b)
		say("back: %q %s %s", b[:n], kindOf(err), kindOf(err2))
		say("too long: %s", why(c.Write(make([]byte, 66000))))
		say("WriteTo when connected: %s", why(c.WriteTo([]byte("x"), p.LocalAddr())))
		// Who is connected hears its peer only.
		other := must(net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(host)}))
		other.WriteTo([]byte("stranger"), c.LocalAddr())
		c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
		say("a stranger: %s", why(c.Read(b)))
		c.SetReadDeadline(time.Time{})
		other.Close()
		say("second listener: %s", why(net.ListenUDP("udp", p.LocalAddr().(*net.UDPAddr))))
		p.Close()
		say("to nobody: %s", why(c.Write([]byte("x"))))
		time.Sleep(10 * time.Millisecond)
		say("and again: %s", why(c.Write([]byte("x"))))
		c.Close()
	}
}

func serve() {
	ln := must(net.Listen("tcp", "127.0.0.1:0"))
	mux := http.NewServeMux()
	mux.HandleFunc("/sum", func(w http.ResponseWriter, r *http.Request) {
		h := sha256.New()
		n, err := io.Copy(h, r.Body)
		fmt.Fprintf(w, "%d %x %v", n, h.Sum(nil)[:8], err)
	})
	mux.HandleFunc("/from", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	srv := &http.Server{Handler: mux}
	ended := make(chan error)
	go func() { ended <- srv.Serve(ln) }()
	base := "http://" + ln.Addr().String()
	client := &http.Client{Timeout: 10 * time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 50}}
	get := func(path string, body []byte) string {
		resp, err := client.Post(base+path, "application/octet-stream", bytes.NewReader(body))
		if err != nil {
			return err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(b), " ", err)
	}
	first := get("/from", nil)
	say("keep-alive: %t", first == get("/from", nil))
	say("missing: %s", get("/nothing", nil))
	const many = 50
	answers := make([]string, many)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() { answers[i] = get("/sum", bytes.Repeat([]byte{byte(i)}, 1<<20)) })
	}
	wg.Wait()
	for i, a := range answers {
		say("%d: %s", i, a)
	}
	srv.Close()
	say("server: %v", <-ended)
	client.CloseIdleConnections()
}
