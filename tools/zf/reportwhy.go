//go:build !lean

package main

// `zf report FILE.zfr`: the log and the image are those of a recording, and the page has why
// the machine died.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/zeroframe/zeroframe/tools/format/page"
	"github.com/zeroframe/zeroframe/tools/postmortem/why"
)

// isRecording reports whether a file is a recording, by its name.
func isRecording(path string) bool { return filepath.Ext(path) == recordingSuffix }

// elfNames names the ELF files.
func (f *reportFlags) elfNames() string {
	if f.image != "" {
		return printable(f.image)
	}
	return baseNames(f.images.elfs)
}

// recording opens the recording: it returns what the machine has said, and what finds out why
// it died, if it has, which takes replays. Its image is that of the page, if -e names no other.
func (f *reportFlags) recording(ctx context.Context,
	c *call) (in io.ReadCloser, ask func() (*page.Why, error), err error) {
	r, err := c.openRecorded(f.input, f.trust)
	if err != nil {
		return nil, nil, err
	}
	if len(f.images.elfs) == 0 {
		f.images.elfs, f.image = []string{r.elf}, filepath.Base(r.Name)
	}
	if f.title == "" {
		f.title = f.elfNames()
	}
	_, f.doubt = r.config("")
	in = io.NopCloser(bytes.NewReader(r.Serial))
	return in, func() (*page.Why, error) { return whyOf(ctx, r, c) }, r.readSymbols()
}

// whyOf is what the page says of a recorded death; nil if the machine has not died. What keeps
// it from being found is said on the page, and is no error but an interrupt.
func whyOf(ctx context.Context, r *recorded, c *call) (*page.Why, error) {
	c.say("looking for why it died, in replays")
	launch, err := r.launcher(ctx)
	var w *why.Why
	if err == nil {
		w, err = why.New(launch, r.elf, r.sym)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return &page.Why{Death: "why it died was not looked for", Note: withQEMUStep(err).Error()}, nil
	}
	defer w.Close()
	w.Begins = r.Base.At
	clean := c.followReplays(w)
	s, err := w.Death(ctx)
	clean()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, why.ErrNoDeath):
		return nil, nil
	case s == nil:
		return &page.Why{Death: "why it died could not be found out", Note: err.Error()}, nil
	}
	return whyPage(s, err), nil
}

// whyPage is what the page says of a story; err has ended the search.
func whyPage(s *why.Story, err error) *page.Why {
	y := &page.Why{}
	if err != nil {
		y.Note = err.Error()
	}
	text := func(h *why.Hop) string {
		if h.Source == "" {
			return h.Where()
		}
		return h.Where() + ": " + h.Source
	}
	y.Death = s.Death + " in " + text(&s.At)
	if s.Culprit != nil {
		y.Culprit = text(s.Culprit)
	}
	for i := range s.Causes {
		c := page.WhyCause{What: s.Causes[i].What, End: s.Causes[i].End}
		for _, h := range s.Causes[i].Steps() {
			at := h.Where()
			if h.By != "" {
				at += ", by " + h.By
			}
			c.Steps = append(c.Steps, page.WhyStep{
				Before: s.Count - min(h.Count, s.Count), How: h.Verb(), Value: fmt.Sprintf("%#x", h.Value),
				Where: at, Source: h.Source, Also: strings.Join(h.Alternatives, ", "),
			})
		}
		y.Causes = append(y.Causes, c)
	}
	return y
}
