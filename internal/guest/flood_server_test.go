package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
	"github.com/hypershift-on-azure/hypershift/internal/guest/guesttest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

// TestAGuestDoesNotFloodTheManagementCluster: an administrator of the guest writes into its ClusterVersion all that his API server takes, and
// then changes it in a loop.
func TestAGuestDoesNotFloodTheManagementCluster(t *testing.T) {
	s := startOperator(t, hostedPlane())
	fast := rest.CopyConfig(s.config)
	fast.QPS = -1
	attacker, err := client.New(fast, client.Options{Scheme: guesttest.Scheme(t)})
	s.must(err)
	s.client = attacker
	s.eventually(func() error {
		if s.plane().Status.VersionStatus == nil {
			return errors.New("the version is not reported yet")
		}
		return nil
	})
	s.attack(func(status *configv1.ClusterVersionStatus) {
		status.AvailableUpdates, status.ConditionalUpdates = nil, nil
		for i := range 300 {
			update := configv1.Release{Version: fmt.Sprintf("4.%d.0", i), Image: strings.Repeat("i", 1000), URL: configv1.URL("https://example.com/" + strings.Repeat("u", 1000))}
			status.AvailableUpdates = append(status.AvailableUpdates, update)
		}
	})
	s.eventually(func() error {
		if updates := len(s.plane().Status.VersionStatus.AvailableUpdates); updates == 0 || updates > 100 {
			return fmt.Errorf("%d updates are reported", updates)
		}
		return nil
	})
	if size, err := json.Marshal(s.plane().Status); err != nil || len(size) > 256<<10 {
		t.Errorf("the status has %d bytes (%v)", len(size), err)
	}
	s.flood()
}

// attack writes the status of the guest's ClusterVersion.
func (s *server) attack(change func(*configv1.ClusterVersionStatus)) {
	s.t.Helper()
	s.must(retry.OnError(retry.DefaultRetry, func(error) bool { return true }, func() error {
		version := &configv1.ClusterVersion{}
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Name: configuration.ClusterVersionName}, version); err != nil {
			return err
		}
		before := version.DeepCopy()
		change(&version.Status)
		return s.client.Status().Patch(s.t.Context(), version, client.MergeFrom(before))
	}))
}

// flood changes an update for some seconds and counts how often the hosted control plane is written.
func (s *server) flood() {
	s.t.Helper()
	const attacked = 6 * time.Second
	allowed := kube.PaceBurst + int(attacked/kube.PaceInterval) + 1
	writes, changes, last := 0, 0, s.plane().ResourceVersion
	for end := time.Now().Add(attacked); time.Now().Before(end); {
		changes++
		s.attack(func(status *configv1.ClusterVersionStatus) {
			status.AvailableUpdates = []configv1.Release{{Version: fmt.Sprint(changes), Image: "x"}}
		})
		if now := s.plane().ResourceVersion; now != last {
			writes, last = writes+1, now
		}
	}
	s.t.Logf("%d changes made %d writes", changes, writes)
	if writes > allowed {
		s.t.Errorf("%d changes in the guest made %d writes in the management cluster in %s, want %d at most", changes, writes, attacked, allowed)
	}
	// What the guest said last is told in the end.
	s.eventually(func() error {
		if told := s.plane().Status.VersionStatus.AvailableUpdates; len(told) != 1 || told[0].Version != fmt.Sprint(changes) {
			return fmt.Errorf("after %d changes: %+v", changes, told)
		}
		return nil
	})
}
