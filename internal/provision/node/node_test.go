package node

import (
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
)

// What a failed operation has left is written again.
func TestUnfinishedIsDrifted(t *testing.T) {
	for state, want := range map[string]bool{"Failed": true, "Canceled": true, "Succeeded": false, "Updating": false, "": false} {
		if got := Unfinished(&azure.Resource{Properties: map[string]any{"provisioningState": state}}); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}
