// Package image is what the kernel knows of its own image: segments, text, build ID and Go's pc
// tables, from the ELF header in memory and from the linker's symbols. Any context, once it is
// read.
//
//	image.go          reads it
package image
