package kernel

// The kernel command line: words parted by spaces, of which those of the form
// KEY=VALUE are options. What follows the word "--" belongs to the program.
// A value in double quotes may hold spaces. The last of several equal keys counts.

// Option returns the value of an option of the kernel command line. The bytes
// are the command line's own. Any context.
func Option(key string) (value []byte, ok bool) {
	line := info.Cmdline()
	for {
		v, rest, found := nextOption(line, key)
		if !found {
			return value, ok
		}
		value, ok, line = v, true, rest
	}
}

// nextOption finds the first option of that key in line, and returns its value
// and what follows it.
func nextOption(line []byte, key string) (value, rest []byte, ok bool) {
	for {
		word, rest, ok := nextWord(line)
		if !ok {
			return nil, nil, false
		}
		n := len(key)
		if len(word) > n && word[n] == '=' && Same(word[:n], key) {
			value = word[n+1:]
			if len(value) >= 2 && value[0] == '"' && value[len(value)-1] == '"' {
				value = value[1 : len(value)-1]
			}
			return value, rest, true
		}
		line = rest
	}
}

// nextWord returns the first word of line and what follows it. The word "--" ends the
// kernel's words. A backslash before a quote keeps it from ending the quotes.
func nextWord(line []byte) (word, rest []byte, ok bool) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	start, quoted := i, false
	for i < len(line) && (line[i] != ' ' || quoted) {
		switch {
		case line[i] == '"':
			quoted = !quoted
		case line[i] == '\\' && quoted && i+1 < len(line):
			i++
		}
		i++
	}
	word = line[start:i]
	if len(word) == 0 || Same(word, "--") {
		return nil, nil, false
	}
	return word, line[i:], true
}

// Same reports whether b holds the bytes of s, without calling the runtime. Any
// context.
func Same(b []byte, s string) bool {
	if len(b) != len(s) {
		return false
	}
	for i := range b {
		if b[i] != s[i] {
			return false
		}
	}
	return true
}

// parseUint reads a decimal number.
func parseUint(b []byte) (v uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' || v > (1<<64-1)/10-10 {
			return 0, false
		}
		v = v*10 + uint64(c-'0')
	}
	return v, len(b) > 0
}
