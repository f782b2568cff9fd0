package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/management"
	"github.com/hypershift-on-azure/hypershift/internal/conversion/wire"
	"github.com/hypershift-on-azure/hypershift/internal/install"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

var (
	routeKind          = schema.GroupKind{Group: "route.openshift.io", Kind: "Route"}
	serviceMonitorKind = schema.GroupKind{Group: "monitoring.coreos.com", Kind: "ServiceMonitor"}
	admissionKind      = schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}
)

func newInstallClient() (client.Client, error) {
	config, err := management.RestConfig("")
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(hyperv1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot connect to the management cluster %s: %w", config.Host, err)
	}
	return c, nil
}

// completeFromCluster takes what only the management cluster knows, and finds what would make the installation fail half-way.
func (i *installer) completeFromCluster(ctx context.Context) error {
	proxy, found, err := proxyenv.FromCluster(ctx, i.client)
	if err != nil {
		return err
	}
	if !found {
		// ExternalDNS goes the way that the operator is given.
		proxy = proxyenv.FromEnvironment(func(name string) string { return i.opts.ExtraEnv[name] })
	}
	i.opts.Proxy = proxy
	monitoring, err := i.served(serviceMonitorKind)
	if err != nil {
		return err
	}
	if i.opts.NoMonitoring = !monitoring; i.opts.NoMonitoring {
		i.say("the management cluster has no %s API; monitors and rules are left out", serviceMonitorKind.Group)
	}
	policies, err := i.served(admissionKind, "v1")
	if err != nil {
		return err
	}
	return errors.Join(i.decideAdmission(policies), i.decideRouter(ctx), i.decideConversion(ctx), i.checkPullSecret(ctx), i.completeExternalDNS(ctx),
		i.checkImages(ctx), i.checkZone(ctx))
}

// requireAdmin asks for every right: an installation grants many, and nobody can grant what he does not hold.
func (i *installer) requireAdmin(ctx context.Context) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	if err := i.client.Create(ctx, review); err != nil {
		return fmt.Errorf("cannot ask the management cluster for my rights: %w", err)
	}
	if !review.Status.Allowed {
		return errors.New("the user of this kubeconfig is not cluster-admin of the management cluster; install as one who is")
	}
	return nil
}

// decideAdmission leaves out what the API server cannot enforce, and says what that means.
func (i *installer) decideAdmission(served bool) error {
	if i.opts.NoAdmission = !served; served {
		return nil
	}
	if len(i.opts.ReleaseRegistries) > 0 {
		return errors.New("--release-registries needs ValidatingAdmissionPolicies, which the management cluster has from Kubernetes 1.30 (OpenShift 4.17) on; upgrade it, or install without the flag")
	}
	i.say("the management cluster has no ValidatingAdmissionPolicies, which come with Kubernetes 1.30 (OpenShift 4.17): who may write HostedClusters may also set images, pod security, priority and placement of control planes; give that right to administrators alone")
	return nil
}

func (i *installer) served(kind schema.GroupKind, versions ...string) (bool, error) {
	_, err := i.client.RESTMapper().RESTMapping(kind, versions...)
	if err != nil && !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("cannot ask the management cluster for %s: %w", kind, err)
	}
	return err == nil, nil
}

// decideRouter adds our router where the cluster has no Routes but, perhaps, those of a former installation.
func (i *installer) decideRouter(ctx context.Context) error {
	served, err := i.served(routeKind)
	if err != nil {
		return err
	}
	if served {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := i.client.Get(ctx, client.ObjectKey{Name: install.RouteCRD}, crd)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("cannot read definition %s: %w", install.RouteCRD, err)
		}
		if crd.Labels[wire.InstalledLabel] != wire.InstalledValue {
			return nil
		}
	}
	if i.opts.IngressDomain == "" {
		return errors.New("the management cluster serves no Routes, by which hosted clusters are reached: give --ingress-domain, " +
			"a domain whose names all lead to the Service \"router\" that this installation then adds, such as apps.example.com")
	}
	i.opts.Router = true
	return nil
}

// decideConversion keeps objects readable: without a webhook only one version is served, so all must be stored in it.
func (i *installer) decideConversion(ctx context.Context) error {
	if !i.opts.NoCAPIConversion && !i.opts.NoCAPIMigration {
		return nil
	}
	crds, err := i.opts.CRDs()
	if err != nil {
		return err
	}
	var errs []error
	for _, crd := range crds {
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := i.client.Get(ctx, client.ObjectKeyFromObject(crd), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot read definition %s: %w", crd.Name, err)
		}
		if i.opts.NoCAPIMigration && crd.Spec.Group == "ipam.cluster.x-k8s.io" {
			// Its first version may be stored, and whoever installed it converts it.
			i.opts.SkipCRDs = append(i.opts.SkipCRDs, crd.Name)
			continue
		}
		if former := unserved(crd, live.Status.StoredVersions); i.opts.NoCAPIConversion && former != "" {
			errs = append(errs, fmt.Errorf("definition %s may have objects stored as %s, which need the conversion webhook; leave --disable-capi-conversion-webhook out", crd.Name, former))
		}
	}
	return errors.Join(errs...)
}

// unserved returns a stored version that the definition does not serve.
func unserved(crd *apiextensionsv1.CustomResourceDefinition, stored []string) string {
	served := map[string]bool{}
	for _, version := range crd.Spec.Versions {
		served[version.Name] = version.Served
	}
	for _, version := range stored {
		if !served[version] {
			return version
		}
	}
	return ""
}

// checkPullSecret: a Secret's type cannot be changed, and the API server's words for that help nobody.
func (i *installer) checkPullSecret(ctx context.Context) error {
	if len(i.opts.PullSecret) == 0 {
		return nil
	}
	secret := &corev1.Secret{}
	err := i.client.Get(ctx, client.ObjectKey{Namespace: i.opts.Namespace, Name: "pull-secret"}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot read Secret %s/pull-secret: %w", i.opts.Namespace, err)
	}
	if secret.Type != corev1.SecretTypeDockerConfigJson {
		return fmt.Errorf("secret %s/pull-secret exists with type %q, which cannot be changed to %q; delete it and install again",
			i.opts.Namespace, secret.Type, corev1.SecretTypeDockerConfigJson)
	}
	return nil
}

func (i *installer) completeExternalDNS(ctx context.Context) error {
	e := &i.opts.ExternalDNS
	if e.Provider == "" {
		return nil
	}
	if len(i.opts.PullSecret) == 0 {
		i.say("warning: ExternalDNS is installed without --pull-secret; its image may need one")
	}
	if e.TXTOwnerID == "" {
		// The identity of the cluster, so that a second installation keeps its records.
		system := &corev1.Namespace{}
		if err := i.client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
			return fmt.Errorf("cannot read namespace kube-system of the management cluster: %w", err)
		}
		e.TXTOwnerID = uuid.NewSHA1(uuid.NameSpaceOID, []byte(system.UID)).String()
	}
	return nil
}
