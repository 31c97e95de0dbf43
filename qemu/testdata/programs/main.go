// Servers of other people's, as they are used: gRPC, websockets, client_golang's metrics, SSH, DNS,
// NATS and net/http/pprof, each on its usual port. Client talks to them from the host.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"time"

	"github.com/coder/websocket"
	"github.com/gliderlabs/ssh"
	"github.com/miekg/dns"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	l, err := net.Listen("tcp", ":50051")
	if err != nil {
		log.Fatal(err)
	}
	g := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(g, health.NewServer())
	go func() { log.Fatal(g.Serve(l)) }()

	dns.HandleFunc("example.org.", answer)
	for _, network := range []string{"tcp", "udp"} {
		ready := make(chan bool)
		s := &dns.Server{Addr: ":53", Net: network, NotifyStartedFunc: func() { close(ready) }}
		go func() { log.Fatal(s.ListenAndServe()) }()
		<-ready
	}

	n, err := server.NewServer(&server.Options{Port: 4222, JetStream: true, StoreDir: "/tmp/nats",
		NoLog: true})
	if err != nil {
		log.Fatal(err)
	}
	n.Start()
	if !n.ReadyForConnections(5 * time.Minute) {
		log.Fatal("NATS is not ready")
	}

	shell, err := net.Listen("tcp", ":22")
	if err != nil {
		log.Fatal(err)
	}
	go func() {
		log.Fatal(ssh.Serve(shell, func(s ssh.Session) {
			n, _ := io.Copy(s, s)
			fmt.Fprintf(s, "%s sent %d", s.User(), n)
			s.Exit(7)
		}))
	}()

	http.Handle("/metrics", promhttp.Handler())
	http.HandleFunc("/echo", echo)
	web, err := net.Listen("tcp", ":80")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving")
	log.Fatal(http.Serve(web, nil))
}

func answer(w dns.ResponseWriter, r *dns.Msg) {
	m := new(dns.Msg).SetReply(r)
	a, err := dns.NewRR(r.Question[0].Name + " 60 IN A 192.0.2.1")
	if err != nil {
		log.Print(err)
	}
	m.Answer = []dns.RR{a}
	w.WriteMsg(m)
}

func echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer c.CloseNow()
	for {
		kind, b, err := c.Read(context.Background())
		if err != nil || c.Write(context.Background(), kind, b) != nil {
			return
		}
	}
}
