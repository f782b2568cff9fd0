package imagecheck

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
)

// What cannot run is refused; what cannot be read from here is told and left to the operator.
func TestPayload(t *testing.T) {
	registry := releasetest.New(t)
	for title, c := range map[string]struct {
		payload          *releasetest.Payload
		status           int
		refusal, warning string
	}{
		"Kubernetes":   {payload: &releasetest.Payload{Version: "4.21.0"}},
		"OpenShift":    {payload: &releasetest.Payload{Version: "4.21.0", With: releasetest.OpenShiftKeys}},
		"no payload":   {payload: &releasetest.Payload{References: "{"}, refusal: "--release-image: read image"},
		"architecture": {payload: &releasetest.Payload{Version: "4.21.0", Architecture: "riscv64"}, refusal: "riscv64"},
		"absent":       {warning: "check repository and tag"},
		"secret":       {status: http.StatusUnauthorized, warning: "pull secret"},
		"away":         {status: http.StatusTooManyRequests, warning: "check registry, proxy and trust bundle"},
	} {
		t.Run(title, func(t *testing.T) {
			tag := strings.ToLower(strings.ReplaceAll(title, " ", "-"))
			if c.payload != nil {
				registry.PushPayload(t, tag, *c.payload)
			}
			registry.Answer(c.status)
			defer registry.Answer(0)
			said := ""
			found, err := Payload{Flag: "--release-image", Image: registry.Reference(tag)}.Check(t.Context(), func(format string, args ...any) { said += fmt.Sprintf(format, args...) })
			if (err != nil) != (c.refusal != "") || err != nil && !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("refusal %v, want %q", err, c.refusal)
			}
			if (said != "") != (c.warning != "") || !strings.Contains(said, c.warning) {
				t.Errorf("warning %q, want %q", said, c.warning)
			}
			if (found != nil) != (c.refusal == "" && c.warning == "") {
				t.Errorf("found %v", found)
			}
		})
	}
}
