package qemu

// QMP is QEMU's monitor protocol: JSON objects, one a line; a reply to each
// command in order, and events in between (QEMU docs/interop/qmp-spec). One
// reader takes them apart; commands wait for their turn.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// ErrMonitor is returned when the monitor refuses a command or is gone.
var ErrMonitor = errors.New("QEMU monitor")

// commandTimeout is how long a command may take. The monitor answers at once
// unless the host is badly overloaded, as by other tests, or QEMU hangs.
const commandTimeout = time.Minute

// qmpMessage is any message from the monitor.
type qmpMessage struct {
	Greeting json.RawMessage `json:"QMP"`
	Return   json.RawMessage `json:"return"`
	Error    *struct {
		Class, Desc string
	} `json:"error"`
	Event string `json:"event"`
	Data  struct {
		Reason string `json:"reason"`
		Error  string `json:"error"` // of DUMP_COMPLETED
	} `json:"data"`
}

// monitor is a connection to QEMU's monitor.
type monitor struct {
	conn    io.ReadWriteCloser
	replies chan qmpMessage // the greeting and the replies
	closed  chan struct{}   // closed when the connection has ended
	onEvent func(qmpMessage)
	pid     atomic.Int64 // of the process at the other end; 0: it is not known
	dumped  atomic.Value // string: what was wrong with the last dump

	mu sync.Mutex // held from a command to its reply
}

// newMonitor starts reading from conn. Events are given to onEvent by the reader,
// so it must not wait for a command.
func newMonitor(conn io.ReadWriteCloser, onEvent func(qmpMessage)) *monitor {
	m := &monitor{
		conn:    conn,
		replies: make(chan qmpMessage, 1),
		closed:  make(chan struct{}),
		onEvent: onEvent,
	}
	go m.read()
	return m
}

// read takes messages apart until the connection ends.
func (m *monitor) read() {
	defer close(m.closed)
	for d := json.NewDecoder(watchPeer(m.conn, &m.pid)); ; {
		var msg qmpMessage
		if err := d.Decode(&msg); err != nil {
			return
		}
		if msg.Event != "" {
			if msg.Event == "DUMP_COMPLETED" {
				m.dumped.Store(msg.Data.Error)
			}
			m.onEvent(msg)
			continue
		}
		// Nobody waits for the reply to a command that has timed out.
		select {
		case m.replies <- msg:
		default:
		}
	}
}

// handshake waits for the greeting and leaves the negotiation mode, after which
// the monitor takes commands and sends events.
func (m *monitor) handshake() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.reply("greeting"); err != nil {
		return err
	}
	_, err := m.send("qmp_capabilities", nil)
	return err
}

// run runs a command and returns what it returned, as JSON.
func (m *monitor) run(command string, arguments any) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.send(command, arguments)
}

// query runs a command, and reads what it returns.
func (m *monitor) query(command string, arguments, to any) error {
	out, err := m.run(command, arguments)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("%w: %s: %v", ErrMonitor, command, err)
	}
	return nil
}

// command runs a line of the monitor for humans.
func (m *monitor) command(line string) (text string, err error) {
	err = m.query("human-monitor-command", map[string]string{"command-line": line}, &text)
	return strings.ReplaceAll(text, "\r\n", "\n"), err
}

// hand gives QEMU a file, under a name.
func (m *monitor) hand(f *os.File, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.sendWith("getfd", map[string]string{"fdname": name}, func(line []byte) error {
		conn, ok := m.conn.(*net.UnixConn)
		if !ok {
			return errors.New("no file can be handed over this connection")
		}
		_, _, err := conn.WriteMsgUnix(line, rights(f), nil)
		return err
	})
	return err
}

func (m *monitor) send(command string, arguments any) (json.RawMessage, error) {
	return m.sendWith(command, arguments, func(line []byte) error {
		_, err := m.conn.Write(line)
		return err
	})
}

func (m *monitor) sendWith(command string, arguments any,
	write func(line []byte) error) (json.RawMessage, error) {
	line, err := json.Marshal(struct {
		Execute   string `json:"execute"`
		Arguments any    `json:"arguments,omitempty"`
	}{command, arguments})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrMonitor, command, err)
	}
	if err := write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("%w: %s: %v", ErrMonitor, command, err)
	}
	msg, err := m.reply(command)
	if err != nil {
		return nil, err
	}
	if msg.Error != nil {
		return nil, fmt.Errorf("%w: %s: %s", ErrMonitor, command, msg.Error.Desc)
	}
	return msg.Return, nil
}

// reply waits for the next message that is not an event.
func (m *monitor) reply(command string) (qmpMessage, error) {
	timer := time.NewTimer(commandTimeout)
	defer timer.Stop()
	select {
	case msg := <-m.replies:
		return msg, nil
	case <-m.closed:
		select {
		case msg := <-m.replies: // it came just before the end
			return msg, nil
		default:
		}
		return qmpMessage{}, fmt.Errorf("%w: %s: QEMU is gone", ErrMonitor, command)
	case <-timer.C:
		// Replies have no numbers here, so a late one must not be taken for
		// the next command's: the connection is of no use any more.
		m.conn.Close()
		return qmpMessage{}, fmt.Errorf("%w: %s: no answer within %v", ErrMonitor, command,
			commandTimeout)
	}
}
