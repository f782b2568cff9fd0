package change

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

// NewRotateCertificatesCommand is rotate certificates.
func NewRotateCertificatesCommand() *cobra.Command {
	t := &target{}
	cmd := t.waits(t.changes(t.verb("certificates", "Replace all authorities of a hosted cluster, and all that they have signed",
		"  hypershift rotate certificates demo --dry-run\n  hypershift rotate certificates demo --wait", func(cmd *cobra.Command) error {
			return t.rotateCertificates(cmd.Context(), time.Now(), cmd.OutOrStdout())
		})), "everything is signed by the new authorities")
	cmd.Long = `Replaces all authorities of a hosted cluster's control plane, and with them every certificate and kubeconfig. What is out there goes on
working, since a new authority is vouched for by the former one, until that one ends. Fetch the kubeconfig again afterwards. Nodes learn new
authorities with a new machine configuration: replace them within thirteen months.
Typed again while a rotation is under way, it begins no other, and with --wait goes on waiting for the one that there is.`
	return cmd
}

func (t *target) rotateCertificates(ctx context.Context, now time.Time, out io.Writer) error {
	hc := &hyperv1.HostedCluster{}
	if err := t.read(ctx, hc); err != nil {
		return err
	}
	if _, off := hc.Annotations[hyperv1.DisablePKIReconciliationAnnotation]; off {
		return fmt.Errorf("%s has the annotation %s: its certificates are made by somebody else, who has to replace them", t, hyperv1.DisablePKIReconciliationAnnotation)
	}
	asked := hc.Annotations[hyperv1.RotateAuthoritiesAnnotation]
	if before, err := time.Parse(time.RFC3339, asked); err == nil {
		state, ended, err := t.certificatesAreSince(ctx, hc, before)
		if err != nil {
			return err
		}
		if !ended {
			t.say("a rotation has been under way since %s: %s", asked, state)
			return t.awaitCertificates(ctx, before, out)
		}
	}
	if err := t.settled(ctx); err != nil {
		return err
	}
	before := now.UTC().Truncate(time.Second)
	if err := t.annotate(ctx, hc, hyperv1.RotateAuthoritiesAnnotation, before.Format(time.RFC3339)); err != nil {
		return err
	}
	if t.dryRun {
		_, err := fmt.Fprintf(out, "%s: all authorities, and what they have signed, would be replaced\n", t)
		return err
	}
	return t.awaitCertificates(ctx, before, out)
}

// awaitCertificates waits for the end of a rotation when that is asked for, and says what there is.
func (t *target) awaitCertificates(ctx context.Context, before time.Time, out io.Writer) error {
	words := "%s: all authorities made before %s are being replaced; `hypershift rotate certificates --wait` tells when it has ended\n"
	if t.wait && !t.dryRun {
		err := t.until(ctx, "the new certificates", false, func(ctx context.Context, obj client.Object) (string, bool, error) {
			return t.certificatesAreSince(ctx, obj.(*hyperv1.HostedCluster), before)
		})
		if err != nil {
			return err
		}
		words = "%s: everything is signed by authorities that were made after %s; fetch the kubeconfig again\n"
	}
	_, err := fmt.Fprintf(out, words, t, before.Format(time.RFC3339))
	return err
}

// certificatesAreSince tells whether the administrator's kubeconfig, which is among the last things that follow, is of authorities that are
// as new as wanted, and every component runs with what it was given.
func (t *target) certificatesAreSince(ctx context.Context, hc *hyperv1.HostedCluster, before time.Time) (string, bool, error) {
	if hc.Status.KubeConfig == nil {
		return "there is no kubeconfig yet", false, nil
	}
	secret := &corev1.Secret{}
	if err := t.client.Get(ctx, client.ObjectKey{Namespace: hc.Namespace, Name: hc.Status.KubeConfig.Name}, secret); err != nil {
		return "", false, fmt.Errorf("cannot read the kubeconfig of %s: %w", t, err)
	}
	made, err := madeAt(secret.Data["kubeconfig"])
	if err != nil {
		return "", false, fmt.Errorf("the kubeconfig in Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	if made.Before(before) {
		return "the kubeconfig is not of the new authorities yet", false, nil
	}
	rolling, err := t.rolling(ctx)
	if err != nil || len(rolling) == 0 {
		return "", err == nil, err
	}
	return "rolls out with new certificates: " + strings.Join(rolling, ", "), false, nil
}

// madeAt is when the client certificate of a kubeconfig was made.
func madeAt(kubeconfig []byte) (time.Time, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return time.Time{}, err
	}
	for _, user := range config.AuthInfos {
		block, _ := pem.Decode(user.ClientCertificateData)
		if block == nil {
			continue
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, err
		}
		return pki.Made(cert), nil
	}
	return time.Time{}, errors.New("it has no client certificate")
}

// settled refuses to begin while something else rolls out: a component that gets new certificates in the midst of that starts once more.
func (t *target) settled(ctx context.Context) error {
	rolling, err := t.rolling(ctx)
	if err != nil {
		return err
	}
	if len(rolling) > 0 {
		return fmt.Errorf("%s: %s is rolling out; wait for it, then type the command again (`hypershift explain cluster %s --namespace %s` says what it waits for)",
			t, strings.Join(rolling, ", "), t.name, t.namespace)
	}
	return nil
}

// rolling are the components of the control plane that do not run as they are to.
func (t *target) rolling(ctx context.Context) ([]string, error) {
	components := &hyperv1.ControlPlaneComponentList{}
	namespace := contract.ControlPlaneNamespace(t.namespace, t.name)
	if err := t.client.List(ctx, components, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("cannot list the ControlPlaneComponents in %s: %w", namespace, err)
	}
	var names []string
	for i := range components.Items {
		if c := &components.Items[i]; !meta.IsStatusConditionTrue(c.Status.Conditions, string(hyperv1.ControlPlaneComponentRolloutComplete)) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}
