package receive

// What is shown: lines with the machine's name in front, or JSON. Lines come from the
// intake and traces from other goroutines; none comes into the middle of another.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/zeroframe/zeroframe/tools/format/terminal"
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
	o.write(0)
	return o.err
}

// write writes what there is, if that is more than a number of bytes. The lock is held.
func (o *output) write(above int) {
	if len(o.buf) <= above {
		return
	}
	if o.err == nil {
		_, o.err = o.w.Write(o.buf)
	}
	o.buf = o.buf[:0]
}

// raw adds what is whole lines already.
func (o *output) raw(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, b...)
	o.write(outChunk)
}

// line adds a log line. A plain one as text allocates nothing.
func (o *output) line(l *Line, asJSON bool) {
	if asJSON {
		o.raw(l.json())
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(append(o.buf, l.Machine...), ": "...)
	if l.HasMeta { // the time as Linux shows it
		o.buf = fmt.Appendf(o.buf, "[%5d.%06d] ", l.Micros/1e6, l.Micros%1e6)
	}
	if o.safe {
		o.buf = terminal.AppendClean(o.buf, l.Text)
	} else {
		o.buf = append(o.buf, l.Text...)
	}
	o.buf = append(o.buf, '\n')
	o.write(outChunk)
}

// overName makes visible what a console needs, and what could here write over the name.
var overName = strings.NewReplacer("\r", `\x0d`, "\b", `\x08`)

// block adds the lines of a text that has been made safe already.
func (o *output) block(name string, text []byte) {
	var b []byte
	for one := range bytes.Lines(text) {
		b = append(append(b, name...), ": "...)
		shown := strings.TrimRight(strings.TrimSuffix(string(one), "\n"), "\r")
		if o.safe {
			shown = overName.Replace(shown)
		}
		b = append(append(b, shown...), '\n')
	}
	o.raw(b)
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
	j := jsonLine{Version: 1, Kind: "log", Host: l.Machine, Address: l.Addr.String(),
		Time: l.Time.UTC(), Text: string(l.Text)}
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
