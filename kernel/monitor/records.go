package monitor

import (
	"github.com/zeroframe/zeroframe/kernel/ascii"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/linux"
	"github.com/zeroframe/zeroframe/kernel/observe"
	"github.com/zeroframe/zeroframe/kernel/observe/eventstream"
	"github.com/zeroframe/zeroframe/kernel/observe/probe"
	"github.com/zeroframe/zeroframe/kernel/observe/profile"
	"github.com/zeroframe/zeroframe/kernel/thread"
)

// The monitor's commands about the profile and the probes. Each sends at once the record that is
// otherwise sent when the machine ends.

func runProfile(args []byte) {
	if !profile.Ready() {
		console.String("there is no profiler; boot with profile=on\n")
		return
	}
	word, _ := Word(args)
	switch {
	case ascii.Same(word, "on"):
		profile.Start(thread.CPUTime())
	case ascii.Same(word, "off"):
		profile.Stop(thread.CPUTime())
	case ascii.Same(word, "dump"):
		observe.SendProfile(linux.CallName)
		eventstream.Flush()
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
	seconds(profile.Ran(thread.CPUTime()), 0)
	console.String(" s of running so far\n")
}

func runProbe(args []byte) {
	if !probe.On() {
		console.String("nothing is probed; `zf run -probe` does\n")
		return
	}
	word, _ := Word(args)
	switch {
	case ascii.Same(word, "dump"):
		observe.SendProbes()
		eventstream.Flush()
		console.String("sent\n")
	case len(word) > 0:
		console.String("want `probe` or `probe dump`\n")
	default:
		functions, places := probe.Places()
		console.Printf("%d functions are probed, at %d places; `probe dump` sends the counts\n",
			uint64(functions), uint64(places))
	}
}
