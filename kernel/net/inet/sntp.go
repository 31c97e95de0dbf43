package inet

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// The time of day of a server: SNTP (RFC 5905, section 14, and its figure 8).

const (
	sntpPort  = "123"
	sntpSize  = 48              // bytes of a packet without extensions
	sntpAsk   = 4<<3 | 3        // version 4, mode: client
	sntpAlarm = 3               // of the leap indicator: the server does not know the time itself
	sntpGives = 4               // mode: server
	sntpLimit = 2 * time.Second // of one question
	// timeAgain is how long a time that was set is believed.
	timeAgain = time.Hour
	// Seconds from 1900, when NTP's time begins, and from 2036, when its first bit is 0 again, to
	// 1970.
	sntpEra0 = -2208988800
	sntpEra1 = 2085978496
)

// keepTime sets the clock by a server's, again and again; told is closed when that has been done
// once. It says once why it cannot.
func (n *network) keepTime(server string, told chan<- struct{}) {
	if server == "" {
		fmt.Fprintln(os.Stderr, "inet: ntp= names no server; the clock is not set")
		close(told)
		return
	}
	if _, _, err := net.SplitHostPort(server); err != nil {
		server = net.JoinHostPort(strings.Trim(server, "[]"), sntpPort)
	}
	said := false
	for wait := firstTry; ; {
		off, err := askTime(server)
		if err == nil {
			err = stepClock(off)
		}
		if err == nil {
			if told != nil {
				close(told)
				told = nil
			}
			<-n.clock.after(timeAgain)
			wait = firstTry
			continue
		}
		if !said {
			fmt.Fprintf(os.Stderr, "inet: ntp=: %v; the clock is not set yet\n", err)
			said = true
		}
		<-n.clock.after(wait)
		wait = min(2*wait, longestTry)
	}
}

// askTime returns by how much a server's clock is ahead of this one.
func askTime(server string) (time.Duration, error) {
	c, err := net.DialTimeout("udp", server, sntpLimit)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(sntpLimit))
	ask, b := [sntpSize]byte{sntpAsk}, make([]byte, sntpSize)
	rand.Read(ask[40:]) // comes back, and nobody else can know it
	sent := time.Now()
	if _, err := c.Write(ask[:]); err != nil {
		return 0, err
	}
	for {
		k, err := c.Read(b)
		if err != nil {
			return 0, err
		}
		took := time.Since(sent)
		if k < sntpSize || [8]byte(b[24:]) != [8]byte(ask[40:]) {
			continue // no answer to this
		}
		if b[0]&7 != sntpGives || b[0]>>6 == sntpAlarm || b[1] == 0 || b[1] > 15 {
			return 0, errors.New(server + " does not know the time")
		}
		// The server had the question and gave the answer in the middle, as far as anybody can tell.
		received, gave := sntpTime(b[32:]), sntpTime(b[40:])
		return received.Add(gave.Sub(received) / 2).Sub(sent.Add(took / 2)), nil
	}
}

// sntpTime reads a time stamp: seconds, and a fraction of 32 bits.
func sntpTime(b []byte) time.Time {
	s, fraction := int64(binary.BigEndian.Uint32(b)), uint64(binary.BigEndian.Uint32(b[4:]))
	zero := int64(sntpEra1)
	if s>>31 != 0 {
		zero = sntpEra0
	}
	return time.Unix(s+zero, int64(fraction*1e9>>32))
}

// stepClock moves the machine's time of day.
func stepClock(by time.Duration) error {
	now := time.Now().Add(by)
	ts := syscall.NsecToTimespec(now.UnixNano())
	const realtime = 0
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_SETTIME, realtime,
		uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
		return fmt.Errorf("setting the clock: %w", e)
	}
	return nil
}
