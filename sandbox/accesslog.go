package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/calls"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/schema"
)

// Violation is what requests to the embedded Azure, or its answers, have wrong by the schemas of Azure's types.
type Violation = schema.Violation

// Violations are those that the access log tells of, answers first. The sandbox need not be up.
func Violations(dir string) ([]Violation, error) {
	log, done, err := accessLog(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	return schema.Replay(log)
}

// Call is a kind of write to the embedded Azure, and what real Azure may refuse it for.
type Call = calls.Call

// Calls are the writes that the access log tells of. The sandbox need not be up.
func Calls(dir string) ([]Call, error) {
	log, done, err := accessLog(dir)
	if err != nil {
		return nil, err
	}
	defer done()
	return calls.Read(log)
}

// accessLog is what is kept of the access log, oldest first; done closes it.
func accessLog(dir string) (log io.Reader, done func(), err error) {
	c, err := config(dir)
	if err != nil {
		return nil, nil, err
	}
	var files []*os.File
	var logs []io.Reader
	done = func() {
		for _, f := range files {
			f.Close()
		}
	}
	path := filepath.Join(c.Dir, "azure", "access.log")
	for _, name := range []string{path + ".1", path} {
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) && name != path {
			continue
		}
		if err != nil {
			done()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("no sandbox was up in %s: it has no access log; name its directory with --dir", c.Dir)
		}
		if err != nil {
			return nil, nil, err
		}
		files, logs = append(files, f), append(logs, f)
	}
	return io.MultiReader(logs...), done, nil
}
