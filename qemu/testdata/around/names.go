package main

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"syscall"
)

// names are those of the machine, its users and its services.
func names() {
	for _, name := range []string{"HOME", "LOGNAME", "PATH", "PWD", "USER", "TMPDIR"} {
		is("variable "+name, os.Getenv(name))
	}
	home, err := os.UserHomeDir()
	is("home", home, err)
	is("temporary folder", os.TempDir())
	dir, err := os.Getwd()
	is("working directory", dir, err)

	for _, id := range []string{"0", "70000"} {
		u, err := user.LookupId(id)
		is("user "+id, u != nil && u.Username == "root" && u.HomeDir == "/root" && u.Gid == "0", err)
		g, err := user.LookupGroupId(id)
		is("group "+id, g != nil && g.Name == "root", err)
	}
	_, err = user.Lookup("nobody at all")
	is("user nobody at all", err)

	host, err := os.Hostname()
	var uts syscall.Utsname
	syscall.Uname(&uts)
	var name []byte
	for _, c := range uts.Nodename {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	is("host", host == string(name), err)
	for _, file := range []string{"/proc/sys/kernel/hostname", "/etc/hostname"} {
		text, err := os.ReadFile(file)
		is(file, strings.TrimSpace(string(text)) == host, err)
	}

	for _, service := range []string{"tcp postgresql", "udp ntp", "tcp https", "udp syslog", "tcp nosuch"} {
		network, name, _ := strings.Cut(service, " ")
		port, err := net.DefaultResolver.LookupPort(context.Background(), network, name)
		is("port "+service, port, err)
	}
	addrs, err := net.LookupHost("localhost")
	is("localhost", len(addrs) > 0 && addrs[0] == "127.0.0.1" || len(addrs) > 1 && addrs[1] == "127.0.0.1", err)

	if os.Getenv("START") != "" {
		for range 2 {
			is("other program", exec.Command("/bin/true").Run())
		}
		for range 2 {
			_, err := net.Dial("tcp", "192.0.2.1:80")
			is("other machine", err)
			_, err = net.LookupHost("example.com")
			is("name server", err != nil)
		}
		is("this program", syscall.Exec("/proc/self/exe", []string{"around"}, nil))
		is("debugger", syscall.PtraceAttach(1))
	}
}
