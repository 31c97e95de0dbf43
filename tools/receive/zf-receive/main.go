// Command zf-receive is `zf receive`, which starts it. It is a program of its own since
// what it is made of (gopacket, OpenTelemetry) takes longer to initialize than `zf addr`
// takes to answer, and makes twice as large a program.
package main

import (
	"io"
	"log"
	"os"

	"github.com/zeroframe/zeroframe/tools/receive"
)

func main() {
	log.SetOutput(io.Discard) // net/http's words on connections: whose request fails says so
	os.Exit(receive.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
