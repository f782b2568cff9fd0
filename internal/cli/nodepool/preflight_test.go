package nodepool

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/cli/feasibility"
	"github.com/hypershift-on-azure/hypershift/internal/preflight"
)

// A pool whose machines Azure cannot have is not made; a dry run makes none; credentials of another subscription are refused.
func TestLookAhead(t *testing.T) {
	const own, another = "11111111-2222-4333-8444-555555555555", "66666666-2222-4333-8444-555555555555"
	hc := clitest.HostedCluster("demo", false)
	hc.Spec.Platform.Azure.SubscriptionID, hc.Spec.Platform.Azure.Location, hc.Spec.Platform.Azure.Cloud = own, "westeurope", "AzurePublicCloud"
	credentials := func(subscription string) string {
		path := filepath.Join(t.TempDir(), "creds.json")
		text := `{"subscriptionId":"` + subscription + `","tenantId":"` + own + `","clientId":"` + own + `","clientSecret":"s"}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for title, tc := range map[string]struct {
		subscription string
		status       preflight.Status
		dryRun       bool
		refusal      string
		said         string
	}{
		"fine":                 {own, preflight.Pass, false, "", "NodePool big created"},
		"a dry run":            {own, preflight.Pass, true, "", "NodePool big would be created"},
		"no such size":         {own, preflight.Fail, false, "machine size Standard_D4s_v5: cannot be had; choose another", ""},
		"something odd":        {own, preflight.Warn, false, "", "warning: machine size Standard_D4s_v5"},
		"another subscription": {another, preflight.Pass, false, "--azure-creds is of subscription " + another, ""},
	} {
		c := clitest.Client(withPullSecret(hc.DeepCopy())...)
		var out bytes.Buffer
		f := &nodePoolFlags{releases: tagged{}, dryRun: tc.dryRun, credentials: credentials(tc.subscription)}
		f.look = func(_ context.Context, _ *azure.Session, o feasibility.Options) ([]preflight.Check, error) {
			if o.Infra.Location != hc.Spec.Platform.Azure.Location || o.Machines.Count != 3 || o.Machines.Subnet != hc.Spec.Platform.Azure.SubnetID {
				t.Errorf("%s: asked for %+v in %q", title, o.Machines, o.Infra.Location)
			}
			return []preflight.Check{{Name: "machine size " + o.Machines.Size, Status: tc.status, Detail: "cannot be had", Remedy: "choose another"}}, nil
		}
		f.Name, f.Namespace, f.ClusterName, f.Arch, f.Replicas, f.ReleaseImage = "big", "clusters", "demo", "amd64", 3, "quay.io/release:4.21.0"
		err := f.run(t.Context(), c, &out, &out)
		if (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) || !strings.Contains(out.String(), tc.said) {
			t.Errorf("%s: %v, %s", title, err, out.String())
		}
		made := c.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "big"}, &hyperv1.NodePool{}) == nil
		if made != (tc.refusal == "" && !tc.dryRun) {
			t.Errorf("%s: made is %v", title, made)
		}
	}
}
