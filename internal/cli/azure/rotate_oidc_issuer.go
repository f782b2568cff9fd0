package azure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/cli/azureflags"
	"github.com/hypershift-on-azure/hypershift/internal/cli/command"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/cli/progress"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/stack"
)

// NewRotateOIDCIssuerCommand is rotate oidc-issuer.
func NewRotateOIDCIssuerCommand() *cobra.Command {
	return command.Parent("oidc-issuer", "Change the key that signs a hosted cluster's tokens", newRotateOIDCIssuerAzureCommand())
}

// rotateFlags are the flags of rotate oidc-issuer azure as typed.
type rotateFlags struct {
	azureflags.Flags
	provision.RotateOptions
	handoff               azureflags.HandoffFile
	kubeconfig, namespace string
	updateCluster         bool
}

func newRotateOIDCIssuerAzureCommand() *cobra.Command {
	f := &rotateFlags{}
	cmd := &cobra.Command{
		Use:   "azure",
		Short: "Publish a second key, try it, switch the hosted cluster to it, wait out old tokens, retire the old key",
		Long: `Changes the signing key so that no token is refused at any moment: both keys are published, the hosted cluster is given the
new one (and goes on accepting the old), the longest token is waited out, and the old key is retired. It can be stopped at any
point; run again, it goes on where it was. Before the switch a token of the new key is exchanged with Azure, which keeps the keys that
it has read for some time: while it refuses, the cluster goes on signing with the old key.`,
		Example: `  hypershift rotate oidc-issuer azure --from demo.yaml --azure-creds azure-credentials.json --update-cluster --no-wait
  hypershift rotate oidc-issuer azure --from demo.yaml --azure-creds azure-credentials.json --update-cluster --finish`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Flags.Add(cmd)
	f.AddPlan(cmd)
	addIssuerFlags(cmd, &f.Issuer)
	flags := cmd.Flags()
	flags.DurationVar(&f.TokenLifetime, "token-lifetime", 24*time.Hour, "longest life of a token, with the time the API server takes to roll out")
	flags.DurationVar(&f.KeyWait, "key-wait", 15*time.Minute, "how long Azure may take to accept a token of the new key, which is tried before the cluster signs with it; 0 does not try")
	flags.BoolVar(&f.NoWait, "no-wait", false, "do not wait for old tokens to end; print when to run --finish")
	flags.BoolVar(&f.Finish, "finish", false, "only end a rotation that is under way")
	flags.BoolVar(&f.updateCluster, "update-cluster", false, "put the keys into the signing key Secret of HostedCluster --name on the management cluster")
	flags.BoolVar(&f.Updated, "secret-updated", false, "without --update-cluster: you have put the keys into the Secret")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig of the management cluster")
	flags.StringVarP(&f.namespace, "namespace", "n", "clusters", "namespace of the hosted cluster")
	f.handoff.AddRead(cmd)
	return cmd
}

func (f *rotateFlags) run(cmd *cobra.Command) error {
	if err := f.handoff.MustOpen(); err != nil {
		return err
	}
	f.handoff.Complete(cmd, &f.Flags, &f.Issuer.Name, nil)
	if from := f.handoff.Issuer; from != nil {
		completeIssuer(&f.Issuer, from)
		if !cmd.Flags().Changed("output-dir") && from.PrivateKeyPath != "" {
			f.Issuer.KeyDirectory = filepath.Dir(f.handoff.Locate(from.PrivateKeyPath))
		}
	}
	if f.updateCluster {
		if f.Issuer.Shared {
			return errors.New("--update-cluster reaches one hosted cluster, and a shared issuer serves several; update each one's Secret and give --secret-updated")
		}
		c, err := management.NewClient(f.kubeconfig)
		if err != nil {
			return err
		}
		key := client.ObjectKey{Namespace: f.namespace, Name: f.Issuer.Name}
		f.UpdateCluster = func(ctx context.Context, private, oldPublic []byte) error {
			return updateSigningKey(ctx, c, key, private, oldPublic)
		}
	}
	f.Say = progress.Line(cmd)
	return azureflags.WithPlan(cmd, &f.Flags,
		func(ctx context.Context, s *azure.Session) ([]stack.Step, error) {
			return provision.PlanRotateIssuer(ctx, s, f.RotateOptions)
		},
		func(ctx context.Context, s *azure.Session) (*provision.Rotation, error) {
			rotation, err := provision.RotateIssuer(ctx, s, f.RotateOptions)
			if err != nil {
				return nil, err
			}
			return rotation, f.record(s, rotation)
		},
		func(w io.Writer, rotation *provision.Rotation) error {
			_, err := fmt.Fprintf(w, "%s %s\n", rotation.Phase, rotation.KeyID)
			return err
		})
}

// record has the hand-off file name the keys that are published now. It is read anew, for a rotation may take a day.
func (f *rotateFlags) record(s *azure.Session, rotation *provision.Rotation) error {
	if f.handoff.Issuer == nil {
		return nil
	}
	if err := f.handoff.MustOpen(); err != nil {
		return err
	}
	if err := f.handoff.Begin(s, &f.Flags, f.Issuer.Name, ""); err != nil {
		return err
	}
	f.handoff.Issuer.KeyIDs = rotation.KeyIDs
	return f.handoff.Save(nil)
}

// updateSigningKey changes the Secret that the HostedCluster names.
func updateSigningKey(ctx context.Context, c client.Client, key client.ObjectKey, private, oldPublic []byte) error {
	var hc hyperv1.HostedCluster
	if err := c.Get(ctx, key, &hc); err != nil {
		return fmt.Errorf("cannot read HostedCluster %s: %w", key, err)
	}
	if hc.Spec.ServiceAccountSigningKey == nil {
		return fmt.Errorf("HostedCluster %s names no signing key Secret; the issuer's key is not in use there", key)
	}
	var secret corev1.Secret
	name := client.ObjectKey{Namespace: key.Namespace, Name: hc.Spec.ServiceAccountSigningKey.Name}
	if err := c.Get(ctx, name, &secret); err != nil {
		return fmt.Errorf("cannot read Secret %s: %w", name, err)
	}
	before := secret.DeepCopy()
	if secret.Data == nil {
		secret.Data = map[string][]byte{}
	}
	secret.Data[hyperv1.ServiceAccountSigningKey] = private
	delete(secret.Data, hyperv1.ServiceAccountOldPubKey)
	if oldPublic != nil {
		secret.Data[hyperv1.ServiceAccountOldPubKey] = oldPublic
	}
	if err := c.Patch(ctx, &secret, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("cannot update Secret %s: %w", name, err)
	}
	return nil
}
