package receive

// What is shown: lines with the machine's name in front, or JSON. Lines come from the
// intake and traces from other goroutines; none comes into the middle of another.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/terminal"
)

// outChunk is when what has been gathered is written, in bytes.
const outChunk = 64 << 10

// output gathers what is shown. It is safe for concurrent use.
type output struct {
	mu   sync.Mutex
	w    io.Writer
	safe bool // control characters are made visible
	buf  []byte
	err  error // of the first write that failed
}

func (o *output) flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write()
	return o.err
}

// write writes what there is. The lock is held.
func (o *output) write() {
	if len(o.buf) > 0 && o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}

// line adds a log line.
func (o *output) line(l *Line) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(append(o.buf, l.Machine...), ": "...)
	if l.HasMeta {
		o.buf = appendUptime(o.buf, l.Micros)
	}
	o.buf = append(o.text(l.Text), '\n')
	if len(o.buf) >= outChunk {
		o.write()
	}
}

// text appends text of a machine to what is gathered.
func (o *output) text(b []byte) []byte {
	if o.safe {
		return terminal.AppendClean(o.buf, b)
	}
	return append(o.buf, b...)
}

// appendUptime appends a time as Linux shows it in front of a line.
func appendUptime(b []byte, micros uint64) []byte {
	b = append(b, '[')
	from := len(b)
	b = strconv.AppendUint(b, micros/1e6, 10)
	for len(b)-from < 5 {
		b = append(b, 0)
		copy(b[from+1:], b[from:])
		b[from] = ' '
	}
	b = append(b, '.')
	from = len(b)
	b = strconv.AppendUint(b, 1e6+micros%1e6, 10) // with its leading zeros, behind a 1
	copy(b[from:], b[from+1:])
	return append(b[:len(b)-1], "] "...)
}

// block adds the lines of a text that has been made safe already.
func (o *output) block(name string, text []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for one := range bytes.Lines(text) {
		o.buf = append(append(o.buf, name...), ": "...)
		one = bytes.TrimRight(bytes.TrimSuffix(one, []byte("\n")), "\r")
		if !o.safe {
			o.buf = append(append(o.buf, one...), '\n')
			continue
		}
		for _, c := range one {
			// A console needs these two; here they could write over the name.
			if c == '\r' || c == '\b' {
				o.buf = fmt.Appendf(o.buf, `\x%02x`, c)
				continue
			}
			o.buf = append(o.buf, c)
		}
		o.buf = append(o.buf, '\n')
	}
	if len(o.buf) >= outChunk {
		o.write()
	}
}

// raw adds what is whole lines already.
func (o *output) raw(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, b...)
	if len(o.buf) >= outChunk {
		o.write()
	}
}

// jsonLine is a log line as an object. Kind is "log".
type jsonLine struct {
	Version int       `json:"version"`
	Kind    string    `json:"kind"`
	Host    string    `json:"host"`
	Address string    `json:"address"`
	Time    time.Time `json:"time"`
	Text    string    `json:"text"`
	Level   *int      `json:"level,omitempty"`
	Number  *uint64   `json:"number,omitempty"`
	Micros  *uint64   `json:"uptime_us,omitempty"`
}

func (l *Line) json() []byte {
	j := jsonLine{Version: 1, Kind: "log", Host: l.Machine, Address: l.Addr.String(), Time: l.Time.UTC(), Text: string(l.Text)}
	if l.HasMeta {
		j.Level, j.Number, j.Micros = &l.Level, &l.Number, &l.Micros
	}
	return jsonObject(&j)
}

// jsonObject returns v as one object and a line feed.
func jsonObject(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("receive: %v", err)) // strings, numbers and times only
	}
	return terminal.EscapeControls(b.Bytes())
}
