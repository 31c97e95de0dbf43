package photo

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // photos
	_ "image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// maxPixels bounds a picture: no camera has so many, and it takes as many bytes.
const maxPixels = 250e6

// pixelsLeast are always looked at, as many as a screen has, and for each byte of the file
// pixelsByte more: a photo has 10 at most.
const (
	pixelsLeast = 9e6
	pixelsByte  = 64
)

// maxText bounds a file with the text of codes.
const maxText = 1 << 20

// Is reports whether a file is a photo, by how it begins, or a text of codes ([ParseText]), or a
// folder with one.
func Is(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if info.IsDir() {
		found, err := inFolder(path)
		return err == nil && len(found) > 0
	}
	if !info.Mode().IsRegular() {
		return false // a device must not be read here
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 8)
	if n, _ := f.Read(head); isPhoto(head[:n]) ||
		!bytes.HasPrefix(bytes.TrimSpace(head[:n]), []byte("25")) || info.Size() > maxText {
		return isPhoto(head[:n])
	}
	b, err := os.ReadFile(path)
	_, ok := ParseText(string(b))
	return err == nil && ok
}

func isPhoto(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\x89PNG")) || bytes.HasPrefix(b, []byte("\xff\xd8\xff"))
}

// Files returns the photos that paths name: files, and those in folders.
func Files(paths []string) (all []string, err error) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, path)
			continue
		}
		found, err := inFolder(path)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no photo is in %s; PNG and JPEG files are read", path)
		}
		all = append(all, found...)
	}
	return all, nil
}

// inFolder returns the photos in a folder.
func inFolder(path string) (all []string, err error) {
	entries, err := os.ReadDir(path)
	for _, e := range entries {
		if p := filepath.Join(path, e.Name()); !e.IsDir() && Is(p) {
			all = append(all, p)
		}
	}
	return all, err
}

// ReadFiles reads photos, some at a time, and adds what their codes have to a set. It tells of each
// photo in one sentence, in the order of the files, and returns how many could not be read.
func ReadFiles(files []string, s *Set, tell func(string)) (failed int) {
	parts, errs := make([][]Part, len(files)), make([]error, len(files))
	done := make([]chan struct{}, len(files))
	turns := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for i := range files {
		done[i] = make(chan struct{})
		wg.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns; close(done[i]) }()
			parts[i], errs[i] = readFile(files[i])
		})
	}
	for i, file := range files {
		<-done[i]
		if errs[i] != nil {
			failed++
		}
		switch err := errs[i]; {
		case errors.Is(err, ErrNoCode):
			tell(fmt.Sprintf("%s: %v; photograph the whole screen, sharp and from the front, or from nearer",
				file, err))
		case err != nil:
			tell(fmt.Sprintf("%s: %v", file, err))
		default:
			for _, p := range parts[i] {
				tell(fmt.Sprintf("%s: code %d of %d", file, p.N+1, p.Parts))
				s.Add(p)
			}
		}
	}
	wg.Wait()
	return failed
}

func readFile(path string) ([]Part, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if !isPhoto(b) {
		if parts, ok := ParseText(string(b)); ok {
			return parts, nil
		}
		return nil, errors.New("it is no PNG or JPEG file")
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the picture is damaged: %v", err)
	}
	if n := int64(c.Width) * int64(c.Height); n > pixelsLeast+pixelsByte*int64(len(b)) {
		return nil, fmt.Errorf(
			"the picture claims %d by %d pixels in %d bytes, as no photo does; take it again, or crop it",
			c.Width, c.Height, len(b))
	} else if n > maxPixels {
		return nil, fmt.Errorf("the picture has %d by %d pixels; no more than %d million are looked at",
			c.Width, c.Height, int(maxPixels/1e6))
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("the picture is damaged: %v", err)
	}
	p, err := ReadPart(img)
	return []Part{p}, err
}

// ReadPart reads the code in a picture. The error is ErrNoCode or ErrOther.
func ReadPart(img image.Image) (Part, error) {
	text, err := Read(img)
	if err != nil {
		return Part{}, err
	}
	return ParsePart(text)
}

// ParseText reads parts from text: what a telephone has read of codes, a line each. It returns
// false if there is a line that is none.
func ParseText(text string) (parts []Part, ok bool) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		p, err := ParsePart(line)
		if err != nil {
			return nil, false
		}
		parts = append(parts, p)
	}
	return slices.Clip(parts), len(parts) > 0
}
