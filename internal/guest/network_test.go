package guest

import (
	"errors"
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/guest/configuration"
)

// warnings is what an API server said beside its answers.
type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) { *w = append(*w, text) }

// warnsOfPolicies: who writes a NetworkPolicy that nothing enforces is told so, and may write it.
func (s *server) warnsOfPolicies() {
	s.t.Helper()
	said := &warnings{}
	config := rest.CopyConfig(s.config)
	config.WarningHandler = said
	writer, err := client.New(config, client.Options{Scheme: s.client.Scheme()})
	s.must(err)
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "deny-all"}}
	// A policy for admission takes effect a moment after it is made.
	s.eventually(func() error {
		*said = nil
		again := policy.DeepCopy()
		err := errors.Join(writer.Create(s.t.Context(), again), writer.Delete(s.t.Context(), again))
		if err != nil || !strings.Contains(fmt.Sprint(*said), configuration.PolicyNoticeMessage) {
			return fmt.Errorf("a NetworkPolicy is written, and its author is told %q: %w", *said, errors.Join(err, errors.New("not warned")))
		}
		return nil
	})
	s.must(writer.Create(s.t.Context(), policy))
	*said = nil
	policy.Labels = map[string]string{"a": "b"}
	s.must(writer.Update(s.t.Context(), policy))
	if len(*said) != 0 {
		s.t.Errorf("a change of a label is answered with %q", *said)
	}
	s.must(writer.Delete(s.t.Context(), policy))
}
