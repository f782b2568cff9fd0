package inputs

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/cluster"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/steps"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// minimal is a hosted cluster that names a pull secret only, among the objects.
func minimal(objects ...client.Object) *cluster.Cluster {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.UID, hc.Spec.InfraID, hc.Spec.ServiceAccountSigningKey = "a-uid", "demo-x1", nil
	c := hostedclustertest.At(hc)
	c.Client = surveytest.Client(append(objects, hc.DeepCopy())...).Build()
	c.Live = c.Client
	return c
}

func secretOf(namespace, name string, keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for _, key := range keys {
		s.Data[key] = []byte(key)
	}
	return s
}

// copied reads a copy in the control plane's namespace, nil where there is none.
func copied(t *testing.T, c *cluster.Cluster, name string) *corev1.Secret {
	t.Helper()
	got := &corev1.Secret{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: name}, got); err != nil {
		return nil
	}
	return got
}

func followed(t *testing.T, c *cluster.Cluster) Inputs {
	t.Helper()
	found, err := read(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestWithoutPullSecret: a control plane is not begun without it; one that runs goes on with the copy that it has.
func TestWithoutPullSecret(t *testing.T) {
	for name, c := range map[string]struct {
		there []client.Object
		stops string
	}{
		"missing":              {nil, `spec.pullSecret: Secret "demo-pull-secret" does not exist in namespace clusters; create it with key .dockerconfigjson`},
		"without its key":      {[]client.Object{secretOf("clusters", "demo-pull-secret", "dockerconfigjson")}, `has no key ".dockerconfigjson"; add it`},
		"missing, it runs":     {[]client.Object{secretOf("clusters-demo", contract.PullSecret)}, ""},
		"there":                {[]client.Object{secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey)}, ""},
		"in another namespace": {[]client.Object{secretOf("default", "demo-pull-secret", hyperv1.PullSecretKey)}, "does not exist in namespace clusters"},
		"its key holds nothing": {[]client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters", Name: "demo-pull-secret"},
			Data: map[string][]byte{hyperv1.PullSecretKey: {}}}}, "has no key"},
	} {
		cluster := minimal(c.there...)
		err := CopyRequired(t.Context(), cluster, followed(t, cluster))
		var stopped *steps.Stopped
		if c.stops == "" && err != nil || c.stops != "" && (!errors.As(err, &stopped) || !strings.Contains(err.Error(), c.stops)) {
			t.Errorf("%s: %v", name, err)
		}
		if got := copied(t, cluster, contract.PullSecret); name == "there" && (got == nil || got.Type != corev1.SecretTypeDockerConfigJson) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestOthersAreNotOverwritten: a name of the user's choosing that the control plane has, or may come to have, is refused before anything is written.
func TestOthersAreNotOverwritten(t *testing.T) {
	theirs := secretOf("clusters-demo", "audit", "own")
	ours := secretOf("clusters-demo", "audit", "old")
	ours.Annotations = map[string]string{kube.DesiredHashPrefix + cluster.FieldManager: "x"}
	for name, c := range map[string]struct {
		named   string
		there   *corev1.Secret
		clashes bool
	}{
		"free":                            {"audit", nil, false},
		"its copy":                        {"audit", ours, false},
		"an object of the control plane":  {"audit", theirs, true},
		"one that it will have":           {contract.KMSConfig, nil, true},
		"a certificate":                   {"etcd-signer", nil, true},
		"one of an OpenShift payload":     {"oauth-openshift-session", nil, true},
		"a token of a node pool":          {"token-demo-1", nil, true},
		"a kubeconfig of the cluster API": {"demo-x1-kubeconfig", nil, true},
	} {
		source := secretOf("clusters", c.named, auditWebhookKey)
		objects := []client.Object{source, secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey)}
		if c.there != nil {
			objects = append(objects, c.there.DeepCopy())
		}
		cl := minimal(objects...)
		cl.Hosted.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: c.named}
		found := followed(t, cl)
		err := errors.Join(CopyRequired(t.Context(), cl, found), CopyOptional(t.Context(), cl, found))
		if (err != nil) != c.clashes || err != nil && !strings.Contains(err.Error(), "spec.auditWebhook: the control plane has a Secret") {
			t.Errorf("%s: %v", name, err)
		}
		if got := copied(t, cl, c.named); got != nil && string(got.Data[auditWebhookKey]) != "" == c.clashes {
			t.Errorf("%s: %v", name, got.Data)
		}
	}
}

// TestFormerCopies: what is no longer named goes; what is kept for what it has signed, what others made, and what is still named does not.
func TestFormerCopies(t *testing.T) {
	made := func(name string, label, applied bool) *corev1.Secret {
		s := secretOf("clusters-demo", name)
		s.Labels, s.Annotations = map[string]string{}, map[string]string{}
		if label {
			s.Labels[copyLabel] = copyLabelValue
		}
		if applied {
			s.Annotations[kube.DesiredHashPrefix+cluster.FieldManager] = "x"
		}
		return s
	}
	elsewhere := made("elsewhere", true, true)
	elsewhere.Namespace = "clusters-other"
	sameName := &corev1.ConfigMap{ObjectMeta: *made("audit", true, true).ObjectMeta.DeepCopy()}
	c := minimal(secretOf("clusters", "audit", auditWebhookKey), made("audit", true, true), made("former", true, true), made("kept", false, true),
		made("labelled-by-somebody", true, false), elsewhere, sameName)
	c.Hosted.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "audit"}
	if err := RemoveFormer(t.Context(), c, followed(t, c)); err != nil {
		t.Fatal(err)
	}
	left := &corev1.SecretList{}
	if err := c.Client.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range left.Items {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	if want := []string{"audit", "audit", "elsewhere", "kept", "labelled-by-somebody"}; !slices.Equal(names, want) {
		t.Errorf("left: %v", names)
	}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(sameName), sameName); err == nil {
		t.Error("a ConfigMap stays because a Secret of its name is named")
	}
}

// TestMarks: keys of encryption stay under their names, unmarked; all others are marked as copies.
func TestMarks(t *testing.T) {
	key := secretOf("clusters", "active")
	key.Data[hyperv1.AESCBCKeySecretKey] = []byte(strings.Repeat("k", 32))
	c := minimal(secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey), key, secretOf("clusters", "audit", auditWebhookKey))
	c.Hosted.Spec.AuditWebhook = &corev1.LocalObjectReference{Name: "audit"}
	c.Hosted.Spec.SecretEncryption = &hyperv1.SecretEncryptionSpec{Type: hyperv1.AESCBC,
		AESCBC: &hyperv1.AESCBCSpec{ActiveKey: corev1.LocalObjectReference{Name: "active"}}}
	found := followed(t, c)
	if err := errors.Join(CopyRequired(t.Context(), c, found), CopyOptional(t.Context(), c, found)); err != nil {
		t.Fatal(err)
	}
	for name, marked := range map[string]bool{"active": false, "audit": true, contract.PullSecret: true} {
		if got := copied(t, c, name); got == nil || (got.Labels[copyLabel] != "") != marked {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestFixedNames: the SSH key and the authorities that the user no longer names go, since the control plane takes them by their names.
func TestFixedNames(t *testing.T) {
	c := minimal(secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey), secretOf("clusters-demo", contract.SSHKey),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.UserCABundle}})
	if err := CopyOptional(t.Context(), c, followed(t, c)); err != nil {
		t.Fatal(err)
	}
	if copied(t, c, contract.SSHKey) != nil {
		t.Error("a former SSH key still opens nodes")
	}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: contract.UserCABundle}, &corev1.ConfigMap{}); err == nil {
		t.Error("authorities that nobody names are still trusted")
	}
}

// TestAnnotationsOfSources: kubectl's note, which holds the content, and the marks of clusters are not copied.
func TestAnnotationsOfSources(t *testing.T) {
	got := foreignAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: "{}", hyperv1.ReferencedResourcePrefix + "/demo": "true",
		"example.com/mine": "x"})
	if !slices.Equal(slices.Collect(maps.Keys(got)), []string{"example.com/mine"}) {
		t.Errorf("%v", got)
	}
}

// TestContent: what the control plane could not use is refused with the field and the object that have it.
func TestContent(t *testing.T) {
	const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	bundle := reference{field: "spec.additionalTrustBundle", kind: ConfigMapKind, name: "ca", keys: []string{hyperv1.TrustBundleKey},
		transform: certificatesIn(hyperv1.TrustBundleKey)}
	key := reference{field: "spec.secretEncryption.aescbc.activeKey", kind: SecretKind, name: "k", keys: []string{"key"}, transform: encryptionKey}
	for name, c := range map[string]struct {
		reference  reference
		text, says string
	}{
		"no certificate":      {bundle, "plain", "there is no PEM block CERTIFICATE in it"},
		"a private key":       {bundle, "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "holds a PEM block PRIVATE KEY; only certificates"},
		"a broken one":        {bundle, broken, "certificate 1:"},
		"a short key":         {key, strings.Repeat("k", 31), `key "key" holds 31 bytes, an encryption key has 32`},
		"a key with its line": {key, strings.Repeat("k", 32) + "\n", "holds 33 bytes"},
		"a key":               {key, strings.Repeat("k", 32), ""},
	} {
		data, err := c.reference.content(map[string][]byte{c.reference.keys[0]: []byte(c.text)})
		if c.says == "" && err != nil || c.says != "" && (err == nil || data != nil || !strings.Contains(err.Error(), c.says) ||
			!strings.Contains(err.Error(), c.reference.field)) {
			t.Errorf("%s: %v, %v", name, data, err)
		}
	}
}

// TestConditionsOfInputs: each problem is told by the condition that is about it, and only by that one.
func TestConditionsOfInputs(t *testing.T) {
	c := minimal(secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey))
	c.Hosted.Spec.ClusterID = "11111111-2222-4333-8444-555555555555"
	c.Hosted.Spec.Etcd = hyperv1.EtcdSpec{ManagementType: hyperv1.Unmanaged, Unmanaged: &hyperv1.UnmanagedEtcdSpec{
		TLS: hyperv1.EtcdTLSConfig{ClientSecret: corev1.LocalObjectReference{Name: "etcd-client"}}}}
	c.Hosted.Spec.Configuration = &hyperv1.ClusterConfiguration{Image: &runtime.RawExtension{Raw: []byte(`{"additionalTrustedCA":{"name":"registries"}}`)}}
	found, err := Check(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckReferences(t.Context(), c, found); err == nil {
		t.Error("two objects are missing, and nothing is said")
	}
	for kind, says := range map[string]string{hyperv1.ValidHostedClusterConfiguration: "registries", hyperv1.UnmanagedEtcdAvailable: "etcd-client",
		hyperv1.ValidProxyConfiguration: ""} {
		told := kube.Find(c.Hosted.Status.Conditions, kind)
		if told == nil || (told.Status == metav1.ConditionFalse) != (says != "") || !strings.Contains(told.Message, says) {
			t.Errorf("%s: %+v", kind, told)
		}
		if kind != hyperv1.UnmanagedEtcdAvailable && told != nil && strings.Contains(told.Message, "etcd-client") {
			t.Errorf("%s tells of etcd: %s", kind, told.Message)
		}
	}
	marked := &corev1.Secret{}
	if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo-pull-secret"}, marked); err != nil ||
		marked.Annotations[c.ReferenceKey()] != "true" {
		t.Errorf("an edit of the pull secret leads nowhere: %v, %v", marked.Annotations, err)
	}
}

// TestNoMarksOfAClusterThatIsGone: nobody would take them off again.
func TestNoMarksOfAClusterThatIsGone(t *testing.T) {
	c := minimal(secretOf("clusters", "demo-pull-secret", hyperv1.PullSecretKey))
	c.Hosted.UID = "another-uid"
	var waiting *steps.Waiting
	if err := markReferenced(t.Context(), c, followed(t, c)); !errors.As(err, &waiting) {
		t.Errorf("%v", err)
	}
}

// TestAdoption: Secrets that were made for this infrastructure go with the cluster; those of others, and the user's, do not.
func TestAdoption(t *testing.T) {
	labelled := func(name, infra string, owners ...types.UID) *corev1.Secret {
		s := secretOf("clusters", name)
		s.Labels = map[string]string{hyperv1.DeleteWithClusterLabel: "true", hyperv1.AutoInfraLabel: infra}
		for _, uid := range owners {
			s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "HostedCluster", Name: "x", UID: uid})
		}
		return s
	}
	kept := labelled("kept", "demo-x1")
	kept.Labels[hyperv1.DeleteWithClusterLabel] = "false"
	c := minimal(labelled("own", "demo-x1"), labelled("shared", "demo-x1", "b-uid"), labelled("adopted", "demo-x1", "a-uid"), labelled("theirs",
		"demo-x2"), kept)
	for range 2 {
		if err := AdoptSecrets(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"own": 1, "shared": 2, "adopted": 1, "theirs": 0, "kept": 0} {
		got := &corev1.Secret{}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: name}, got); err != nil || len(got.OwnerReferences) != want {
			t.Errorf("%s: %v, %v", name, got.OwnerReferences, err)
		}
		if want > 0 && !ownedBy(got, metav1.OwnerReference{UID: "a-uid"}) {
			t.Errorf("%s stays when the cluster goes", name)
		}
	}
}

// TestCredentials hold identifiers of the identity that each operand has, and nothing for operands that the cluster does without.
func TestCredentials(t *testing.T) {
	c := minimal()
	c.Hosted.Spec.Platform.Azure.AzureAuthenticationConfig.WorkloadIdentities.Ingress.ClientID = "ingress-id"
	c.Hosted.Spec.Capabilities = &hyperv1.Capabilities{Disabled: []hyperv1.OptionalCapability{"ImageRegistry"}}
	if err := EnsureCredentials(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	ingress := copied(t, c, ingressCredentials)
	if ingress == nil || string(ingress.Data["azure_client_id"]) != "ingress-id" || string(ingress.Data["azure_resource_prefix"]) != "demo-demo-x1" ||
		string(ingress.Data["azure_region"]) != "eastus" || ingress.Data["azure_client_secret"] != nil {
		t.Errorf("%+v", ingress)
	}
	if copied(t, c, registryCredentials) != nil || copied(t, c, networkCredentials) == nil {
		t.Error("credentials of the registry, or none of the network")
	}
	if !kube.IsTrue(c.Hosted.Status.Conditions, hyperv1.PlatformCredentialsFound) {
		t.Errorf("%+v", c.Hosted.Status.Conditions)
	}
}

// TestInstallation: what the operator's namespace has is brought over, follows it, and goes with it.
func TestInstallation(t *testing.T) {
	source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "hypershift", Name: "sre-metric-set"}, Data: map[string]string{"config": "one"}}
	c := minimal(source)
	got := func() string {
		made := &corev1.ConfigMap{}
		if err := c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters-demo", Name: "sre-metric-set"}, made); err != nil {
			return "none"
		}
		return made.Data["config"]
	}
	for _, content := range []string{"one", "two", "none", "three"} {
		if source.Data = map[string]string{"config": content}; content == "none" {
			source.Data = nil
		}
		if err := errors.Join(c.Client.Update(t.Context(), source), CopyInstallation(t.Context(), c, "hypershift"), CopyInstallation(t.Context(), c,
			"")); err != nil {
			t.Fatal(err)
		}
		if got() != content {
			t.Errorf("%s, want %s", got(), content)
		}
	}
}
