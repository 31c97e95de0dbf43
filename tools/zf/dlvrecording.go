//go:build !lean

package main

// `zf dlv` on a recording. Delve's only ways into a machine that somebody else runs are those
// for rr and for debugserver: it starts a program of that name, which says where it listens, or
// is told where Delve does. So it gets small scripts of these names, and this process serves it
// (package tools/machine/replay). As rr it goes backwards, too, but Delve asks the host then
// whether rr could work there.

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zeroframe/zeroframe/tools/machine/replay"
)

// recordingSuffix is that of the names of recordings.
const recordingSuffix = ".zfr"

// paranoid is the setting that rr needs to be 1 or less, and Delve looks at.
const paranoid = "/proc/sys/kernel/perf_event_paranoid"

// rrWorks reports whether Delve takes this host for one where rr works.
func rrWorks() bool {
	b, err := os.ReadFile(paranoid)
	if err != nil {
		return true
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n <= 1
}

// runDlvRecording runs Delve on a recording.
func (f *dlvFlags) runDlvRecording(c *call) error {
	dlv, err := findDlv()
	if err != nil {
		return err
	}
	r, err := c.openRecorded(f.path, f.trust)
	if err != nil {
		return err
	}
	if err := os.Chmod(r.elf, 0o700); err != nil { // Delve debugs nothing that cannot be run
		return err
	}
	ctx, stop := c.leaveInterrupts()
	defer stop()
	o, err := rewindOptions(ctx, r)
	if err != nil {
		return ofReplay(err)
	}
	o.Log = func(s string) { c.say("%s", printable(s)) }
	bin := filepath.Join(r.tmp, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	served := make(chan struct{})
	var cmd, env []string
	if f.reverse || rrWorks() {
		cmd, env, err = asRR(ctx, bin, r.elf, f.path, o, served)
	} else {
		c.say("forwards alone: Delve goes backwards where %s is 1 or less, which rr would need; set it, or use gdb: zf replay -gdb ADDR -reverse", paranoid)
		cmd, env, err = asDebugserver(ctx, bin, r.elf, o, served, nil)
	}
	if err != nil {
		return err
	}
	if cmd, err = f.command(cmd, r.tmp); err != nil {
		return err
	}
	err = c.onTerminal(ctx, dlv, cmd, env...)
	end()
	<-served
	return err
}

// asRR has Delve take this process for rr. served is closed when nobody is served any more.
func asRR(ctx context.Context, bin, elf, recording string, o replay.Options,
	served chan struct{}) (cmd, env []string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	script := fmt.Sprintf(`#!/bin/sh
case $1 in
--version)
	echo rr version 5.9.0
	;;
replay)
	echo Launch debugger with >&2
	echo "  'gdb' '-ex' 'target extended-remote %s' '%s'" >&2
	while kill -0 $PPID 2>/dev/null; do sleep 1; done
	;;
esac
`, l.Addr(), elf)
	if err := os.WriteFile(filepath.Join(bin, "rr"), []byte(script), 0o700); err != nil {
		l.Close()
		return nil, nil, err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(ctx, conn, o)
		}
	}()
	return []string{"replay", recording}, []string{"PATH=" +
		bin + string(filepath.ListSeparator) + os.Getenv("PATH")}, nil
}

// asDebugserver has Delve take this process for debugserver, which connects to Delve: the
// script says where to, in a file, and with which arguments the program is to run, which restarts
// gets before each start. nil: a recording has its own.
func asDebugserver(ctx context.Context, bin, elf string, o replay.Options,
	served chan struct{}, restarts func(args []string)) (cmd, env []string, err error) {
	o.Exits = true
	address, script := filepath.Join(bin, "address"), filepath.Join(bin, "debugserver")
	text := fmt.Sprintf(`#!/bin/sh
while [ $# -gt 0 ]; do
	case "$1 $2" in
	"-R "*) address=$2 ;;
	--std*"-path /dev/"*) ;;
	--std*-path*) echo "zf dlv: < and > of restart do nothing: the input is empty, and the output comes here" >&2 ;;
	"-- "*) shift 2; break ;;
	esac
	shift
done
[ "$address" ] || exit # Delve asks what the command can do
printf '%%s\0' "$address" "$@" >%[1]s.new && mv %[1]s.new %[1]s
while kill -0 $PPID 2>/dev/null; do sleep 1; done
`, address)
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		return nil, nil, err
	}
	go func() {
		defer close(served)
		for ctx.Err() == nil {
			b, err := os.ReadFile(address)
			if err != nil {
				select {
				case <-ctx.Done():
				case <-time.After(askEvery):
				}
				continue
			}
			os.Remove(address) // it was moved here as a whole
			words := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
			if restarts != nil {
				restarts(words[1:])
			}
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", words[0])
			if err != nil {
				o.Log(err.Error())
				continue
			}
			serve(ctx, conn, o)
		}
	}()
	return []string{"exec", elf, "--backend=lldb"}, []string{"DELVE_DEBUGSERVER_PATH=" + script}, nil
}

// serve serves one of Delve's sessions.
func serve(ctx context.Context, conn net.Conn, o replay.Options) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := replay.Serve(ctx, conn, o); err != nil && ctx.Err() == nil {
		o.Log(withStart(err).Error())
	}
}
