// Package source is where live text comes from: a log, a file that grows, a pipe,
// a serial device, a TCP or unix socket. All of them are one io.Reader, which can
// outlive what it reads: a board that is switched off, an emulator that is started
// again.
//
// It imports tools/trace for the following of a file only. Context: host.
package source
