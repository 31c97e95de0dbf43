// Wire serves what the figures net.* are measured with: the same file on Zeroframe and on Linux.
//
//	:80   HTTP: /, and /used, the machine's memory in use, in bytes
//	:443  TLS, handshakes alone
//	:7    what comes is sent back, by TCP and UDP
//	:9    what comes until its end is counted, and the count sent, eight bytes
//	:19   so many bytes are sent as the eight bytes say that come
//
// It says "serving" when all listen.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"time"
)

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "hello\n") })
	http.HandleFunc("/used", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, used()) })
	web, err := net.Listen("tcp", ":80")
	must(err)
	go http.Serve(web, nil)
	serve(":7", func(c net.Conn) { io.Copy(c, c) })
	serve(":9", func(c net.Conn) {
		n, _ := io.Copy(io.Discard, c)
		binary.Write(c, binary.BigEndian, n)
	})
	serve(":19", func(c net.Conn) {
		var n int64
		if binary.Read(c, binary.BigEndian, &n) == nil {
			io.CopyN(c, zeros{}, n)
		}
	})
	config := &tls.Config{Certificates: []tls.Certificate{certificate()}}
	serve(":443", func(c net.Conn) { tls.Server(c, config).Handshake() })
	packets, err := net.ListenPacket("udp", ":7")
	must(err)
	go func() {
		b := make([]byte, 1500)
		for {
			if n, from, err := packets.ReadFrom(b); err == nil {
				packets.WriteTo(b[:n], from)
			}
		}
	}()
	fmt.Println("serving")
	select {}
}

// serve answers the connections to an address.
func serve(address string, answer func(net.Conn)) {
	l, err := net.Listen("tcp", address)
	must(err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				continue
			}
			go func() {
				answer(c)
				c.Close()
			}()
		}
	}()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

var sizes = regexp.MustCompile(`(MemTotal|MemFree|Buffers|Cached): +(\d+) kB`)

// used is the memory that is in use after a collection of garbage, in bytes, without Linux's caches
// of files.
func used() (n int) {
	runtime.GC()
	text, err := os.ReadFile("/proc/meminfo")
	must(err)
	for _, m := range sizes.FindAllStringSubmatch(string(text), -1) {
		kib, _ := strconv.Atoi(m[2])
		if m[1] != "MemTotal" {
			kib = -kib
		}
		n += kib << 10
	}
	return n
}

// certificate makes one that lasts as long as the machine.
func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	must(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
