package boot

// GRUB's command line. GRUB splits the line of its configuration into words as a shell does, and
// joins them again for the kernel: it puts a backslash before each quote and backslash, and a word
// with a space into double quotes (grub-core/lib/cmdline.c). That changes the kernel's own quotes.
// This file restores the words that GRUB had.

// decodeGRUB restores the command line. A word that GRUB put into quotes and that has none of its
// own, as in
//
//	multiboot /kernel "env.NAME=two words" "two words"
//
// gets quotes where the kernel wants them. The result is never longer.
func (i *Info) decodeGRUB() {
	line, to := i.cmdline[:i.nCmdline], 0
	for at := 0; at < len(line); {
		if line[at] == ' ' {
			line[to] = ' '
			to++
			at++
			continue
		}
		quoted := line[at] == '"'
		if quoted {
			at++
		}
		// The word is line[at:end].
		end, own := at, false
		for end < len(line) && line[end] != '"' && (quoted || line[end] != ' ') {
			if line[end] == '\\' && end+1 < len(line) {
				end++
				own = own || line[end] == '"'
			}
			end++
		}
		quote := quoted && !own
		if quote {
			// NAME="VALUE", or "WORD".
			for n := at; n < end && line[n] != ' '; n++ {
				if line[n] == '=' {
					for ; at <= n; at++ {
						line[to] = line[at]
						to++
					}
					break
				}
			}
			line[to] = '"'
			to++
		}
		for ; at < end; at++ {
			// Inside the kernel's quotes, too, a backslash comes before a backslash.
			if line[at] == '\\' && at+1 < end && (!quote || line[at+1] == '\'') {
				at++
			} else if line[at] == '\\' && at+1 < end {
				line[to] = line[at]
				to++
				at++
			}
			line[to] = line[at]
			to++
		}
		if at < len(line) && line[at] == '"' {
			at++
			if quote {
				line[to] = '"'
				to++
			}
		}
	}
	i.nCmdline = to
}

// byGRUB reports whether GRUB loaded the kernel.
func (i *Info) byGRUB() bool {
	const name = "GRUB "
	if i.nLoader < len(name) {
		return false
	}
	for n := range len(name) {
		if i.loader[n] != name[n] {
			return false
		}
	}
	return true
}
