package qemu

import (
	"fmt"
	"net"
	"os"
)

// hostError is the reason why this host cannot drive QEMU: Windows hands no sockets to a child
// process.
var hostError = fmt.Errorf(
	"%w: zf cannot drive it on Windows; run zf in WSL, where it is a Linux program", ErrQEMU)

func socketPair() (net.Conn, *os.File, error) { return nil, nil, hostError }

func rights(*os.File) []byte { return nil }

func widen(*os.File) {}

func again(*os.File) (*os.File, error) { return nil, hostError }

func blocking(*os.File) error { return hostError }

func unread(net.Conn) int { return 0 }

// hangUp is for hosts that have terminals.
func hangUp(string) {}
