// Client talks to the servers of the folder above, which are at an address given, by the ports that
// TestPrograms forwards, and says of each what it has answered.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/miekg/dns"
	"github.com/nats-io/nats.go"
	"golang.org/x/crypto/ssh"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
)

const patience = 5 * time.Minute

var (
	ctx  context.Context
	host = os.Args[1]
	long = make([]byte, 30_000)
)

func main() {
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), patience)
	defer cancel()
	rand.Read(long)
	for _, try := range []struct {
		name string
		f    func() (string, error)
	}{
		{"grpc", rpc}, {"websocket", socket}, {"metrics", metrics}, {"ssh", shell},
		{"dns udp", func() (string, error) { return lookup("udp") }},
		{"dns tcp", func() (string, error) { return lookup("tcp") }},
		{"nats", messages}, {"pprof", profile},
	} {
		s, err := try.f()
		if err != nil {
			log.Fatal(try.name, ": ", err)
		}
		fmt.Printf("%s: %s\n", try.name, s)
	}
}

func rpc() (string, error) {
	c, err := grpc.NewClient(host+":50051", grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return "", err
	}
	defer c.Close()
	r, err := grpc_health_v1.NewHealthClient(c).Check(ctx, new(grpc_health_v1.HealthCheckRequest), grpc.WaitForReady(true))
	return r.GetStatus().String(), err
}

func socket() (string, error) {
	c, _, err := websocket.Dial(ctx, "ws://"+host+":8080/echo", nil)
	if err != nil {
		return "", err
	}
	defer c.CloseNow()
	if err := c.Write(ctx, websocket.MessageBinary, long); err != nil {
		return "", err
	}
	_, b, err := c.Read(ctx)
	return fmt.Sprint(bytes.Equal(b, long)), err
}

func get(path string) (string, error) {
	r, err := http.Get("http://" + host + ":8080" + path)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

func metrics() (string, error) {
	s, err := get("/metrics")
	return fmt.Sprint(strings.Contains(s, "\npromhttp_metric_handler_requests_in_flight 1\n"),
		strings.Contains(s, "\nprocess_open_fds ")), err
}

func shell() (string, error) {
	c, err := ssh.Dial("tcp", host+":2222", &ssh.ClientConfig{User: "ann", HostKeyCallback: ssh.InsecureIgnoreHostKey()})
	if err != nil {
		return "", err
	}
	defer c.Close()
	s, err := c.NewSession()
	if err != nil {
		return "", err
	}
	s.Stdin = bytes.NewReader(long)
	out, err := s.Output("copy")
	said, same := bytes.CutPrefix(out, long)
	return fmt.Sprintf("%v, %s, %v", same, said, err), nil
}

func lookup(network string) (string, error) {
	m := new(dns.Msg).SetQuestion("www.example.org.", dns.TypeA)
	r, _, err := (&dns.Client{Net: network, Timeout: patience}).Exchange(m, host+":5353")
	if err != nil {
		return "", err
	}
	return r.Answer[0].(*dns.A).A.String(), nil
}

func messages() (string, error) {
	c, err := nats.Connect("nats://"+host+":4222", nats.Timeout(patience))
	if err != nil {
		return "", err
	}
	defer c.Close()
	js, err := c.JetStream(nats.MaxWait(patience))
	if err != nil {
		return "", err
	}
	if _, err := js.AddStream(&nats.StreamConfig{Name: "kept", Subjects: []string{"a.*"}}); err != nil {
		return "", err
	}
	for i := range 9 {
		if _, err := js.Publish("a.b", fmt.Append(nil, i)); err != nil {
			return "", err
		}
	}
	sub, err := js.SubscribeSync("a.*")
	if err != nil {
		return "", err
	}
	all := ""
	for range 9 {
		m, err := sub.NextMsg(patience)
		if err != nil {
			return all, err
		}
		all += string(m.Data)
	}
	return all, nil
}

func profile() (string, error) {
	s, err := get("/debug/pprof/goroutine?debug=2")
	return fmt.Sprint(strings.Contains(s, "main.main()")), err
}
