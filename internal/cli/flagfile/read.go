package flagfile

import (
	"fmt"
	"os"
)

// Read reads a file named by a flag; an empty one is refused because it is never meant.
func Read(flag, path string) ([]byte, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", flag, err)
	}
	if len(raw) == 0 {
		return nil, fmt.Errorf("the file of %s, %s, is empty", flag, path)
	}
	return raw, nil
}
