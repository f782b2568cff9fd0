// Command site writes the documentation as web pages into dist/site: README, SECURITY, CONTRIBUTING and docs. A link that leads nowhere, or a page
// that no chapter has, makes it fail. `make docs` runs it.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	repo := flag.String("repo", ".", "the checkout")
	out := flag.String("out", "dist/site", "folder of the pages")
	flag.Parse()
	s, err := read(*repo)
	if err == nil {
		err = s.write(*out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Printf("%s/index.html: %d pages\n", *out, len(s.pages))
}
