// A program that talks to other machines, for TestInet. It imports nothing of Zeroframe's.
//
//	inet HTTP TCP UDP   what servers of the host, at these addresses, say
//	inet serve          a server for clients on the host; one dies of /die
//	inet addresses      the machine's addresses
//	inet tables         what /proc/net has
//	inet time           the time of day
//	inet lease          waits for addresses of version 6, then for one of version 4
//	inet trust URL      what it has, if TLS knows the server
//	inet groups         hears datagrams for groups and for all machines, and sends some
//	inet leave HOW TCP UDP
//	                    sends, and exits at once
//	inet pipe TCP       closes connections while the server sends, and says if a signal comes
//	inet asleep TCP     waits for itself alone, first until a timer, and then for ever
package main

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func main() {
	switch os.Args[1] {
	case "serve":
		serve()
	case "addresses":
		addresses()
	case "tables":
		tables()
	case "time":
		fmt.Println(time.Now().UTC().Format(time.DateTime))
	case "lease":
		lease()
	case "trust":
		trust(os.Args[2])
	case "groups":
		groups()
	case "leave":
		leave(os.Args[2], os.Args[3], os.Args[4])
	case "pipe":
		pipe(os.Args[2])
	case "asleep":
		asleep(os.Args[2])
	default:
		ask(os.Args[1], os.Args[2], os.Args[3])
	}
}

// addresses prints the addresses of each interface, when the router has said what begins those of
// version 6.
func addresses() {
	ifaces, _ := net.Interfaces()
	for _, i := range ifaces {
		var all []string
		for began := time.Now(); len(all) < 3 && time.Since(began) < limit; {
			a, err := i.Addrs()
			if err != nil {
				panic(err)
			}
			all = nil
			for _, p := range a {
				all = append(all, p.String())
			}
			if i.Flags&net.FlagLoopback != 0 {
				break
			}
			runtime.Gosched()
		}
		slices.Sort(all)
		fmt.Println(i.Name, i.HardwareAddr, all)
	}
}

// lease waits for addresses: first for those that a router's prefixes lead to, then for a lease.
func lease() {
	count := func(v4 bool) (n int) {
		all, _ := net.InterfaceAddrs()
		for _, a := range all {
			if ip := a.(*net.IPNet).IP; !ip.IsLoopback() && (ip.To4() != nil) == v4 {
				n++
			}
		}
		return n
	}
	for began := time.Now(); count(false) < 6 && time.Since(began) < limit; {
		time.Sleep(time.Millisecond)
	}
	say("of version 6", count(false))
	for began := time.Now(); count(true) == 0 && time.Since(began) < limit; {
		time.Sleep(time.Millisecond)
	}
	say("of version 4", count(true))
}

// trust prints what a server sends by TLS.
func trust(url string) {
	client := http.Client{Timeout: limit}
	for range 2 { // the note comes once
		r, err := client.Get(url)
		if err != nil {
			say("trust", err)
			continue
		}
		b, err := io.ReadAll(r.Body)
		say("trust", string(b), err)
	}
}

// tables prints what /proc/net has, and the groups of eth0.
func tables() {
	tcp, _ := net.Listen("tcp4", "127.0.0.1:8080")
	net.Listen("tcp", "[::]:9090")
	net.Dial("tcp4", tcp.Addr().String())
	net.ListenPacket("udp4", ":53")
	net.Dial("udp6", "[::1]:7")
	eth, _ := net.InterfaceByName("eth0")
	for a, _ := eth.Addrs(); len(a) < 2; a, _ = eth.Addrs() {
		runtime.Gosched() // the one of version 6 is being tried
	}
	net.ListenMulticastUDP("udp4", eth, &net.UDPAddr{IP: net.IPv4(239, 1, 2, 3), Port: 5000})
	net.ListenMulticastUDP("udp6", eth, &net.UDPAddr{IP: net.ParseIP("ff02::1234"), Port: 5000})
	for _, name := range []string{"dev", "if_inet6", "igmp", "igmp6", "route", "tcp", "tcp6", "udp", "udp6"} {
		text, err := os.ReadFile("/proc/net/" + name)
		fmt.Printf("%s: %v\n%s", name, err, text)
	}
	groups, err := eth.MulticastAddrs()
	fmt.Println("groups:", groups, err)
}

// groups hears a datagram for each group, and one for all machines, and then sends to them.
func groups() {
	eth, err := net.InterfaceByName("eth0")
	for a, _ := eth.Addrs(); len(a) < 2; a, _ = eth.Addrs() {
		runtime.Gosched() // the one of version 6 is being tried
	}
	hear := func(c net.PacketConn, err error, what string) {
		if err != nil {
			say(what, err)
			return
		}
		defer c.Close()
		say("listens", what)
		b := make([]byte, 100)
		n, from, err := c.ReadFrom(b)
		say("heard", from, string(b[:n]), err)
	}
	all := []string{"239.1.2.3:5000", "[ff02::1234]:5000"}
	for _, group := range all {
		a, _ := net.ResolveUDPAddr("udp", group)
		c, err := net.ListenMulticastUDP("udp", eth, a)
		hear(c, err, group)
	}
	c, err := net.ListenPacket("udp4", ":5000")
	hear(c, err, "all")
	for _, to := range []string{"239.1.2.3:5001", "[ff02::1234%eth0]:5001", "255.255.255.255:5001", "10.9.0.255:5001"} {
		c, err := net.Dial("udp", to)
		if err == nil {
			_, err = c.Write([]byte("to " + to))
		}
		say("sent", to, err)
	}
	// What a machine sends to a group of its own, it hears as well.
	a, _ := net.ResolveUDPAddr("udp4", all[0])
	m, err := net.ListenMulticastUDP("udp4", eth, a)
	if d, err := net.Dial("udp4", all[0]); err == nil {
		d.Write([]byte("myself"))
	}
	hear(m, err, "myself")
	_, err = net.Dial("tcp", "255.255.255.255:1")
	say("stream", errors.Is(err, syscall.ENETUNREACH))
}

// leave sends a million bytes and some datagrams, and exits as how says.
func leave(how, stream, datagrams string) {
	c, err := net.Dial("tcp", stream)
	if err != nil {
		panic(err)
	}
	u, err := net.Dial("udp", datagrams)
	if err != nil {
		panic(err)
	}
	_, err = c.Write(bytes.Repeat([]byte("x"), 1e6))
	for i := range 8 {
		fmt.Fprint(u, how, i)
	}
	say("sent", err)
	switch how {
	case "close":
		c.Close()
	case "exit":
		os.Exit(3)
	}
}

// pipe closes connections to a server that sends without an end, each a little later.
func pipe(stream string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGPIPE)
	for n := range 50 {
		c, err := net.Dial("tcp", stream)
		if err == nil {
			c.(*net.TCPConn).CloseWrite()
			_, err = io.CopyN(io.Discard, c, int64(n)*1000)
			c.Close()
		}
		if err != nil {
			say("pipe", err)
			return
		}
	}
	select {
	case s := <-signals:
		say("signal", s)
	default:
		say("no signal")
	}
}

// asleep ends in a deadlock, with a connection open.
func asleep(stream string) {
	c, err := net.Dial("tcp", stream)
	say("dial", err)
	defer c.Close()
	var mu sync.Mutex
	mu.Lock()
	time.AfterFunc(2*time.Second, mu.Unlock) // the network looks for a deadlock meanwhile
	mu.Lock()
	say("woken")
	mu.Lock()
}

// limit is more than any answer takes.
const limit = time.Minute

// say prints a step's name and result.
func say(step string, v ...any) { fmt.Println(append([]any{step + ":"}, v...)...) }

func ask(web, stream, datagrams string) {
	client := http.Client{Timeout: limit}
	var all sync.WaitGroup
	var mu sync.Mutex
	seen := make(map[string]int)
	for range 8 {
		all.Go(func() {
			for range 5 {
				got := "?"
				if r, err := client.Get("http://" + web + "/"); err != nil {
					got = err.Error()
				} else {
					b, err := io.ReadAll(r.Body)
					r.Body.Close()
					got = fmt.Sprint(r.StatusCode, " ", string(b), " ", err)
				}
				mu.Lock()
				seen[got]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	say("get", seen)

	c, err := net.DialTimeout("tcp", stream, limit)
	if err != nil {
		say("dial", err)
		return
	}
	local, remote := c.LocalAddr().(*net.TCPAddr), c.RemoteAddr().String() == stream
	say("addresses", local.IP, local.Port != 0, remote)
	// The server sends back what it has read when nothing more comes.
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		c.Write(big)
		c.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(c)
	say("half closed", len(back), sha256.Sum256(back) == sha256.Sum256(big), err)
	c.Close()

	before := runtime.NumGoroutine()
	_, err = net.DialTimeout("tcp", "10.0.2.2:1", limit)
	say("refused", errors.Is(err, syscall.ECONNREFUSED), err)
	for runtime.NumGoroutine() > before { // those of the attempt end
		runtime.Gosched()
	}
	c, err = net.DialTimeout("tcp", stream, limit)
	if err == nil {
		c.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		_, err = c.Read(make([]byte, 1))
		c.Close()
	}
	say("deadline", errors.Is(err, os.ErrDeadlineExceeded))
	c, _ = net.Dial("tcp", stream)
	l, err := net.Listen("tcp", fmt.Sprint(":", c.RemoteAddr().(*net.TCPAddr).Port))
	say("the port that another machine has", err)
	l.Close()
	c.Close()

	u, err := net.Dial("udp", datagrams)
	if err != nil {
		say("udp", err)
		return
	}
	for _, n := range []int{1, 1472, 4000} {
		u.SetDeadline(time.Now().Add(limit))
		u.Write(big[:n])
		b := make([]byte, 5000)
		k, err := u.Read(b)
		say("udp", k, bytes.Equal(b[:k], big[:n]), err)
	}
	u, _ = net.Dial("udp", "10.0.2.2:1")
	u.Write(big[:1])
	u.SetDeadline(time.Now().Add(limit))
	_, err = u.Read(big[:1])
	say("nobody takes it", errors.Is(err, syscall.ECONNREFUSED))
	options(stream)
	whole(datagrams)
	netlink()
	ifaces, _ := net.Interfaces()
	for _, i := range ifaces {
		a, err := i.Addrs()
		say(i.Name, i.MTU, i.HardwareAddr, len(a) > 0, err)
	}
	file, err := os.ReadFile("/etc/resolv.conf")
	say("names", bytes.Contains(file, []byte("nameserver 10.0.2.3\n")), err)
}

// options sends bytes with a type of service that their packets show, and is done at once with half
// of the connections.
func options(stream string) {
	var err error
	for i := range 40 {
		c, _ := net.Dial("tcp", stream)
		raw, _ := c.(*net.TCPConn).SyscallConn()
		raw.Control(func(fd uintptr) { syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TOS, 0xb8) })
		c.Write([]byte("with the option"))
		if i%2 == 0 {
			c.(*net.TCPConn).CloseWrite()
			_, e := io.ReadAll(c)
			err = errors.Join(err, e)
		}
		c.Close()
	}
	say("options", err)
}

func serve() {
	l, err := net.Listen("tcp", ":7")
	if err != nil {
		panic(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go func() {
				raw, err := c.(*net.TCPConn).SyscallConn()
				for _, service := range []int{4, 8, 16} { // its packets have the last one
					raw.Control(func(fd uintptr) {
						err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_TOS, service)
					})
				}
				if err != nil {
					panic(err)
				}
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	if _, err := net.Listen("tcp", "127.0.0.1:6000"); err != nil { // not for others
		panic(err)
	}
	u, err := net.ListenPacket("udp", ":7")
	if err != nil {
		panic(err)
	}
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, from, err := u.ReadFrom(b)
			if err != nil {
				panic(err)
			}
			if !from.(*net.UDPAddr).IP.IsUnspecified() { // it would be our own
				u.WriteTo(b[:n], from)
			}
		}
	}()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from here") })
	http.HandleFunc("/memory", memory)
	http.HandleFunc("/fetch", fetch)
	http.HandleFunc("/die", func(http.ResponseWriter, *http.Request) { go die() })
	http.HandleFunc("/exit", func(http.ResponseWriter, *http.Request) { os.Exit(3) })
	http.HandleFunc("/edges", func(http.ResponseWriter, *http.Request) { edges() })
	fmt.Println("serving")
	panic(http.ListenAndServe(":80", nil))
}

// fetch sends n random bytes to the server at, which sends them back, and compares them; or, with
// reset, it breaks the connection off halfway.
func fetch(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	c, err := net.DialTimeout("tcp", r.FormValue("at"), limit)
	if err != nil {
		fmt.Fprint(w, err)
		return
	}
	defer c.Close()
	sent := make([]byte, n)
	rand.Read(sent)
	if r.FormValue("reset") != "" {
		c.Write(sent)
		c.(*net.TCPConn).SetLinger(0)
		fmt.Fprint(w, "reset")
		return
	}
	go func() {
		c.Write(sent)
		c.(*net.TCPConn).CloseWrite()
	}()
	back, err := io.ReadAll(c)
	fmt.Fprint(w, "same: ", bytes.Equal(back, sent), " ", err)
}

// memory tells what is in use.
func memory(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var total, free int
	b, _ := os.ReadFile("/proc/meminfo")
	fmt.Sscanf(string(b), "MemTotal: %d kB\nMemFree: %d kB", &total, &free)
	fmt.Fprintf(w, `{"Heap":%d,"Goroutines":%d,"Memory":%d}`, m.HeapAlloc, runtime.NumGoroutine(), (total-free)<<10)
}

//go:noinline
func die() {
	var m map[string]int
	m["x"] = 1
}
