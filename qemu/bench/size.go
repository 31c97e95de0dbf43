package main

import (
	"os"
	"path/filepath"
)

// size compares images with the same programs built for Linux: one that only uses
// println, and one that uses fmt.
func (b *bench) size() error {
	b.progress("image.*: the same source as an image and as a plain Linux program, hello with println and with fmt")
	for _, p := range []struct{ name, plain, pkg, image string }{
		{"image", "image.plain", "./qemu/bench/testdata/plain", b.plain},
		{"image.fmt", "image.fmt.plain", "./qemu/bench/testdata/fmt", b.fmt},
	} {
		linux := filepath.Join(b.dir, "linux")
		if err := goBuild(p.pkg, linux); err != nil {
			return err
		}
		i, err := os.Stat(p.image)
		if err != nil {
			return err
		}
		l, err := os.Stat(linux)
		if err != nil {
			return err
		}
		hello := p.name
		if hello == "image" {
			hello = "image.hello"
		}
		b.figure(hello+".bytes", i.Size())
		b.figure(p.plain+".bytes", l.Size())
		b.figure(hello+".ratio", ratio(float64(i.Size()), float64(l.Size())))
	}
	return nil
}
