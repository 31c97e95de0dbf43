// Package observe starts what a running program tells of itself, by the options of the
// command line, and sends it when the machine ends, on an NMI and from the monitor.
//
//	handles.go   who has what open (option record=; package handle)
//	sampling.go  where the time goes (option profile=; package profile, package stackid)
//	probes.go    how often a function was called, and for how long (package probe)
//
// Package fuzzworker beside them lets a fuzzing engine on the host use a test binary here.
//
// All of it leaves by package eventstream. Early and kernel context.
package observe
