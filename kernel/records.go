package kernel

import (
	"github.com/zeroframe/zeroframe/kernel/clock"
	"github.com/zeroframe/zeroframe/kernel/fs"
	"github.com/zeroframe/zeroframe/kernel/linuxabi"
	"github.com/zeroframe/zeroframe/kernel/recordport"
)

// findRecordPort chooses where records go, by the option record.port.
func findRecordPort() {
	port, ok := Option("record.port")
	if !ok {
		port = nil
	}
	if wrong := recordport.Configure(port); wrong != "" {
		complain("record.port", port, wrong)
	}
}

// openRecords makes the device by which programs send records.
func openRecords() {
	fs.Mknod(fs.Root, path("/dev/record"), fs.S_IFCHR|0o622, linuxabi.DevRecord, clock.Wall())
}
