// Command hello is what the test of a release builds: a program with one module.
package main

import (
	"fmt"

	"github.com/spf13/pflag"
)

func main() { fmt.Println(pflag.Parsed()) }
