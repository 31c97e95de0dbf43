//go:build !lean

package main

// The way of photos (zf symbolize PHOTO) into the filter.

import (
	"bytes"
	"io"

	"github.com/zeroframe/zeroframe/tools/format/photo"
)

func isPhoto(path string) bool { return photo.Is(path) }

// readPhotos returns the lines of the traces whose codes are on photos, as a serial port would have
// sent them; unread says that not all could be read.
func readPhotos(paths []string, note func(string)) (in io.ReadCloser, unread bool, err error) {
	files, err := photo.Files(paths)
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
