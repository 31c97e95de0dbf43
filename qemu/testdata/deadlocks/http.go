//go:build !small

package main

// The programs that need net/http, which is most of the image: it takes longer to load than the rest.

import (
	"fmt"
	"io"
	"net"
	"net/http"
)

func init() {
	stops["body"], works["server"] = bodyNotClosed, server
}

// A client with one connection, which the first response has.
func bodyNotClosed() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "some text") }))
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	url := "http://" + l.Addr().String()
	first, err := client.Get(url)
	if err != nil {
		panic(err)
	}
	fmt.Println(first.Status)
	fmt.Println("stopped")
	second, err := client.Get(url) // first.Body is open
	fmt.Println(second, err)
	first.Body.Close()
}

func server() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "some text") }))
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	for range 3 {
		go func() {
			for {
				r, err := client.Get("http://" + l.Addr().String())
				if err != nil {
					continue
				}
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
	}
	select {}
}
