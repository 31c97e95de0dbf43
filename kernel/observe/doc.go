// Package observe starts what the command line asks to observe of a running program, and sends it
// when the machine ends, on an NMI and from the monitor.
//
//	handles.go   what is open, and who opened it (option record=; package handle)
//	sampling.go  where the time goes (option profile=; package profile, package stackid)
//	probes.go    how often a function was called, and for how long (package probe)
//
// Everything is sent through package eventstream. Early and kernel context.
package observe
