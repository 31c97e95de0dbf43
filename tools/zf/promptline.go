//go:build !lean

package main

// The lines of the prompt: typed on a terminal, with editing, a history and completion, or read
// from a script.

import (
	"bufio"
	"bytes"
	"fmt"
	"go/token"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/term"
)

// run answers the lines of standard input.
func (p *prompt) run() error {
	in, out := p.stdin, p.stdout
	if !isTerminal(out) {
		out = p.stderr
	}
	switch {
	case in == nil:
		return nil
	case isTerminal(in) && isTerminal(out):
		return p.converse(in.(*os.File), out)
	}
	return p.script(in)
}

// maxQuestion bounds a line of a script.
const maxQuestion = 1 << 20

// script answers the lines of a file or a pipe.
func (p *prompt) script(in io.Reader) (failed error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxQuestion)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		err := p.ask(line)
		if err == errQuit {
			return failed
		}
		if err != nil {
			p.failed(fmt.Errorf("line %d: %w", n, err))
			failed = status(exitUsage)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	return failed
}

// failed says an error, which may have names from the core in it.
func (p *prompt) failed(err error) {
	p.say("%s", printable(withStep(err.Error(), err)))
}

// converse answers what is typed. The terminal is raw while a line is typed, and no longer: ^C ends
// an answer that takes too long as it ends any command.
func (p *prompt) converse(in *os.File, out io.Writer) error {
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keys{Reader: in}, out}, "(zf) ")
	t.AutoCompleteCallback = func(line string, at int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		head, others := p.complete(line[:at])
		if len(others) > 0 {
			fmt.Fprintln(t, strings.Join(others, "  "))
		}
		return head + line[at:], len(head), true
	}
	if err := p.where(); err != nil {
		p.failed(err)
	}
	p.say("help lists the commands; ^D ends")
	for {
		line, err := p.typed(t, int(in.Fd()), columnsOf(out)())
		if err == io.EOF {
			fmt.Fprintln(out)
			return nil
		}
		if err != nil {
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err = p.ask(line); err == errQuit {
			return nil
		} else if err != nil {
			p.failed(err)
		}
	}
}

// typed reads one line. Signals that end zf give the terminal back first.
func (p *prompt) typed(t *term.Terminal, fd, columns int) (string, error) {
	state, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer term.Restore(fd, state)
	if columns > 0 {
		t.SetSize(columns, 25)
	}
	ctx, stop := signal.NotifyContext(p.ctx, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	type result struct {
		line string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		line, err := t.ReadLine()
		got <- result{line, err}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-ctx.Done():
		return "", status(exitInterrupt)
	}
}

// keys is a terminal of which ^C clears the line, as in a shell: term takes it for the end.
type keys struct {
	io.Reader
	rest []byte
}

func (k *keys) Read(b []byte) (int, error) {
	if len(k.rest) == 0 {
		typed := make([]byte, 128)
		n, err := k.Reader.Read(typed)
		if n == 0 {
			return 0, err
		}
		const clearLine = "\x05\x15" // to its end, erase all before it
		k.rest = bytes.ReplaceAll(typed[:n], []byte{keyInterrupt}, []byte(clearLine))
	}
	n := copy(b, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

// complete returns a line, up to where it is typed, with what is certain to follow; and if several
// words may follow, those.
func (p *prompt) complete(head string) (with string, others []string) {
	from, all := p.candidates(head)
	all = slices.DeleteFunc(all, func(s string) bool {
		return !strings.HasPrefix(s, head[from:]) || printable(s) != s
	})
	slices.Sort(all)
	if all = slices.Compact(all); len(all) == 0 {
		return head, nil
	}
	common := all[0]
	for _, s := range all {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	if common != head[from:] || len(all) == 1 {
		all = nil
	}
	return head[:from] + common, all
}

// candidates returns what may stand at the end of a line, and where that begins.
func (p *prompt) candidates(head string) (from int, all []string) {
	word, rest, further := strings.Cut(strings.TrimLeft(head, " "), " ")
	of, from := operand(head)
	if further {
		for _, q := range questions() {
			switch {
			case q.name != word || q.name == "print":
			case q.ask == nil && strings.HasPrefix(rest[strings.LastIndexByte(rest, ' ')+1:], "-"):
				for _, f := range flagsOf(find(word)) {
					all = append(all, "-"+f.Name)
				}
				return strings.LastIndexByte(head, ' ') + 1, all
			default:
				return len(head), nil
			}
		}
	} else if of == "" {
		all = questionNames()
	}
	names, err := p.program.Names(of, p.at)
	if err == nil {
		all = append(all, names...)
	}
	return from, all
}

// operand returns, of an expression that ends in a name or behind a dot, what is before the dot,
// "" if there is no dot, and where the name begins.
func operand(head string) (of string, from int) {
	letter := func(c byte) bool {
		return c >= 0x80 || token.IsIdentifier("a"+string(rune(c)))
	}
	for from = len(head); from > 0 && letter(head[from-1]); {
		from--
	}
	if from == 0 || head[from-1] != '.' {
		return "", from
	}
	i, open := from-1, 0
	for ; i > 0; i-- {
		switch c := head[i-1]; {
		case c == ')' || c == ']':
			open++
		case (c == '(' || c == '[') && open > 0:
			open--
		case open == 0 && c != '.' && !letter(c):
			return head[i : from-1], from
		}
	}
	return head[:from-1], from
}
