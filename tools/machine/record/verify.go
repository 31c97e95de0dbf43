package record

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

// ErrParted is returned when a replay says something else than the recording.
var ErrParted = errors.New("the replay parts from its recording")

// A Verifier takes what a replay says, and passes on what was recorded, too. Its methods may be
// called from any goroutine.
type Verifier struct {
	want []byte
	open bool // what follows is not in the recording, which is cut
	to   io.Writer

	mu  sync.Mutex
	n   int   // bytes that are the same
	err error // once it has parted
}

// NewVerifier returns one that passes on to to.
func (r *Recording) NewVerifier(to io.Writer) *Verifier {
	return &Verifier{want: r.Serial, open: r.Broken != nil, to: to}
}

// Write takes what the replay says. From where it parts on, nothing is passed on.
func (v *Verifier) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return 0, v.err
	}
	want := v.want[v.n:]
	same := 0
	for same < len(p) && same < len(want) && p[same] == want[same] {
		same++
	}
	v.n += same
	if v.open && same == len(want) {
		same = len(p)
	}
	n, err := v.to.Write(p[:same])
	if err != nil {
		return n, err
	}
	if same == len(p) {
		return same, nil
	}
	after := v.want[v.n:]
	v.err = fmt.Errorf("%w at byte %d of its output: %s, recorded was %s", ErrParted, v.n,
		excerpt(p[same:]), excerpt(after))
	return same, v.err
}

// Verified returns how many bytes were the same so far.
func (v *Verifier) Verified() int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return int64(v.n)
}

// Parted returns the error of a replay that has said something else.
func (v *Verifier) Parted() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// excerpt shows the beginning of some output.
func excerpt(b []byte) string {
	const most = 24
	switch {
	case len(b) == 0:
		return "nothing more"
	case len(b) > most:
		return fmt.Sprintf("%q...", b[:most])
	}
	return fmt.Sprintf("%q", b)
}
