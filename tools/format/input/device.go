package input

// Serial lines: raw, 8 bits, no parity, one stop bit.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"go.bug.st/serial"
)

func device(path string, opt *Options) kind {
	k := kind{device: true, open: func(context.Context) (io.ReadCloser,
		error) {
		return openDevice(path, opt.Baud)
	}}
	if opt.Reconnect == Devices && pseudo(path) {
		k.once = true
	}
	return k
}

// openDevice opens a serial line, or another character device.
func openDevice(path string, baud int) (io.ReadCloser, error) {
	port, err := serial.Open(path, &serial.Mode{BaudRate: baud})
	var pe *serial.PortError
	if err == nil {
		return port, nil
	}
	if errors.As(err, &pe) {
		switch pe.Code() {
		case serial.InvalidSerialPort:
			return openOther(path, err)
		case serial.PermissionDenied:
			return nil, fmt.Errorf("%s: %w; your user may have to be in the group dialout", path, err)
		case serial.PortBusy:
			return nil, fmt.Errorf("%s: %w; another program has it open", path, err)
		case serial.InvalidSpeed:
			return nil, fmt.Errorf("%s: %w: %d bits a second", path, err, baud)
		}
	}
	return nil, fmt.Errorf("%s: %w", path, err)
}

// openOther opens a character device that is no serial line, such as /dev/null.
func openOther(path string, cause error) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeCharDevice == 0 {
		return nil, fmt.Errorf("%s: %w", path, cause)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return once{f}, nil
}

// once is a device that has an end, which is no reason to read it again.
type once struct{ io.ReadCloser }

// gone reports whether the error says that the other end of a serial line, or the
// line itself, is there no more.
func gone(err error) bool {
	var pe *serial.PortError
	return errors.Is(err, syscall.EIO) || errors.Is(err, syscall.ENXIO) ||
		errors.Is(err, syscall.ENODEV) ||
		errors.As(err, &pe) && pe.Code() == serial.PortClosed
}

// absent reports whether the error says that nothing is there (yet), which needs
// no word to somebody who knows that we wait.
func absent(err error) bool {
	var pe *serial.PortError
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) || gone(err) ||
		errors.As(err, &pe) && pe.Code() == serial.PortNotFound
}
