package cluster

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/clitest"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/release/releasetest"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// What is no payload is refused before anything is made in Azure; a payload that no node runs is told; one that this machine cannot read is told, and used.
func TestCreateClusterRefusesPayload(t *testing.T) {
	registry := releasetest.New(t)
	openshift := registry.PushPayload(t, "openshift", releasetest.Payload{Version: "4.21.0", With: releasetest.OpenShiftKeys})
	none := registry.PushPayload(t, "none", releasetest.Payload{References: "{"})
	plain := registry.PushPayload(t, "plain", releasetest.Payload{Version: "4.21.0"})
	for _, tc := range []struct {
		image, refusal, warning string
		made                    bool
	}{
		{none, "--release-image: read image", "", false},
		{openshift, "", "", true},
		{plain, "", "", true},
		{registry.Reference("absent"), "", "warning: cannot see from here whether the payload of --release-image can run", true},
	} {
		made := false
		cmd := NewCreateAzureCommand(func(ctx context.Context, s *azure.Session, o infra.Options, say func(stack.Event)) (*infra.Output, error) {
			made = true
			return clitest.Infra(ctx, s, o, say)
		}, release.Reader{}, nil)
		var out, messages bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&messages)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(clitest.Inputs(t), "--name", "demo", "--render", "--release-image", tc.image))
		err := cmd.ExecuteContext(t.Context())
		if made != tc.made || (err != nil) != (tc.refusal != "") || err != nil && !strings.Contains(err.Error(), tc.refusal) {
			t.Errorf("%s: made is %v, %v", tc.image, made, err)
		}
		if strings.Contains(messages.String(), "cannot see from here") != (tc.warning != "") || !strings.Contains(messages.String(), tc.warning) {
			t.Errorf("%s: messages %s", tc.image, messages.String())
		}
	}
}
