package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/monitor"
	"github.com/zeroframe/zeroframe/kernel/probe"
	"github.com/zeroframe/zeroframe/kernel/profile"
	"github.com/zeroframe/zeroframe/kernel/recordport"
	"github.com/zeroframe/zeroframe/kernel/sched"
)

// The monitor's commands about the profile and the probes. Each sends on demand the record
// that the end of the machine sends.

func monitorProfile(args []byte) {
	if !profile.Ready() {
		console.String("there is no profiler; boot with profile=on\n")
		return
	}
	word, _ := monitor.Word(args)
	switch {
	case Same(word, "on"):
		profile.Start(sched.CPUTime())
	case Same(word, "off"):
		profile.Stop(sched.CPUTime())
	case Same(word, "dump"):
		sendProfile()
		recordport.Flush()
		console.String("sent\n")
		return
	case len(word) > 0:
		console.String("want on, off or dump\n")
		return
	}
	if profile.On() {
		console.String("samples are taken, over ")
	} else {
		console.String("no samples are taken now; they were over ")
	}
	seconds(profile.Ran(sched.CPUTime()))
	console.String(" s of running so far\n")
}

func monitorProbe(args []byte) {
	if !probe.On() {
		console.String("nothing is probed; `zf run -probe` does\n")
		return
	}
	word, _ := monitor.Word(args)
	switch {
	case Same(word, "dump"):
		sendProbes()
		recordport.Flush()
		console.String("sent\n")
	case len(word) > 0:
		console.String("want `probe` or `probe dump`\n")
	default:
		functions, places := probe.Places()
		console.Dec(uint64(functions))
		console.String(" functions are probed, at ")
		console.Dec(uint64(places))
		console.String(" places; `probe dump` sends the counts\n")
	}
}
