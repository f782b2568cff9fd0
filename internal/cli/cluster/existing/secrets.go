package existing

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/manifest"
)

// reference is a Secret, or the ConfigMap of the trust bundle, that a HostedCluster names, and the file that a flag puts there.
type reference struct {
	flag, file string
	field      string // of the HostedCluster's spec
	name       string // as the HostedCluster has it; "" when it names none
	ours       string // as this program names it
	kind, key  string
	content    []byte // nil for what is generated, of which every content is as asked
}

// record is the key of what is asked for.
func (r reference) record(namespace string) string {
	return fmt.Sprintf("%s %s/%s %s", r.kind, namespace, r.ours, r.key)
}

func references(t Flags, cluster manifest.Cluster, spec hyperv1.HostedClusterSpec) []reference {
	names, s := manifest.NamesOf(cluster.Name), cluster.Secrets
	return []reference{
		{flag: "pull-secret", file: t.Files["pull-secret"], field: "pullSecret", name: spec.PullSecret.Name, ours: names.PullSecret, kind: "Secret", key: hyperv1.PullSecretKey, content: s.PullSecret},
		{flag: "ssh-key", file: t.Files["ssh-key"], field: "sshKey", name: spec.SSHKey.Name, ours: names.SSHKey, kind: "Secret", key: hyperv1.SSHPublicKeyKey, content: s.SSHPublicKey},
		{flag: "generate-ssh", field: "sshKey", name: spec.SSHKey.Name, ours: names.SSHKey, kind: "Secret", key: hyperv1.SSHPublicKeyKey},
		{flag: "sa-token-issuer-private-key-path", file: t.Files["sa-token-issuer-private-key-path"], field: "serviceAccountSigningKey", name: nameOf(spec.ServiceAccountSigningKey), ours: names.SigningKey,
			kind: "Secret", key: hyperv1.ServiceAccountSigningKey, content: s.SigningKey},
		{flag: "additional-trust-bundle", file: t.Files["additional-trust-bundle"], field: "additionalTrustBundle", name: nameOf(spec.AdditionalTrustBundle), ours: contract.UserCABundle,
			kind: "ConfigMap", key: hyperv1.TrustBundleKey, content: s.TrustBundle},
	}
}

func nameOf(ref *corev1.LocalObjectReference) string {
	if ref == nil {
		return ""
	}
	return ref.Name
}

// secrets compares the files of typed flags with what the HostedCluster names.
func (c *comparison) secrets(ctx context.Context) error {
	for _, r := range references(c.flags, c.cluster, c.existing.Spec) {
		if !c.flags.Given(r.flag) {
			continue
		}
		if r.name == "" {
			c.unnamed(r)
			continue
		}
		found, err := c.contentOf(ctx, r)
		if err != nil {
			return err
		}
		d := Difference{Object: fmt.Sprintf("%s %s/%s", r.kind, c.existing.Namespace, r.name), Field: r.key, Flags: []string{"--" + r.flag},
			Found: "another content", Asked: "that of " + r.file, Change: c.replacing(r)}
		d.AskedBefore = c.note(r.record(c.existing.Namespace), fingerprint(r.content))
		if found != nil && r.content != nil && !bytes.Equal(bytes.TrimSpace(found), bytes.TrimSpace(r.content)) {
			c.found = append(c.found, d)
		}
	}
	return nil
}

// unnamed is what a flag asks for and the HostedCluster has no place for.
func (c *comparison) unnamed(r reference) {
	d := Difference{Object: fmt.Sprintf("HostedCluster %s/%s", c.existing.Namespace, c.existing.Name), Field: "spec." + r.field, Flags: []string{"--" + r.flag}, Asked: r.ours}
	file := r.file
	if file == "" {
		file = "FILE"
	}
	r.name, r.file = r.ours, file
	d.Change = c.replacing(r) + fmt.Sprintf(` && kubectl -n %s patch hostedcluster %s --type merge -p '{"spec":{"%s":{"name":"%s"}}}'`, c.existing.Namespace, c.existing.Name, r.field, r.ours)
	d.AskedBefore = c.note(d.Object+" "+d.Field, r.ours)
	c.found = append(c.found, d)
}

// replacing is the command that puts the file into the object; no secret is among its arguments.
func (c *comparison) replacing(r reference) string {
	if r.field == "serviceAccountSigningKey" {
		return "the signing key of a cluster is changed with `hypershift rotate oidc-issuer azure --update-cluster` alone: tokens of a key that is not published are refused"
	}
	kind := "secret generic"
	if r.kind == "ConfigMap" {
		kind = "configmap"
	}
	return fmt.Sprintf("kubectl -n %[1]s create %[2]s %[3]s --from-file=%[4]s=%[5]s --dry-run=client -o yaml | kubectl -n %[1]s apply --server-side --force-conflicts -f -",
		c.existing.Namespace, kind, r.name, r.key, r.file)
}

// contentOf reads the member of the Secret or ConfigMap; nil when there is none.
func (c *comparison) contentOf(ctx context.Context, r reference) ([]byte, error) {
	key := client.ObjectKey{Namespace: c.existing.Namespace, Name: r.name}
	var secret corev1.Secret
	var config corev1.ConfigMap
	var err error
	if r.kind == "ConfigMap" {
		err = c.client.Get(ctx, key, &config)
	} else {
		err = c.client.Get(ctx, key, &secret)
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("cannot read %s %s: %w", r.kind, key, err)
	}
	if text, ok := config.Data[r.key]; ok {
		return []byte(text), nil
	}
	return secret.Data[r.key], nil
}

// fingerprint tells contents apart without telling them.
func fingerprint(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Missing are the objects of the flags that a cluster which exists lacks: Secrets and a trust bundle that it names, and node pools.
func Missing(ctx context.Context, c client.Client, flags Flags, existing *hyperv1.HostedCluster, cluster manifest.Cluster) ([]client.Object, error) {
	spec := existing.Spec
	cluster.ReleaseImage = spec.Release.Image // nodes that are made now join the cluster as it is now
	if p := spec.Platform.Azure; p != nil {
		cluster.Infra.SubnetID = p.SubnetID
	}
	pools, err := wantsPools(ctx, c, flags, existing)
	if err != nil {
		return nil, err
	}
	names := manifest.NamesOf(cluster.Name)
	named := map[string]bool{spec.PullSecret.Name: true, spec.SSHKey.Name: true, nameOf(spec.ServiceAccountSigningKey): true, nameOf(spec.AdditionalTrustBundle): true,
		names.CloudCredentials: true}
	if e := spec.SecretEncryption; e != nil && e.AESCBC != nil {
		named[e.AESCBC.ActiveKey.Name] = true
	}
	var out []client.Object
	for _, obj := range cluster.Objects() {
		switch obj.(type) {
		case *corev1.Secret, *corev1.ConfigMap:
			if !named[obj.GetName()] {
				continue
			}
		case *hyperv1.NodePool:
			if !pools {
				continue
			}
		default:
			continue
		}
		there, err := isThere(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		if !there && obj.GetName() == names.EtcdEncryption {
			return nil, fmt.Errorf("Secret %s is missing, which holds the key that the cluster's Secrets are encrypted with: bring it back from a backup; another key would make them unreadable", client.ObjectKeyFromObject(obj))
		}
		if !there {
			out = append(out, obj)
		}
	}
	return out, nil
}

// wantsPools tells whether node pools that are missing are asked for: by a flag, or because the cluster has none at all. A pool that
// somebody has replaced by others does not come back by itself.
func wantsPools(ctx context.Context, c client.Client, flags Flags, existing *hyperv1.HostedCluster) (bool, error) {
	if flags.Given("node-pool-replicas") || flags.Given("availability-zones") {
		return true, nil
	}
	pools := &hyperv1.NodePoolList{}
	if err := c.List(ctx, pools, client.InNamespace(existing.Namespace)); err != nil {
		return false, fmt.Errorf("cannot list the NodePools: %w", err)
	}
	for i := range pools.Items {
		if pools.Items[i].Spec.ClusterName == existing.Name {
			return false, nil
		}
	}
	return true, nil
}

func isThere(ctx context.Context, in client.Client, obj client.Object) (bool, error) {
	live := obj.DeepCopyObject().(client.Object)
	err := in.Get(ctx, client.ObjectKeyFromObject(obj), live)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("cannot read %s %s: %w", obj.GetObjectKind().GroupVersionKind().Kind, client.ObjectKeyFromObject(obj), err)
	}
	return true, nil
}
