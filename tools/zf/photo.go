package main

// The way of photos (zf symbolize PHOTO) into the filter.

import (
	"bytes"
	"context"
	"io"

	"github.com/zeroframe/zeroframe/tools/format/input"
	"github.com/zeroframe/zeroframe/tools/format/photo"
)

// open opens the input. Of photos it is the lines of the traces whose codes are on them, as a
// serial port would have sent them; unread says that not all could be read.
func (f *symbolizeFlags) open(ctx context.Context, stdin io.Reader,
	note func(string)) (in io.ReadCloser, unread bool, err error) {
	if f.inputs == nil {
		in, err := input.Open(ctx, f.input, input.Options{
			Baud: f.baud, Reconnect: f.reconnect, Follow: f.follow, Stdin: stdin, Note: note,
		})
		return in, false, err
	}
	files, err := photo.Files(f.inputs)
	if err != nil {
		return nil, false, err
	}
	var set photo.Set
	failed := photo.ReadFiles(files, &set, note)
	lines, wrong := set.Lines()
	for _, s := range wrong {
		note(s)
	}
	return io.NopCloser(bytes.NewReader(lines)), failed > 0 || len(wrong) > 0, nil
}
