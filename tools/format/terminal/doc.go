// Package terminal has what may go to a user's terminal: text without control characters
// (clean.go), colours and links, and text without these (colours.go), and
// chapters in Markdown as plain text (markdown.go).
//
// It imports nothing of ours. Context: the host.
package terminal
