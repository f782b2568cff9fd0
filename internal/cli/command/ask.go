package command

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Ask puts a question to a person; asked is false where none sits at a terminal.
func Ask(cmd *cobra.Command, question string) (yes, asked bool) {
	terminal, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(terminal.Fd())) {
		return false, false
	}
	fmt.Fprint(cmd.ErrOrStderr(), question)
	answer := make(chan string, 1)
	go func(r io.Reader) {
		line, _ := bufio.NewReader(r).ReadString('\n')
		answer <- line
	}(terminal)
	select {
	case line := <-answer:
		return strings.EqualFold(strings.TrimSpace(line), "yes"), true
	case <-cmd.Context().Done():
		return false, true
	}
}
