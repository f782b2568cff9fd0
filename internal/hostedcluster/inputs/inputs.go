package inputs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/checks"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
)

const (
	auditWebhookKey = contract.AuditWebhookKey

	referencedValue = "true"
	// copyLabel marks the copies that go when the HostedCluster no longer names them.
	copyLabel      = "hypershift.openshift.io/copied-for-hosted-cluster"
	copyLabelValue = "true"
)

// Inputs are the user's objects that a HostedCluster names.
type Inputs []input

// input is what a reference leads to.
type input struct {
	reference
	source client.Object
	// data of the copy; nil when problem says why there is none.
	data    map[string][]byte
	problem error
	// clashes: the name belongs to the control plane, to which it must therefore not be told as the user's.
	clashes bool
}

// Check reads what the HostedCluster names, once per pass, and reports everything that is wrong with it and with the HostedCluster at
// once, so that the user does not find it out error by error. What contradicts within the HostedCluster stops the pass; what is wrong
// with an object it names stops only what needs that.
func Check(ctx context.Context, c *cluster.Cluster) (Inputs, error) {
	shared, err := checks.Unique(ctx, c)
	if err != nil {
		return nil, err
	}
	found, readErr := read(ctx, c)
	err = errors.Join(slices.Concat(checks.Configuration(c.Hosted), shared, []error{readErr})...)
	all := []error{err}
	for _, in := range found {
		if in.condition() == hyperv1.ValidHostedClusterConfiguration {
			all = append(all, in.problem)
		}
	}
	if everything := errors.Join(all...); everything != nil {
		c.Conditions().False(hyperv1.ValidHostedClusterConfiguration, hyperv1.InvalidConfigurationReason, everything.Error())
	} else {
		c.Conditions().True(hyperv1.ValidHostedClusterConfiguration, hyperv1.AsExpectedReason, "The configuration is valid.")
	}
	return found, err
}

// read follows every reference of the HostedCluster.
func read(ctx context.Context, c *cluster.Cluster) (Inputs, error) {
	list, err := references(c.Hosted)
	found := make(Inputs, 0, len(list))
	for _, r := range list {
		found = append(found, r.follow(ctx, c))
	}
	return found, err
}

// follow reads what the reference leads to.
func (r reference) follow(ctx context.Context, c *cluster.Cluster) input {
	in := input{reference: r}
	if in.source, in.problem = r.read(ctx, c); in.problem == nil {
		in.data, in.problem = r.content(dataOf(in.source))
		if r.reports == hyperv1.ValidReleaseImage {
			// The look at the release tells of a pull secret that is missing, not of one without its key.
			in.reports = ""
		}
	}
	if in.problem == nil {
		in.problem = checks.ServingCertificate(c.Hosted, in.field, in.name, in.data)
	}
	clash, err := r.clashes(ctx, c)
	switch {
	case err != nil:
		in.problem = err
	case clash:
		in.clashes, in.problem = true, r.clash()
	}
	return in
}

func (r reference) read(ctx context.Context, c *cluster.Cluster) (client.Object, error) {
	source := newOf(r.kind)
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Hosted.Namespace, Name: r.name}, source)
	if apierrors.IsNotFound(err) {
		return nil, r.missing(c.Hosted.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read %s %q: %w", r.field, r.kind, r.name, err)
	}
	return source, nil
}

func newOf(kind string) client.Object {
	if kind == ConfigMapKind {
		return &corev1.ConfigMap{}
	}
	return &corev1.Secret{}
}

func dataOf(source client.Object) map[string][]byte {
	switch s := source.(type) {
	case *corev1.Secret:
		return s.Data
	case *corev1.ConfigMap:
		data := map[string][]byte{}
		for key, value := range s.Data {
			data[key] = []byte(value)
		}
		return data
	}
	return nil
}

// clashes tells whether a copy that keeps its name would overwrite an object that the control plane has, or will have.
func (r reference) clashes(ctx context.Context, c *cluster.Cluster) (bool, error) {
	if r.copyAs != "" || reserved(r.kind, r.name, c.InfraID()) {
		return r.copyAs == "", nil
	}
	existing := newOf(r.kind)
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: r.name}, existing)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: read %s %s/%s: %w", r.field, r.kind, c.Namespace, r.name, err)
	}
	return !kube.AppliedBy(existing, cluster.FieldManager), nil
}

// CheckReferences tells what is wrong with the user's objects. What is in order is brought on all the same.
func CheckReferences(ctx context.Context, c *cluster.Cluster, inputs Inputs) error {
	byCondition := map[hyperv1.ConditionType][]error{}
	for _, in := range inputs {
		byCondition[in.condition()] = append(byCondition[in.condition()], in.problem)
	}
	report := func(kind hyperv1.ConditionType, good, bad, healthy string) error {
		err := errors.Join(byCondition[kind]...)
		if err != nil {
			c.Conditions().False(kind, bad, err.Error())
		} else {
			c.Conditions().True(kind, good, healthy)
		}
		return err
	}
	problems := []error{
		errors.Join(byCondition[hyperv1.ValidHostedClusterConfiguration]...),
		report(hyperv1.ValidProxyConfiguration, hyperv1.AsExpectedReason, hyperv1.ProxyCABundleInvalidReason, "The proxy's certificates can be read, or none are named."),
		markReferenced(ctx, c, inputs),
	}
	if c.Hosted.Spec.Etcd.ManagementType == hyperv1.Unmanaged {
		problems = append(problems, report(hyperv1.UnmanagedEtcdAvailable, hyperv1.UnmanagedEtcdAsExpectedReason,
			hyperv1.UnmanagedEtcdMisconfigured, "The Secret with the client certificate of etcd is complete."))
	}
	return errors.Join(problems...)
}

// markReferenced annotates the user's objects, so that an edit of them leads back here. Nothing else of them is touched.
func markReferenced(ctx context.Context, c *cluster.Cluster, inputs Inputs) error {
	var problems []error
	confirmed := false
	for _, in := range inputs {
		if in.source == nil || in.source.GetAnnotations()[c.ReferenceKey()] != "" {
			continue
		}
		if !confirmed {
			if err := c.Confirm(ctx); err != nil {
				return err
			}
			confirmed = true
		}
		before, _ := in.source.DeepCopyObject().(client.Object)
		annotations := maps.Clone(in.source.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[c.ReferenceKey()] = referencedValue
		in.source.SetAnnotations(annotations)
		if err := c.Client.Patch(ctx, in.source, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			problems = append(problems, fmt.Errorf("mark %s %q as referenced: %w", in.kind, in.name, err))
		}
	}
	return errors.Join(problems...)
}
