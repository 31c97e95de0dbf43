package main

// `zf completion`: a shell's script that completes commands, flags, their values where there is
// a list of them, topics of help, and files. It is made of the commands' own flag sets, so that
// a new flag is in it by itself.

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/zeroframe/zeroframe/qemu"
)

const completionText = `Completion prints a script for a shell, with which TAB completes commands,
flags, their values, topics of help, and files. So:

  bash   source <(zf completion bash)       in ~/.bashrc
  zsh    source <(zf completion zsh)        in ~/.zshrc, behind compinit
  fish   zf completion fish | source        in ~/.config/fish/config.fish`

// runCompletion runs `zf completion`.
func runCompletion(c *call) error {
	var of string
	if err := c.parse([]option{
		{&of, "flags",
			"print the flags of `COMMAND` alone: the scripts ask so for those of\ncommands that are programs of their own"},
	}); err != nil {
		return err
	}
	if of != "" {
		found := find(of)
		if found == nil {
			return fmt.Errorf("unknown command %q%s; `zf -h` lists them", of, meant(of, "", commandNames()))
		}
		for _, f := range flagsOf(found) {
			fmt.Fprintln(c.stdout, "-"+f.Name)
		}
		return nil
	}
	scripts := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}
	if c.NArg() != 1 || scripts[c.Arg(0)] == "" {
		return errors.New("want one of bash, zsh and fish; `zf help completion` says what to do with it")
	}
	return complete(c.stdout, scripts[c.Arg(0)])
}

// flagWord is a flag as a shell wants to know it.
type flagWord struct {
	Name  string
	Help  string // the first line
	Value bool   // a value follows
}

// flagCollector is an output on which a flag set's usage puts its flags in place of text.
type flagCollector struct {
	flags []flagWord
	text  bytes.Buffer // what was written all the same
}

func (c *flagCollector) Write(p []byte) (int, error) { return c.text.Write(p) }

func (c *flagCollector) add(f *flag.Flag) {
	_, help := flag.UnquoteUsage(f)
	first, _, _ := strings.Cut(help, "\n")
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	c.flags = append(c.flags, flagWord{f.Name, first, !ok || !b.IsBoolFlag()})
}

// separate are the commands that are programs of their own; to ask them takes a while.
var separate = []string{"receive"}

// flagsOf returns the flags of a command: by its own -h, which stops in front of the flag
// set's text. Commands that take a command line apart by themselves have only the text.
func flagsOf(c *command) []flagWord {
	var got flagCollector
	newCall(context.Background(), c, []string{"-h"}, nil, &got, &got).do()
	if got.flags == nil {
		for line := range strings.Lines(got.text.String()) {
			words := strings.Fields(line)
			if !strings.HasPrefix(line, "  -") {
				continue
			}
			for _, w := range words[:min(2, len(words))] {
				name, _, _ := strings.Cut(strings.TrimRight(w, ","), "=")
				if strings.HasPrefix(name, "-") {
					got.flags = append(got.flags, flagWord{Name: name[1:]})
				}
			}
		}
	}
	return got.flags
}

// completed is what the scripts are made of.
type completed struct {
	Commands []completedCommand
	Names    []string            // that may follow zf
	Topics   []string            // that may follow zf help
	Values   map[string][]string // of flags, where there is a list
}

type completedCommand struct {
	Name, Short string
	Flags       []flagWord
	Asked       bool // for its flags, by the script
}

// complete writes the script that a template is for.
func complete(w io.Writer, script string) error {
	data := completed{
		Names:  commandNames(),
		Topics: topics(),
		Values: map[string][]string{"accel": qemu.Accels, "net": qemu.NetModels()},
	}
	for _, c := range commands() {
		k := completedCommand{c.name, c.short, nil, slices.Contains(separate, c.name)}
		if !k.Asked {
			k.Flags = flagsOf(&c)
		}
		data.Commands = append(data.Commands, k)
	}
	t := template.New("").Funcs(template.FuncMap{
		"words": func(all []string) string { return strings.Join(all, " ") },
		// Single quotes, as all three shells have them.
		"quoted": func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'" },
		"colons": func(s string) string { return strings.ReplaceAll(s, ":", `\:`) },
	})
	return template.Must(t.Parse(script)).Execute(w, data)
}

// topics are the words that may follow `zf help`.
func topics() []string { return append(commandNames(), helpTopics()...) }

const bashScript = `# zf's completion for bash, made by: zf completion bash
_zf() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		COMPREPLY=($(compgen -W '{{words .Names}}' -- "$cur"))
		return
	fi
	case $prev in
{{- range $name, $values := .Values}}
	-{{$name}}) COMPREPLY=($(compgen -W '{{words $values}}' -- "$cur")); return ;;
{{- end}}
	esac
	case ${COMP_WORDS[1]}:$cur in
	help:*) words='{{words .Topics}}' ;;
{{- range .Commands}}
	{{.Name}}:-*) words=
{{- if .Asked}}"$(zf completion -flags {{.Name}} 2>/dev/null)"
{{- else}}'{{range $i, $f := .Flags}}{{if $i}} {{end}}-{{$f.Name}}{{end}}'{{end}} ;;
{{- end}}
	completion:*) words='bash zsh fish' ;;
	*) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	esac
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o filenames -F _zf zf
`

const zshScript = `#compdef zf
# zf's completion for zsh, made by: zf completion zsh
_zf() {
	local -a words_of
	if (( CURRENT == 2 )); then
		words_of=(
{{- range .Commands}}
			{{quoted (printf "%s:%s" .Name (colons .Short))}}
{{- end}}
			'help:say more of a command or a topic'
		)
		_describe command words_of
		return
	fi
	case $words[CURRENT-1] in
{{- range $name, $values := .Values}}
	-{{$name}}) compadd -- {{words $values}}; return ;;
{{- end}}
	esac
	case $words[2]:$PREFIX in
	help:*) compadd -- {{words .Topics}}; return ;;
{{- range .Commands}}
	{{.Name}}:-*) words_of=(
{{- if .Asked}}${(f)"$(zf completion -flags {{.Name}} 2>/dev/null)"}
{{- else}}{{range $i, $f := .Flags}}{{if $i}} {{end}}{{quoted (printf "-%s:%s" $f.Name (colons $f.Help))}}{{end}}{{end}}) ;;
{{- end}}
	completion:*) compadd -- bash zsh fish; return ;;
	*) _files; return ;;
	esac
	_describe -o flag words_of
}
compdef _zf zf
`

const fishScript = `# zf's completion for fish, made by: zf completion fish
{{- range .Commands}}
complete -c zf -f -n __fish_use_subcommand -a {{.Name}} -d {{quoted .Short}}
{{- end}}
complete -c zf -f -n __fish_use_subcommand -a help -d 'say more of a command or a topic'
complete -c zf -f -n '__fish_seen_subcommand_from help' -a {{quoted (words .Topics)}}
complete -c zf -f -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
{{- $values := .Values}}
{{- range $c := .Commands}}
{{- if .Asked}}
complete -c zf -n '__fish_seen_subcommand_from {{.Name}}' -a '(string match -e -- - (commandline -ct) >/dev/null; and zf completion -flags {{.Name}} 2>/dev/null)'
{{- end}}
{{- range .Flags}}
complete -c zf -n '__fish_seen_subcommand_from {{$c.Name}}' -o {{.Name}}
{{- with index $values .Name}} -x -a {{quoted (words .)}}{{else}}{{if .Value}} -r{{end}}{{end}}
{{- if .Help}} -d {{quoted .Help}}{{end}}
{{- end}}
{{- end}}
`
