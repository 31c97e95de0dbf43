// Wireinit is the first process of the Linux that the figures net.* are measured beside. It gets the
// network up by the address that QEMU's user network gives, and becomes the program wire.
package main

import (
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

func main() {
	must(unix.Mount("proc", "/proc", "proc", 0, ""))
	must(unix.Mount("dev", "/dev", "devtmpfs", 0, ""))
	modules, err := filepath.Glob("/modules/*.ko") // their names say in which order they are wanted
	must(err)
	slices.Sort(modules)
	for _, path := range modules {
		f, err := os.Open(path)
		must(err)
		must(unix.FinitModule(int(f.Fd()), "", 0))
		f.Close()
	}
	must(up("lo", 127, 0, 0, 1))
	must(up("eth0", 10, 0, 2, 15))
	must(unix.Exec("/wire", []string{"wire"}, os.Environ()))
}

// up gives an interface an address, and starts it. Source: netdevice(7).
func up(name string, address ...byte) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	if err := req.SetInet4Addr(address); err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCSIFADDR, req); err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
