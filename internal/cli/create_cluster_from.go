package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// takeHandoff completes the flags from the --from file; what was typed wins.
func (f *clusterFlags) takeHandoff(cmd *cobra.Command) error {
	if f.handoff.path == "" {
		return nil
	}
	if err := f.handoff.mustOpen(); err != nil {
		return err
	}
	h := f.handoff.File
	f.handoff.complete(cmd, &f.azureFlags, &f.cluster.Name, &f.infra.InfraID)
	if f.cluster.Name != h.Name && h.Name != "" {
		return fmt.Errorf("--name %s differs from name %s of --from; give every hosted cluster its own hand-off file", f.cluster.Name, h.Name)
	}
	if from := h.Issuer; from != nil {
		orElse(&f.cluster.Identity.IssuerURL, from.URL)
		orElse(&f.signingKey, f.handoff.locate(from.PrivateKeyPath))
	}
	if from := h.Identities; from != nil && f.workloadIdentities == "" {
		f.infra.Identities = from.Clients
	}
	if f.infraJSON == "" {
		f.takeInfraHandoff(h)
	}
	if from := h.DNS; from != nil && f.cluster.Publishing.ExternalDNSDomain == "" {
		f.cluster.Publishing.ExternalDNSDomain = from.Zone
		if err := f.validateDomain(); err != nil {
			f.cluster.Publishing.ExternalDNSDomain = ""
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: the endpoints are not published beneath the zone of the hand-off: %v\n", err)
		}
	}
	return nil
}

// takeInfraHandoff uses infrastructure that is complete, and goes on with one that is not. Roles are given by the stack that makes the
// infrastructure; run again, it makes nothing twice.
func (f *clusterFlags) takeInfraHandoff(h *handoff.File) {
	if from := h.Infra; from != nil && !f.infra.AssignRoles {
		f.fromInfra, f.infraJSON = from, f.handoff.path
		orElse(&f.infra.BaseDomain, from.BaseDomain)
		return
	}
	f.infra.Name = f.cluster.Name
	h.ContinueInfra(&f.infra)
}

// makeInfra runs the stack and keeps the record of it: in the hand-off file, where there is one, and for the Secret beside the
// HostedCluster.
func (c *clusterCreator) makeInfra(ctx context.Context, session *azure.Session) (*infra.Output, error) {
	f := c.flags
	h := &f.handoff
	if err := c.claimHandoff(session, f.infra.InfraID); err != nil {
		return nil, err
	}
	if err := checkWritable("--from", h.path); err != nil {
		return nil, err
	}
	if err := h.lock(); err != nil {
		return nil, err
	}
	h.BeginInfra(session, f.infra)
	out, err := c.createInfra(ctx, session, f.infra, h.journal(infra.Stack, stackProgress(c.cmd)))
	if err != nil {
		return nil, h.undo(err)
	}
	h.EndInfra(f.infra, out)
	return out, h.save(nil)
}

// claimHandoff says for which cluster the record is; without a file it is kept in memory.
func (c *clusterCreator) claimHandoff(session *azure.Session, infraID string) error {
	f := c.flags
	if f.handoff.File == nil {
		if err := f.handoff.open(); err != nil {
			return err
		}
	}
	return f.handoff.isOf(session, &f.azureFlags, f.cluster.Name, infraID)
}

// claimInfra takes infrastructure that is on no record into one.
func (c *clusterCreator) claimInfra(session *azure.Session, out *infra.Output) error {
	c.flags.location = out.Region
	if err := c.claimHandoff(session, out.InfraID); err != nil {
		return err
	}
	c.flags.handoff.Infra = out
	return nil
}

// The members of the Secret: the hand-off, and what the flags have asked for.
const (
	inventoryKey = "handoff.yaml"
	askedKey     = "asked.json"
)

// inventoryName is the Secret beside the HostedCluster in which destroy finds what was made for it.
func inventoryName(cluster string) string { return cluster + "-azure-inventory" }

// inventorySecret is that Secret.
func (c *clusterCreator) inventorySecret(ctx context.Context) (*corev1.Secret, error) {
	f := c.flags
	h := f.handoff.File
	key := client.ObjectKey{Namespace: f.cluster.Namespace, Name: inventoryName(f.cluster.Name)}
	earlier, err := readInventory(ctx, c.client, key)
	if err != nil {
		if !errors.Is(err, errDamagedInventory) {
			return nil, err
		}
		c.say("warning: %v; it is replaced", err)
	}
	// An earlier run may have made what this one has found in its place.
	switch {
	case earlier == nil:
	case earlier.InfraID == h.InfraID:
		h.Join(earlier)
	default:
		c.say("warning: the record of infrastructure %[1]s is replaced; what may be left of it goes with `hypershift destroy infra azure --name %[2]s --infra-id %[1]s`", earlier.InfraID, f.cluster.Name)
	}
	raw, err := h.Encode()
	if err != nil {
		return nil, err
	}
	asked, err := json.Marshal(c.asked)
	if err != nil {
		return nil, fmt.Errorf("cannot encode what the flags ask for: %w", err)
	}
	return &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string][]byte{inventoryKey: raw, askedKey: asked},
	}, nil
}

// readAsked is what the flags asked for the last time; nothing where nobody knows.
func (c *clusterCreator) readAsked(ctx context.Context) (map[string]string, error) {
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: c.existing.Namespace, Name: inventoryName(c.existing.Name)}
	if err := c.client.Get(ctx, key, secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("cannot read Secret %s: %w", key, err)
	}
	asked := map[string]string{}
	if raw := secret.Data[askedKey]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &asked); err != nil {
			c.say("warning: %s of Secret %s cannot be understood, so whatever differs from the flags counts as a wish: %v", askedKey, key, err)
			return nil, nil
		}
	}
	return asked, nil
}

// errDamagedInventory is the error of a Secret that holds no hand-off; every other error leaves open what it holds.
var errDamagedInventory = errors.New("it cannot be understood")

// readInventory reads the Secret; nil when there is none.
func readInventory(ctx context.Context, c client.Client, key client.ObjectKey) (*handoff.File, error) {
	secret := &corev1.Secret{}
	err := c.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the inventory in Secret %s: %w", key, err)
	}
	h, err := handoff.Parse(secret.Data[inventoryKey])
	if err != nil {
		return nil, fmt.Errorf("the inventory in Secret %s: %w: %w", key, errDamagedInventory, err)
	}
	return h, nil
}
