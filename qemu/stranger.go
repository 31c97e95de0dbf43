package qemu

// What a recording asks for comes from whoever made the file. QEMU's command line can run programs
// (-incoming exec:), write files (-chardev file) and read them (-device loader,file=), so a machine
// that somebody else describes is built from fields of known form alone: each value is matched as a
// whole, from its first byte to its last, by a pattern of letters, digits and the names below, none
// of which leads to a file, a program or the network. Whatever no pattern matches is a doubt, and
// is named. A value that this zf's own user has typed is not looked at here: it is the user's own.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/zeroframe/zeroframe/tools/symbol/lookup"
)

// The bounds of what a stranger's recording may ask for without doubts.
const (
	// maxStrangeMiB is its RAM in MiB.
	maxStrangeMiB = 16 << 10
	// maxStrangeAppend is the length of its kernel command line in bytes. One argument of a program
	// may have 128 KiB on Linux.
	maxStrangeAppend = 64 << 10
	// maxStrangeArguments is the number of its further arguments for QEMU.
	maxStrangeArguments = 256
)

// Parts of the patterns. An id is one that QEMU takes.
const (
	idPattern     = `[A-Za-z][A-Za-z0-9._-]{0,63}`
	numberPattern = `(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})`
	switchPattern = `(on|off|auto|true|false|yes|no)`
	valuePattern  = `(` + switchPattern + `|` + numberPattern + `)`
)

// anchored makes a pattern one of a whole value.
func anchored(pattern string) string { return `\A(?:` + pattern + `)\z` }

// The machine's type and the processor.
var (
	strangeMachine = lookup.Regexp(
		anchored(`(q35|pc|microvm|pc-(q35|i440fx)-[0-9]{1,2}\.[0-9]{1,2})(,(acpi|auto-kernel-cmdline|` +
			`fd-bootchk|graphics|hpet|i8042|ioapic2|isa-serial|mem-merge|option-roms|pcie|pic|pit|rtc|sata|smbus|smm|usb|vmport|` +
			`x-option-roms)=` + switchPattern + `|,max-ram-below-4g=[0-9]{1,12}[KMG]?)*`))
	strangeCPU = lookup.Regexp(anchored(`[A-Za-z0-9][A-Za-z0-9._-]{0,63}` +
		`(,[+-][a-z0-9][a-z0-9._-]{0,63}|,[a-z0-9][a-z0-9._-]{0,63}=` + valuePattern + `)*`))
)

// strangeDevice is a device with properties that are numbers and switches. No property of these
// names is a file; the character device is one of -chardev null.
const strangeDevice = `(AC97|VGA|bochs-display|cirrus-vga|e1000|e1000-82544gc|e1000-82545em|e1000e|edu|i6300esb|i82550|i82557b|` +
	`i82559er|ib700|ich9-ahci|intel-iommu|ioh3420|isa-debug-exit|isa-debugcon|isa-serial|isa-vga|loader|ne2k_pci|nec-usb-xhci|` +
	`pc-testdev|pci-bridge|pci-serial|pci-testdev|pcie-pci-bridge|pcie-root-port|pcnet|piix3-usb-uhci|pvpanic|pvpanic-pci|qemu-xhci|` +
	`ramfb|rtl8139|secondary-vga|usb-ehci|usb-kbd|usb-mouse|usb-tablet|vmcoreinfo|vmware-svga)` +
	`(,(addr|baudbase|chassis|chassis_nr|cpu-num|data|data-be|data-len|index|intremap|iobase|iosize|irq|msi|msix|multifunction|port|` +
	`rombar|slot|vgamem_mb|xmax|xres|ymax|yres)=` + valuePattern +
	`|,addr=[0-9a-f]{1,2}(\.[0-7])?|,(id|bus)=` + idPattern +
	`|,mac=([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|,romfile=|,chardev=` + idPattern + `)*`

// devicesCharacter finds the character device.
var devicesCharacter = lookup.Regexp(`,chardev=([^,]*)`)

// strangeArguments are further arguments for QEMU that a recording may have, with the patterns of
// their values. nil: it has none.
var strangeArguments = map[string]func() *regexp.Regexp{
	"-S": nil, "-no-acpi": nil, "-no-fd-bootchk": nil, "-no-hpet": nil, "-usb": nil,
	"-chardev": lookup.Regexp(anchored(`null,id=(` + idPattern + `)`)),
	"-cpu":     strangeCPU,
	"-device":  lookup.Regexp(anchored(strangeDevice)),
	"-global": lookup.Regexp(
		anchored(`(ICH9-LPC\.disable_s[34]|PIIX4_PM\.disable_s[34]|virtio-mmio\.force-legacy|` +
			`(kvm-pit|mc146818rtc)\.lost_tick_policy|hpet\.msi)=(` + valuePattern + `|delay|discard|slew)`)),
	"-m":        lookup.Regexp(anchored(`(?:size=)?([0-9]{1,9})([MG]?)`)),
	"-monitor":  lookup.Regexp(anchored(`none`)),
	"-parallel": lookup.Regexp(anchored(`none`)),
	"-rtc": lookup.Regexp(
		anchored(`base=(utc|localtime|[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2})?)` +
			`(,clock=(vm|rt|host))?(,driftfix=(none|slew))?`)),
	"-uuid": lookup.Regexp(anchored(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`)),
	"-vga":  lookup.Regexp(anchored(`none|std|cirrus|vmware|qxl`)),
}

// Doubts says what of a machine may do more than be a machine: what is of no form that zf knows, a
// sentence each. Without one QEMU reads, writes and runs nothing for whoever has described it but
// the files of the Config and what Accel, GDB and Shares say, which no recording does. The options
// of [Config.Net] are for the host's side of the network, which a replay has not.
// Context: host.
func (c *Config) Doubts() (doubts []string) {
	doubt := func(format string, a ...any) { doubts = append(doubts, fmt.Sprintf(format, a...)) }
	if c.Machine != "" && !strangeMachine().MatchString(c.Machine) {
		doubt("the machine %.200q is not q35, pc or microvm with switches that zf knows", c.Machine)
	}
	if c.CPU != "" && !strangeCPU().MatchString(c.CPU) {
		doubt("the processor %.200q is no name of a model with switches", c.CPU)
	}
	if c.MemoryMiB < 0 || c.MemoryMiB > maxStrangeMiB {
		doubt("the machine has %d MiB of RAM, and %d is the most", c.MemoryMiB, maxStrangeMiB)
	}
	if c.CPUs < 0 || c.CPUs > 1 {
		doubt("the machine has %d CPUs, and one is recorded", c.CPUs)
	}
	if c.Net != "" {
		if err := CheckNet(c.Net); err != nil {
			doubt("%v", err)
		} else if c.Replay == "" && strings.Contains(c.Net, ",") {
			doubt("the network %.200q has options for the host's side", c.Net)
		}
	}
	if len(c.Append) > maxStrangeAppend || strings.Contains(c.Append, "\x00") {
		doubt("the kernel's command line has %d bytes or a zero byte, and %d without is the most",
			len(c.Append), maxStrangeAppend)
	}
	if y := c.Date.UTC().Year(); !c.Date.IsZero() && (y < 1970 || y > 2200) {
		doubt("the machine's clock begins in the year %d", y)
	}
	return append(doubts, doubtsOf(c.Extra)...)
}

// doubtsOf is Doubts of further arguments for QEMU.
func doubtsOf(args []string) (doubts []string) {
	if len(args) > maxStrangeArguments {
		return append(doubts, fmt.Sprintf("there are %d further arguments for QEMU, and %d is the most",
			len(args), maxStrangeArguments))
	}
	var nulls []string // the ids of -chardev null
	for i := 0; i < len(args); i++ {
		name := args[i]
		pattern, ok := strangeArguments[name]
		switch {
		case !ok && strings.HasPrefix(name, "-"):
			return append(doubts,
				fmt.Sprintf("the argument %.200q for QEMU, %s, is not one that zf knows to be harmless", name,
					behind(args[i+1:])))
		case !ok:
			return append(doubts,
				fmt.Sprintf("the argument %.200q for QEMU stands where a flag belongs, and would be a disk",
					name))
		case pattern == nil:
			continue
		case i+1 == len(args):
			return append(doubts, fmt.Sprintf("the argument %.200q for QEMU has no value", name))
		}
		i++
		value := args[i]
		switch m := pattern().FindStringSubmatch(value); {
		case m == nil:
			doubts = append(doubts,
				fmt.Sprintf(
					"the argument %s for QEMU has the value %.200q, which is not of a form that zf knows to be harmless", name, value))
		case name == "-chardev":
			nulls = append(nulls, m[1])
		case name == "-m" && tooMuch(m[1], m[2]):
			doubts = append(doubts, fmt.Sprintf("the argument -m %s for QEMU is more than %d MiB", value,
				maxStrangeMiB))
		case name == "-device":
			for _, d := range devicesCharacter().FindAllStringSubmatch(value, -1) {
				if !slices.Contains(nulls, d[1]) {
					doubts = append(doubts,
						fmt.Sprintf(
							"the device %.200q for QEMU is joined with %.200q, which is no -chardev null before it",
							value, d[1]))
				}
			}
		}
	}
	return doubts
}

// behind quotes what stands behind an argument, which may be its value.
func behind(rest []string) string {
	if len(rest) == 0 {
		return "the last one"
	}
	return fmt.Sprintf("before %.200q", rest[0])
}

// tooMuch reports whether RAM of that many MiB, or GiB for the unit G, is over the bound.
func tooMuch(number, unit string) bool {
	var n uint64
	fmt.Sscan(number, &n) // nine digits at most
	if unit == "G" {
		n <<= 10
	}
	return n > maxStrangeMiB
}
