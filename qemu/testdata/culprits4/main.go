// Command culprits4 dies of an error or of a look-up that has missed: another place has done what the error is about, or
// has taken away what is looked for. Each kind has one line that is to blame, marked with its name.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strconv"
	"syscall"

	"github.com/zeroframe/zeroframe/qemu/testdata/culprit"
)

var kinds = map[string]func(){
	"wrapped": wrapped, "over": over, "logfatal": logFatal, "sprintf": sprintf, "path": path, "joined": joined, "pointer": pointer,
	"value": value, "typednil": typedNil, "must": mustBe, "replaced": replaced, "bool": boolean, "exit": exit,
	"repanic": repanic, "sticky": sticky, "number": number, "recovered": recovered, "logpanic": logPanic, "kill": kill,
	"commaok": commaOK, "syncmap": syncMap, "syncclear": syncClear, "lru": leastRecent, "evicted": evicted, "slot": slot,
	"renewed": renewed, "nilentry": nilEntry, "never": never, "unwritten": unwritten,
	"hoard": hoard,
}

func main() { culprit.Main(kinds) }

// config is what all of them look at.
type config struct {
	port int
	path string
	text string
	next *config
}

// elsewhere runs a function in another goroutine, and waits for it.
func elsewhere(f func()) {
	done := make(chan bool)
	go func() { defer close(done); f() }()
	<-done
}

// wrapped: an error that was wrapped twice.
func wrapped() {
	c := &config{port: 80}
	fmt.Println(listen(c))
	elsewhere(func() { spoil(c) })
	culprit.Work()
	if err := listen(c); err != nil {
		panic(err)
	}
}

//go:noinline
func spoil(c *config) {
	c.port -= 100 // culprit wrapped
}

//go:noinline
func check(c *config) error {
	if c.port < 0 {
		return fmt.Errorf("port %d", c.port)
	}
	return nil
}

//go:noinline
func open(c *config) error {
	if err := check(c); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return nil
}

//go:noinline
func listen(c *config) error {
	if err := open(c); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// logFatal: a variable of the package is the error.
var errPort = errors.New("bad port")

func logFatal() {
	c := &config{port: 80}
	fmt.Println(known(c))
	raise(c)
	if err := known(c); err != nil {
		log.Fatal("start: ", err)
	}
}

//go:noinline
func raise(c *config) {
	c.port = 70000 // culprit logfatal
}

//go:noinline
func known(c *config) error {
	if c.port > 65535 {
		return errPort
	}
	return nil
}

// sprintf: the error is in a text when the program panics.
func sprintf() {
	c := &config{port: 80, next: &config{}}
	unlink(c)
	if err := follow(c); err != nil {
		panic(fmt.Sprintf("start: %v", err))
	}
}

//go:noinline
func unlink(c *config) {
	c.next = nil // culprit sprintf
}

//go:noinline
func follow(c *config) error {
	if c.next == nil {
		return errors.New("no next one")
	}
	return nil
}

// path: a file that is not there.
func path() {
	c := &config{path: "/"}
	move(c)
	culprit.Work()
	if err := read(c); err != nil {
		panic(err)
	}
}

//go:noinline
func move(c *config) {
	c.path = "/missing" // culprit path
}

//go:noinline
func read(c *config) error {
	f, err := os.Open(c.path)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	return f.Close()
}

// joined: of several checks one has failed.
func joined() {
	a, b := &config{port: 1}, &config{port: 2}
	turn(b)
	if err := errors.Join(check(a), check(b)); err != nil {
		panic(err)
	}
}

//go:noinline
func turn(c *config) {
	c.port = -c.port // culprit joined
}

// pointer: an error of the program's own, by pointer.
type parseError struct {
	at  int
	err error
}

func (e *parseError) Error() string { return "parse " + strconv.Itoa(e.at) + ": " + e.err.Error() }

func (e *parseError) Unwrap() error { return e.err }

func pointer() {
	c := &config{text: "a=1"}
	cut(c)
	culprit.Work()
	if err := parse(c); err != nil {
		panic(err)
	}
}

//go:noinline
func cut(c *config) {
	c.text = c.text[:1] // culprit pointer
}

var errShort = errors.New("too short")

//go:noinline
func parse(c *config) error {
	if len(c.text) < 3 {
		return &parseError{len(c.text), errShort}
	}
	return nil
}

// value: an error of the program's own, by value.
type statusError struct{ code, port int }

func (e statusError) Error() string { return fmt.Sprint("status ", e.code) }

func value() {
	c := &config{port: 5}
	elsewhere(func() { empty(c) })
	if err := status(c); err != nil {
		panic(err)
	}
}

//go:noinline
func empty(c *config) {
	c.port = 0 // culprit value
}

//go:noinline
func status(c *config) error {
	if c.port == 0 {
		return statusError{404, c.port}
	}
	return nil
}

// typedNil: a nil pointer that has become an error.
type quietError struct{ text string }

func (e *quietError) Error() string {
	if e == nil {
		return "nothing"
	}
	return e.text
}

func typedNil() {
	c := &config{port: 5}
	if err := quiet(c); err != nil {
		panic(err)
	}
}

//go:noinline
func quiet(c *config) error {
	var e *quietError
	if c.port < 0 {
		e = &quietError{"port"}
	}
	return e // culprit typednil
}

// mustBe: a function that panics with each error.
func mustBe() {
	c := &config{port: 80}
	must(known(c))
	lift(c)
	must(known(c))
}

//go:noinline
func must(err error) {
	if err != nil {
		panic(err)
	}
}

//go:noinline
func lift(c *config) {
	c.port <<= 12 // culprit must
}

// replaced: another error is made of the first one.
func replaced() {
	c := &config{port: 80}
	sink(c)
	if err := load(c); err != nil {
		panic(err)
	}
}

//go:noinline
func sink(c *config) {
	c.port = -4 // culprit replaced
}

//go:noinline
func load(c *config) error {
	if err := check(c); err != nil {
		return errors.New("not loaded")
	}
	return nil
}

// boolean: the check is a function that says yes or no.
func boolean() {
	c := &config{port: 80}
	double(c)
	if err := validate(c); err != nil {
		panic(err)
	}
}

//go:noinline
func double(c *config) {
	c.port *= 1000 // culprit bool
}

//go:noinline
func (c *config) valid() bool { return c.port < 65536 }

//go:noinline
func validate(c *config) error {
	if !c.valid() {
		return errPort
	}
	return nil
}

// exit: the program ends itself.
func exit() {
	c := &config{port: 80}
	elsewhere(func() { stop(c) })
	if c.port == 7 {
		os.Exit(3)
	}
}

//go:noinline
func stop(c *config) {
	c.port = 7 // culprit exit
}

// repanic: a deferred function makes another panic of the first one.
func repanic() {
	c := &config{next: &config{port: 3}}
	drop(c)
	guarded(c)
}

//go:noinline
func drop(c *config) {
	c.next = nil // culprit repanic
}

//go:noinline
func guarded(c *config) {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("guarded: %v", r))
		}
	}()
	fmt.Println(c.next.port)
}

// sticky: an error is kept, and comes later.
type writer struct{ err error }

func sticky() {
	w := &writer{}
	fmt.Println(w.write())
	elsewhere(w.shut)
	culprit.Work()
	if err := w.write(); err != nil {
		panic(err)
	}
}

//go:noinline
func (w *writer) shut() {
	w.err = fs.ErrClosed // culprit sticky
}

//go:noinline
func (w *writer) write() error { return w.err }

// number: a text that is no number.
func number() {
	c := &config{text: "12"}
	write(c)
	if err := convert(c); err != nil {
		panic(err)
	}
}

//go:noinline
func write(c *config) {
	c.text = "1x" // culprit number
}

//go:noinline
func convert(c *config) error {
	n, err := strconv.Atoi(c.text)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	c.port = n
	return nil
}

// recovered: a panic has become an error.
func recovered() {
	c := &config{next: &config{port: 3}}
	detach(c)
	if err := safely(c); err != nil {
		panic(err)
	}
}

//go:noinline
func detach(c *config) {
	c.next = nil // culprit recovered
}

//go:noinline
func safely(c *config) (err error) {
	defer func() {
		if r, ok := recover().(error); ok {
			err = fmt.Errorf("recovered: %w", r)
		}
	}()
	fmt.Println(c.next.port)
	return nil
}

// logPanic: the log has the error, and the panic a text.
func logPanic() {
	c := &config{port: 80}
	lower(c)
	if err := check(c); err != nil {
		log.Panicf("start: %v", err)
	}
}

//go:noinline
func lower(c *config) {
	c.port = -80 // culprit logpanic
}

// kill: the program sends itself a signal that it does not handle.
func kill() {
	culprit.Work()
	terminate()
	select {}
}

//go:noinline
func terminate() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL) // culprit kill
}

// An account has a limit that was set, and a total that was added up: each may be wrong.
type account struct {
	limit, total int
	entries      []int
}

func (a *account) enter(n int) { a.entries = append(a.entries, n); a.total += n }

func (a *account) check() error {
	if a.total > a.limit {
		return fmt.Errorf("%d is more than %d", a.total, a.limit)
	}
	return nil
}

func (a *account) set(strict bool) {
	if strict {
		a.limit = 10 // culprit over
	} else {
		a.limit = 100
	}
}

func over() {
	a := new(account)
	a.set(len(os.Args) > 1)
	for i := 0; i < 6; i++ {
		a.enter(i * 2)
	}
	if err := a.check(); err != nil {
		panic(err)
	}
}
