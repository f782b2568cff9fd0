// Package causes reads which script makes the cause of which case of `hypershift explain`, for the test that every case has one and for the
// page of the cases.
package causes

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Scripts are the paths of the scripts in testdata, those of the short tier first.
func Scripts(testdata string) ([]string, error) {
	var scripts []string
	for _, pattern := range []string{"*.txtar", "long/*.txtar"} {
		found, err := filepath.Glob(filepath.Join(testdata, pattern))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("no scripts are in %s: %w", filepath.Join(testdata, pattern), os.ErrNotExist)
		}
		scripts = append(scripts, found...)
	}
	return scripts, nil
}

// Made are the scripts of each case, by the lines "explained cluster|nodepool NAME CASE..." of the scripts in testdata, which is test/e2e/testdata.
func Made(testdata string) (map[string][]string, error) {
	scripts, err := Scripts(testdata)
	if err != nil {
		return nil, err
	}
	made := map[string][]string{}
	for _, path := range scripts {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			return nil, fmt.Errorf("read script %s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txtar")
		for line := range strings.Lines(string(archive.Comment)) {
			words := strings.Fields(line)
			if len(words) < 4 || words[0] != "explained" {
				continue
			}
			for _, one := range words[3:] {
				if !slices.Contains(made[one], name) {
					made[one] = append(made[one], name)
				}
			}
		}
	}
	return made, nil
}
