package main

import (
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/zeroframe/zeroframe/qemu"
)

// recordSize is how many bytes the measured record has.
const recordSize = 256 << 10

var recordTime = regexp.MustCompile(`(\d+) bytes in (\d+) us`)

// records measures what a record costs the guest, and how fast it leaves: a UART takes a
// byte at a time, and QEMU sends each on by itself.
func (b *bench) records() error {
	b.progress(fmt.Sprintf("record.*: a record of %d KiB from a program: instructions for a byte (-icount), and KiB a second under TCG", recordSize>>10))
	image, err := b.build("./qemu/testdata/records", "records.elf")
	if err != nil {
		return err
	}
	for _, port := range []string{"com1", "com2"} {
		for _, exact := range []bool{true, false} {
			cfg := qemu.Config{Icount: exact, Records: io.Discard}
			if exact && port == "com2" {
				// Nobody takes the bytes, so that no waiting is counted.
				cfg.Records = nil
				cfg.Extra = []string{"-chardev", "null,id=records", "-device", "isa-serial,index=1,chardev=records"}
			}
			out, err := boot(image, fmt.Sprintf("record.port=%s -- large %d", port, recordSize), cfg)
			if err != nil {
				return err
			}
			m := recordTime.FindStringSubmatch(out)
			if m == nil {
				return fmt.Errorf("records: the program did not say how long it took: %.200q", out)
			}
			us, err := strconv.ParseFloat(m[2], 64)
			if err != nil || us == 0 {
				return fmt.Errorf("records: a time of %q us", m[2])
			}
			if exact { // a nanosecond is an instruction
				b.figure("record."+port+".instructions_per_byte", decimals(us*1000/recordSize))
			} else {
				b.figure("record."+port+".kib_per_second", fmt.Sprintf("%.0f", recordSize/1024/(us/1e6)))
			}
		}
	}
	return nil
}
