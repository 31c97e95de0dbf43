package linux

import "github.com/zeroframe/zeroframe/kernel/console"

// A note says in the log what the machine does not have, when a program first wants it.
type note struct {
	text string
	said bool
}

// What is not there. Under the kernel lock.
var (
	noProgram  = note{text: "no other program can be started (ENOSYS): there is one address space, and one program in it\n"}
	noDebugger = note{text: "no debugger within the machine (ENOSYS): zf dlv and zf gdb look at the program from outside\n"}
	noRoute    = note{text: "no way to other machines (ENETUNREACH): sockets reach this one alone; zf run -net virtio gives a program a network\n"}
	noRoots    = note{text: "no root certificates in /etc/ssl, by which TLS knows other machines: " +
		"zf run -mount /etc/ssl shows a program the host's\n"}
	noNames   = note{text: "no name server (ECONNREFUSED): names are those of /etc/hosts; zf run -net virtio gives a program a network with one\n"}
	noSockets = note{text: "no sockets (EAFNOSUPPORT): this image is without the part sockets (zf help build)\n"}
	noSetGS   = note{text: "arch_prctl(ARCH_SET_GS) is refused (EINVAL): GS is the kernel's\n"}
)

// rootFile is where crypto/x509 looks for root certificates first.
const rootFile = "/etc/ssl/certs/ca-certificates.crt"

func (n *note) say() {
	if !n.said {
		n.said = true
		console.FreshLine()
		console.String(n.text)
	}
}
