package azure_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hypershift-on-azure/hypershift/sandbox/azure/statuscodes"
)

// checkStatusCodes holds every successful answer of the resource manager against what the SDKs accept.
func (s *sandbox) checkStatusCodes(t *testing.T) {
	t.Helper()
	f, err := os.Open(filepath.Join(s.cfg.Dir, "access.log"))
	must(t, err)
	defer f.Close()
	refused, checked, err := statuscodes.Replay(f)
	must(t, err)
	if checked == 0 && !s.unmanaged && !t.Skipped() {
		t.Error("the access log names no answer of the resource manager: nothing was checked")
	}
	for _, problem := range refused {
		t.Error(problem)
	}
}
