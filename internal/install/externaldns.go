package install

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/field"
	"github.com/hypershift-on-azure/hypershift/internal/kube/proxyenv"
)

// ExternalDNSRole is a name that an ExternalDNS of somebody else's is likely to have, too.
const ExternalDNSRole = externalDNSName

const (
	externalDNSName       = contract.ExternalDNS
	externalDNSSecretName = "external-dns-credentials"
	externalDNSMount      = "/etc/provider"
	// externalDNSSecretKey is the key that a Secret given by name must have, too.
	externalDNSSecretKey = "credentials"

	tokenVolumeName = "azure-identity-token"
	tokenMount      = "/var/run/secrets/azure/tokens"
	tokenFile       = "azure-identity-token"
)

// ExternalDNS describes the controller that publishes the hosted clusters' host names; an empty provider means none.
type ExternalDNS struct {
	Provider     string
	Credentials  []byte
	SecretName   string
	DomainFilter string
	TXTOwnerID   string
	Image        string
	Interval     string
	// ClientID is the managed identity that Azure's provider signs in as by the token of its service account; with a credentials
	// file it may stand in that. Empty means a secret in the file.
	ClientID string
	// AWSZonesCache and GoogleProject belong to the providers of these names.
	AWSZonesCache, GoogleProject string
	// TenantID goes with ClientID; empty takes the credentials file's.
	TenantID string

	// mounted replaces the name of the Secret in the Deployment alone.
	mounted string
}

func (e ExternalDNS) interval() string { return cmp.Or(e.Interval, "1m") }

// recordsCache is how long ExternalDNS believes what it has read. Whoever loses the zone and makes it anew wants its records back at the
// next look; Azure's lists cost one call for a hundred records. The other providers throttle lists.
func (e ExternalDNS) recordsCache() string {
	if e.Provider == "azure" {
		return "30s"
	}
	return "1h"
}

func (e ExternalDNS) mountedSecret() string {
	return cmp.Or(e.mounted, e.SecretName, externalDNSSecretName)
}

// AzureDNSCredentials is the credentials file of ExternalDNS's Azure provider.
type AzureDNSCredentials struct {
	TenantID         string `json:"tenantId"`
	SubscriptionID   string `json:"subscriptionId"`
	ResourceGroup    string `json:"resourceGroup"`
	ClientID         string `json:"aadClientId"`
	ClientSecret     string `json:"aadClientSecret"`
	WorkloadIdentity bool   `json:"useWorkloadIdentityExtension"`
}

// validate also takes the identity out of the credentials file.
func (e *ExternalDNS) validate() []error {
	var errs []error
	if e.Provider == "" {
		return nil
	}
	if known := []string{"aws", "azure", "google"}; !slices.Contains(known, e.Provider) {
		errs = append(errs, FieldDNSProvider.Wrong("%q is unknown; use aws, azure or google%s", e.Provider, field.Suggest(e.Provider, known)))
	}
	if len(e.Credentials) > 0 && e.SecretName != "" {
		errs = append(errs, field.Errorf(FieldDNSCredentials, "only one of %s and %s may be given", FieldDNSCredentials, FieldDNSSecretName))
	}
	if len(e.Credentials) == 0 && e.SecretName == "" {
		errs = append(errs, FieldDNSCredentials.Wrong("or %s are required with %s", FieldDNSSecretName, FieldDNSProvider))
	}
	errs = append(errs, e.validateProvider()...)
	if e.Provider == "azure" && len(e.Credentials) > 0 {
		errs = append(errs, e.readAzureConfig()...)
	}
	if e.DomainFilter == "" {
		errs = append(errs, FieldDNSDomainFilter.Wrong("is required with %s: the zone that the hosted clusters' host names are written to", FieldDNSProvider))
	} else {
		errs = append(errs, names(FieldDNSDomainFilter, e.DomainFilter, validation.IsDNS1123Subdomain)...)
	}
	for f, value := range map[field.Field]string{FieldDNSInterval: e.Interval, FieldDNSAWSZonesCache: e.AWSZonesCache} {
		if _, err := time.ParseDuration(value); value != "" && err != nil {
			errs = append(errs, f.Wrap(err))
		}
	}
	return errs
}

// validateProvider finds what belongs to another provider.
func (e *ExternalDNS) validateProvider() []error {
	var errs []error
	if e.AWSZonesCache != "" && e.Provider != "aws" {
		errs = append(errs, FieldDNSAWSZonesCache.Wrong("goes with %s=aws only", FieldDNSProvider))
	}
	if e.GoogleProject != "" && e.Provider != "google" {
		errs = append(errs, FieldDNSGoogleProject.Wrong("goes with %s=google only", FieldDNSProvider))
	}
	if e.ClientID != "" && e.Provider != "azure" {
		errs = append(errs, FieldDNSClientID.Wrong("goes with %s=azure only", FieldDNSProvider))
	}
	if e.ClientID != "" && e.SecretName != "" && e.TenantID == "" {
		errs = append(errs, FieldDNSTenantID.Wrong("is required with %s and %s", FieldDNSClientID, FieldDNSSecretName))
	}
	return errs
}

// readAzureConfig finds the mix-up with the credentials file of the other commands, whose keys differ: ExternalDNS would run and
// write no record.
func (e *ExternalDNS) readAzureConfig() []error {
	var file AzureDNSCredentials
	if err := json.Unmarshal(e.Credentials, &file); err != nil {
		return []error{field.Errorf(FieldDNSCredentials, "the file of %s is no JSON object of ExternalDNS", FieldDNSCredentials)}
	}
	required := []struct{ key, value string }{
		{"tenantId", file.TenantID}, {"subscriptionId", file.SubscriptionID}, {"resourceGroup", file.ResourceGroup},
	}
	if !file.WorkloadIdentity {
		required = append(required, struct{ key, value string }{"aadClientId", file.ClientID}, struct{ key, value string }{"aadClientSecret", file.ClientSecret})
	}
	var missing []string
	for _, r := range required {
		if r.value == "" {
			missing = append(missing, r.key)
		}
	}
	if len(missing) > 0 {
		return []error{field.Errorf(FieldDNSCredentials, "the file of %s lacks %s; it differs from the file of %s", FieldDNSCredentials, strings.Join(missing, ", "), FieldAzureCredentials)}
	}
	switch {
	case !file.WorkloadIdentity && e.ClientID != "":
		return []error{FieldDNSClientID.Wrong("needs a file of %s with useWorkloadIdentityExtension, as `create dns azure %s` writes it", FieldDNSCredentials, FieldDNSManagementURL)}
	case !file.WorkloadIdentity:
		return nil
	case e.ClientID == "":
		e.ClientID = file.ClientID
	}
	if e.TenantID == "" {
		e.TenantID = file.TenantID
	}
	if e.ClientID == "" {
		return []error{FieldDNSClientID.Wrong("is required: the file of %s asks for workload identity without naming the identity; `create dns azure` prints its client id", FieldDNSCredentials)}
	}
	return nil
}

func (o *Options) externalDNS() []client.Object {
	e := o.ExternalDNS
	if e.Provider == "" {
		return nil
	}
	objs := []client.Object{
		o.externalDNSAccount(),
		clusterRole(externalDNSName, externalDNSRules()),
		clusterRoleBinding(externalDNSName, o.subjects(externalDNSName)...),
	}
	if e.SecretName == "" {
		objs = append(objs, &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: externalDNSSecretName},
			Data:       map[string][]byte{externalDNSSecretKey: e.Credentials},
		})
	}
	objs = append(objs, o.externalDNSDeployment())
	if !o.NoMonitoring {
		objs = append(objs, o.monitor("PodMonitor", externalDNSName, "podMetricsEndpoints", ""))
	}
	return objs
}

// externalDNSAccount names its identity the way the mutating webhook of Azure's workload identity expects it. The pod needs no such
// webhook: it brings the token itself.
func (o *Options) externalDNSAccount() client.Object {
	sa := o.serviceAccount(externalDNSName)
	if o.ExternalDNS.ClientID != "" {
		sa.SetAnnotations(map[string]string{"azure.workload.identity/client-id": o.ExternalDNS.ClientID})
	}
	return sa
}

func (o *Options) externalDNSDeployment() client.Object {
	e := o.ExternalDNS
	e.Image = o.pinned(e.Image)
	pod := corev1.PodSpec{
		ServiceAccountName: externalDNSName,
		PriorityClassName:  operatorPriority,
		// Always named: the Secret may be there without this installation.
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: pullSecretName}},
		Containers:       []corev1.Container{e.container()},
		Volumes: []corev1.Volume{{Name: "credentials", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: e.mountedSecret()},
		}}},
	}
	if e.ClientID != "" {
		pod.Volumes = append(pod.Volumes, tokenVolume())
	}
	if len(o.TrustBundle) > 0 {
		o.trust(&pod)
	}
	proxyenv.Stamp(&pod, o.Proxy)
	labels := map[string]string{"name": externalDNSName, "app": externalDNSName, componentLabel: externalDNSName}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: externalDNSName, Annotations: o.given(o.ExternalDNS.Image, nil)},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"name": externalDNSName}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: restartOn(o.TrustBundle, e.Credentials)}, Spec: pod,
			},
		},
	}
}

// tokenVolume is the token that Entra exchanges for the identity's.
func tokenVolume() corev1.Volume {
	token := &corev1.ServiceAccountTokenProjection{Audience: contract.CloudTokenAudience, ExpirationSeconds: new(int64(3600)), Path: tokenFile}
	return corev1.Volume{Name: tokenVolumeName, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{ServiceAccountToken: token}},
	}}}
}

func (e ExternalDNS) container() corev1.Container {
	c := corev1.Container{
		Name:            externalDNSName,
		Image:           e.Image,
		ImagePullPolicy: corev1.PullIfNotPresent,
		Command:         []string{"/external-dns"},
		Args: []string{
			"--source=service", "--source=openshift-route", "--domain-filter=" + e.DomainFilter, "--provider=" + e.Provider,
			"--registry=txt", "--txt-suffix=-external-dns", "--txt-owner-id=" + e.TXTOwnerID,
			"--label-filter=hypershift.openshift.io/route-visibility!=private", "--interval=" + e.interval(), "--txt-cache-interval=" + e.recordsCache(),
		},
		Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 7979, Protocol: corev1.ProtocolTCP}},
		LivenessProbe: &corev1.Probe{
			ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(7979)}},
			InitialDelaySeconds: 60, PeriodSeconds: 60, FailureThreshold: 5, TimeoutSeconds: 5,
		},
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("5m"), corev1.ResourceMemory: resource.MustParse("20Mi"),
		}},
		SecurityContext:          &corev1.SecurityContext{Privileged: new(false), ReadOnlyRootFilesystem: new(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: "credentials", MountPath: externalDNSMount, ReadOnly: true}},
	}
	switch {
	case e.Provider == "aws" && e.AWSZonesCache == "":
		c.Args = append(c.Args, "--aws-zones-cache-duration=1h")
	case e.Provider == "aws":
		c.Args = append(c.Args, "--aws-zones-cache-duration="+e.AWSZonesCache)
	case e.GoogleProject != "":
		c.Args = append(c.Args, "--google-project="+e.GoogleProject)
	case e.Provider == "azure":
		c.Args = append(c.Args, "--azure-config-file="+externalDNSMount+"/"+externalDNSSecretKey)
		// Azure throttles when many clusters publish at once; fewer retries spread the load.
		c.Env = []corev1.EnvVar{{Name: "AZURE_SDK_MAX_RETRIES", Value: "5"}}
	}
	if e.ClientID != "" {
		c.Env = append(c.Env, corev1.EnvVar{Name: contract.AzureClientIDEnv, Value: e.ClientID}, corev1.EnvVar{Name: contract.AzureTenantIDEnv, Value: e.TenantID},
			corev1.EnvVar{Name: contract.AzureFederatedTokenFileEnv, Value: tokenMount + "/" + tokenFile})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: tokenVolumeName, MountPath: tokenMount, ReadOnly: true})
	}
	return c
}
