package networkoperator

import (
	"errors"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/planetest"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

// TestWaitsForTheAddress: the operator tells nodes where the API server is, so it is not made before that is known, though the API server is.
func TestWaitsForTheAddress(t *testing.T) {
	view := planetest.View(planetest.Plane())
	view.Payload = release.KindOpenShift
	var waits *component.WaitingError
	if _, err := Component(publish.Endpoints{}).Objects(view); !errors.As(err, &waits) {
		t.Errorf("without an address: %v", err)
	}
	known := publish.Endpoints{APIServer: publish.Endpoint{Host: "198.18.16.3", Port: 7443}}
	if _, err := Component(known).Objects(view); err != nil {
		t.Errorf("with it: %v", err)
	}
}
