package memdump

import (
	"github.com/zeroframe/zeroframe/arch"
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/console"
	"github.com/zeroframe/zeroframe/kernel/option"
	"github.com/zeroframe/zeroframe/tracer/dump"
)

// Sending by the second serial port: each item once, without answers. The announcement is repeated
// now and then for a receiver that begins to listen late, or got a damaged one.

const (
	announceItems = 1024
	tellEvery     = 60e9 // ns
)

var (
	com2 = arch.UART{Base: arch.UARTSecond} // panic path only
	slot dump.Slot                          // panic path only
)

// prepareCom2 finds the port and sets its speed. It returns what is wrong, or "". Early context.
func prepareCom2() (wrong string) {
	if port, ok := option.Word("record.port"); ok && port == 1 {
		return "records leave by the second serial port (record.port=com2)"
	}
	com2.Init()
	if !com2.Present() {
		return "there is no second serial port (COM2)"
	}
	if baud, ok := option.Number("core.baud"); ok && !com2.SetSpeed(uint32(baud)) {
		return "core.baud= wants 115200, or what divides it"
	}
	return ""
}

// sendByCom2 sends everything, reports the result, and returns true, because no receiver can say
// that something is missing.
func sendByCom2() bool {
	began := clock.Now()
	console.FreshLine()
	console.String("core: sending the memory by the second serial port\n")
	beginItems(0)
	told, item := began, uint32(0)
	for {
		now := clock.Now()
		if now-began > limit && items.why == dump.EndWhole {
			cutItems(dump.EndTime)
		}
		if now-told > tellEvery {
			told = now
			result(began, " so far")
		}
		if item%announceItems == 0 {
			write(dump.KindAnnounce, 0, putAnnounce(space().packet[dump.HeaderSize:]))
		}
		if !nextItem(&slot) {
			break
		}
		item++
		write(slot.Kind, item, putItem(space().packet[dump.HeaderSize:], &slot))
	}
	com2.Flush()
	how := ""
	if items.why == dump.EndTime {
		how = ": its time is over (core.time=)"
	}
	result(began, how)
	return true
}

// write sends a packet.
func write(kind byte, item uint32, n int) {
	h := dump.Header{Kind: kind, Epoch: 1, Dump: number, Item: item, Sent: item}
	if kind == dump.KindAnnounce {
		n = dump.Finish(space().packet[:], &h, n)
	} else {
		n = finish(space().packet[:], &h, n)
	}
	com2.SendAll(space().packet[:n])
}
