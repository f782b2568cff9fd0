// Command program has a module in its build information.
package main

import "golang.org/x/sync/errgroup"

func main() { _ = new(errgroup.Group).Wait() }
