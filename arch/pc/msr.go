//go:build !hostmsr

package pc

import "github.com/zeroframe/zeroframe/arch/amd64"

// The model-specific registers of the local APIC. Only a kernel may use their instructions: with
// the build tag hostmsr, x2apic_test.go replaces them in a test on the host.

func readMSR(msr uint32) uint64 { return amd64.ReadMSR(msr) }

func writeMSR(msr uint32, v uint64) { amd64.WriteMSR(msr, v) }
