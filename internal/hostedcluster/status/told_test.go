package status

import (
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/hostedcluster/hostedclustertest"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/publish"
	"github.com/hypershift-on-azure/hypershift/internal/release"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// TestRepeatConditions: nothing that a control plane does not say is made up, and nothing of a former one stays.
func TestRepeatConditions(t *testing.T) {
	plane := &hyperv1.HostedControlPlane{}
	set := kube.Conditions(&plane.Status.Conditions, 1)
	set.True(hyperv1.EtcdAvailable, "Quorum", "all are well")
	set.Unknown(hyperv1.EtcdRestoredInPlace, "Wait", "")
	set.False(hyperv1.EtcdBackupSucceeded, hyperv1.BackupFailedReason, "refused")
	for name, c := range map[string]struct {
		plane                    *hyperv1.HostedControlPlane
		deleted                  bool
		etcd, api, backup, place string
	}{
		"no control plane": {nil, false, "Unknown StatusUnknown: The hosted control plane does not exist yet.",
			"Unknown StatusUnknown: The hosted control plane does not exist yet.", "True R: old", "True R: old"},
		"it is gone": {nil, true, "Unknown StatusUnknown: The hosted control plane is gone.",
			"Unknown StatusUnknown: The hosted control plane is gone.", "True R: old", "True R: old"},
		"it says something": {plane, false, "True Quorum: all are well", "Unknown StatusUnknown: The hosted control plane has not reported it yet.",
			"False BackupFailed: refused", ""},
	} {
		c1 := hostedclustertest.At(&hyperv1.HostedCluster{})
		c1.Hosted.Generation = 7
		if c.deleted {
			c1.Hosted.DeletionTimestamp = ptr.To(metav1.NewTime(clock))
		}
		for _, kind := range []string{hyperv1.EtcdAvailable, hyperv1.EtcdBackupSucceeded, hyperv1.EtcdRestoredInPlace, hyperv1.ValidReleaseInfo} {
			c1.Conditions().True(kind, "R", "old")
		}
		RepeatConditions(c1, c.plane, true)
		for kind, want := range map[string]string{hyperv1.EtcdAvailable: c.etcd, hyperv1.KubeAPIServerAvailable: c.api,
			hyperv1.EtcdBackupSucceeded: c.backup, hyperv1.EtcdRestoredInPlace: c.place, hyperv1.ValidReleaseInfo: "True R: old"} {
			got := ""
			if found := kube.Find(c1.Hosted.Status.Conditions, kind); found != nil {
				got = said(c1, kind)
				if found.ObservedGeneration != 7 {
					t.Errorf("%s: %s is of generation %d", name, kind, found.ObservedGeneration)
				}
			}
			if got != want {
				t.Errorf("%s: %s says %q, want %q", name, kind, got, want)
			}
		}
	}
}

// TestAvailableSaysWhatStops: the condition that everybody looks at repeats what keeps wishes from being done, each a sentence, and keeps its status.
func TestAvailableSaysWhatStops(t *testing.T) {
	c := hostedclustertest.At(&hyperv1.HostedCluster{})
	set := c.Conditions()
	for _, step := range []struct {
		change        func()
		blocked, want string
	}{
		{func() { set.True(hyperv1.HostedClusterAvailable, "R", "") }, "", ""},
		{func() {}, "It waits for its turn", "It waits for its turn"},
		{func() { set.True(hyperv1.HostedClusterAvailable, "R", "All is well.") }, "", "All is well."},
		{func() { set.False(hyperv1.ReconciliationActive, "R", "It is paused") }, "", "All is well. It is paused"},
		{func() {
			set.True(hyperv1.HostedClusterAvailable, "R", "All is well")
			set.Unknown(hyperv1.ValidProxyConfiguration, "R", "not looked at")
			set.False(hyperv1.ValidReleaseImage, "R", "It is older.")
		}, "It waits", "All is well. It is paused. It is older. It waits"},
	} {
		step.change()
		tellStopped(c, step.blocked)
		if got := said(c, hyperv1.HostedClusterAvailable); got != "True R: "+step.want {
			t.Errorf("%q, want %q", got, step.want)
		}
	}
}

// TestReconciliationIsTold: a failure is told once as an event, and the step that waits is told with a success.
func TestReconciliationIsTold(t *testing.T) {
	c := hostedclustertest.At(&hyperv1.HostedCluster{})
	recorder := events.NewFakeRecorder(10)
	c.Events = recorder
	for _, step := range []struct {
		held   string
		err    error
		want   string
		events int
	}{
		{"", nil, "True " + hyperv1.ReconciliationSucceededReason + ": The last reconciliation succeeded.", 0},
		{"It waits for the pull secret", nil,
			"True " + hyperv1.ReconciliationSucceededReason + ": The last reconciliation succeeded. It waits for the pull secret.", 0},
		{"", errors.New("no answer"), "False ReconciliationError: no answer", 1},
		{"ignored", errors.New("no answer"), "False ReconciliationError: no answer", 1},
		{"", errors.New("another"), "False ReconciliationError: another", 2},
		{"A step ends.", nil, "True " + hyperv1.ReconciliationSucceededReason + ": The last reconciliation succeeded. A step ends.", 2},
		{"", errors.New("another"), "False ReconciliationError: another", 3},
	} {
		Reconciliation(c, step.held, step.err)
		if got := said(c, hyperv1.ReconciliationSucceeded); got != step.want || len(recorder.Events) != step.events {
			t.Errorf("%q after %d events, want %q", got, len(recorder.Events), step.want)
		}
	}
}

// TestVersionBeforeTheFirstReport: what is being installed is known by its image, and by its version once the payload was read; a report replaces it.
func TestVersionBeforeTheFirstReport(t *testing.T) {
	hc := hostedclustertest.Cluster("demo", "image")
	c := hostedclustertest.At(hc)
	observeVersion(c, nil, Facts{Release: &release.Release{Version: "4.20.0", Image: "another"}})
	if v := hc.Status.Version; v.Desired.Image != "image" || v.Desired.Version != "" || v.History[0].State != hyperv1.PartialUpdate ||
		v.History[0].StartedTime.Time != clock {
		t.Errorf("%+v", v)
	}
	observeVersion(c, nil, Facts{Release: &release.Release{Version: "4.21.0", Image: "image"}})
	if v := hc.Status.Version; v.Desired.Version != "4.21.0" || v.History[0].Version != "4.21.0" || len(v.History) != 1 {
		t.Errorf("%+v", v)
	}
	if got := said(c, hyperv1.HostedClusterProgressing); got != "True Progressing: Rolling out image." {
		t.Error(got)
	}
	plane := &hyperv1.HostedControlPlane{Status: hyperv1.HostedControlPlaneStatus{VersionStatus: &hyperv1.ClusterVersionStatus{
		Desired: hyperv1.VersionRelease{Image: "image", Version: "4.21.0"}, History: []hyperv1.UpdateHistory{{State: hyperv1.CompletedUpdate, Version: "4.21.0"}}}}}
	observeVersion(c, plane, Facts{})
	if got := said(c, hyperv1.HostedClusterProgressing); got != "False AsExpected: The cluster runs the desired release." {
		t.Error(got)
	}
	observeVersion(c, plane, Facts{BlockedUpgrade: "Two others are on their way."})
	if got := said(c, hyperv1.HostedClusterProgressing); got != "True Blocked: Two others are on their way." {
		t.Error(got)
	}
	// The control plane's own history is not written to.
	hc.Status.Version.History[0].Version = "changed"
	if plane.Status.VersionStatus.History[0].Version != "4.21.0" {
		t.Error("the status of the control plane is changed in the cache")
	}
}

// TestCredentialsThatAzureRefuses: what only the control plane can try overrules what this operator has written, and nothing else of it does.
func TestCredentialsThatAzureRefuses(t *testing.T) {
	for status, want := range map[metav1.ConditionStatus]string{
		metav1.ConditionFalse:   "False AzureSays: AADSTS700016",
		metav1.ConditionTrue:    "True Written: written",
		metav1.ConditionUnknown: "True Written: written",
		"":                      "True Written: written",
	} {
		c, plane := hostedclustertest.At(&hyperv1.HostedCluster{}), &hyperv1.HostedControlPlane{}
		c.Conditions().True(hyperv1.PlatformCredentialsFound, "Written", "written")
		if status != "" {
			kube.Conditions(&plane.Status.Conditions, 1).Set(hyperv1.PlatformCredentialsFound, status, "AzureSays", "AADSTS700016")
		}
		observeIdentities(c, plane)
		observeIdentities(c, nil)
		if got := said(c, hyperv1.PlatformCredentialsFound); got != want {
			t.Errorf("%q: %s", status, got)
		}
	}
}

func secret(namespace, name string, data map[string]string, owner string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	if owner != "" {
		reference := metav1.OwnerReference{APIVersion: hyperv1.GroupVersion.String(), Kind: "HostedCluster", Name: "demo", Controller: ptr.To(true)}
		reference.UID = "another-uid"
		if owner == "demo" {
			reference.UID = "a-uid"
		}
		s.OwnerReferences = []metav1.OwnerReference{reference}
	}
	return s
}

// TestAccessIsExported: what users log in with comes to their namespace under keys of ours, follows its source, and goes with it.
func TestAccessIsExported(t *testing.T) {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.UID = "a-uid"
	c := hostedclustertest.At(hc)
	source := secret("clusters-demo", "service-network-admin-kubeconfig", map[string]string{"theirs": "one"}, "")
	c.Client = surveytest.Client(source, secret("clusters-demo", "kubeadmin-password", map[string]string{"password": "p"}, "")).Build()
	if err := ExportAccess(t.Context(), c, nil); err != nil || hc.Status.KubeConfig != nil {
		t.Fatalf("%v, %v", hc.Status.KubeConfig, err)
	}
	plane := &hyperv1.HostedControlPlane{}
	plane.Status.KubeConfig = &hyperv1.KubeconfigSecretRef{Name: source.Name, Key: "theirs"}
	plane.Status.CustomKubeconfig = &hyperv1.KubeconfigSecretRef{Name: "not-there", Key: "kubeconfig"}
	plane.Status.KubeadminPassword = &corev1.LocalObjectReference{Name: "kubeadmin-password"}
	exported := func() (*corev1.Secret, error) {
		got := &corev1.Secret{}
		return got, c.Client.Get(t.Context(), client.ObjectKey{Namespace: "clusters", Name: "demo-admin-kubeconfig"}, got)
	}
	for _, content := range []string{"one", "two"} {
		source.Data["theirs"] = []byte(content)
		if err := errors.Join(c.Client.Update(t.Context(), source), ExportAccess(t.Context(), c, plane)); err != nil {
			t.Fatal(err)
		}
		got, err := exported()
		if err != nil || string(got.Data[hyperv1.KubeconfigKey]) != content || !metav1.IsControlledBy(got, hc) || hc.Status.KubeConfig.Name != got.Name {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if hc.Status.CustomKubeconfig != nil || hc.Status.KubeadminPassword == nil {
		t.Errorf("told: %v, %v", hc.Status.CustomKubeconfig, hc.Status.KubeadminPassword)
	}
	plane.Status.KubeConfig, plane.Status.KubeadminPassword = nil, nil
	if err := ExportAccess(t.Context(), c, plane); err != nil || hc.Status.KubeConfig != nil || hc.Status.KubeadminPassword != nil {
		t.Errorf("%v: %v, %v", err, hc.Status.KubeConfig, hc.Status.KubeadminPassword)
	}
	if _, err := exported(); err == nil {
		t.Error("access stays after its source is gone")
	}
}

// TestForeignAccessStays: Secrets of a user's or of another HostedCluster are not deleted because of their names.
func TestForeignAccessStays(t *testing.T) {
	hc := hostedclustertest.Cluster("demo", "image")
	hc.UID = "a-uid"
	c := hostedclustertest.At(hc)
	c.Client = surveytest.Client(secret("clusters", "demo-admin-kubeconfig", nil, ""), secret("clusters", "demo-custom-admin-kubeconfig", nil, "another"),
		secret("clusters", "demo-kubeadmin-password", nil, "demo")).Build()
	if err := ExportAccess(t.Context(), c, &hyperv1.HostedControlPlane{}); err != nil {
		t.Fatal(err)
	}
	left := &corev1.SecretList{}
	if err := c.Client.List(t.Context(), left); err != nil || len(left.Items) != 2 {
		t.Errorf("%d Secrets are left, %v", len(left.Items), err)
	}
}

// TestIgnitionServer: machines are told of one only while its Deployment is available.
func TestIgnitionServer(t *testing.T) {
	server := func(status corev1.ConditionStatus) client.Object {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: contract.IgnitionServer},
			Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue},
				{Type: appsv1.DeploymentAvailable, Status: status}}}}
	}
	for want, there := range map[string][]client.Object{
		"False NotFound": nil, "False WaitingForAvailable": {server(corev1.ConditionFalse)}, "True AsExpected": {server(corev1.ConditionTrue)},
	} {
		c := hostedclustertest.At(hostedclustertest.Cluster("demo", "image"))
		c.Client = surveytest.Client(there...).Build()
		if err := observeIgnition(t.Context(), c); err != nil || !strings.HasPrefix(said(c, hyperv1.IgnitionEndpointAvailable), want+":") {
			t.Errorf("%s, %v; want %s", said(c, hyperv1.IgnitionEndpointAvailable), err, want)
		}
	}
}

// TestIgnitionEndpoint is where machines ask, by each strategy; nowhere as long as it is not certain.
func TestIgnitionEndpoint(t *testing.T) {
	admitted := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"ingress": []any{
		map[string]any{"host": "i.apps.test", "conditions": []any{map[string]any{"type": "Admitted", "status": "True"}}}}}}}
	admitted.SetGroupVersionKind(publish.RouteKind)
	admitted.SetNamespace("clusters-demo")
	admitted.SetName(contract.IgnitionServer)
	port := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "clusters-demo", Name: publish.IgnitionProxyService},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443, NodePort: 31000}}}}
	open := &hyperv1.NodePortPublishingStrategy{Address: "192.0.2.1"}
	for name, c := range map[string]struct {
		strategy hyperv1.ServicePublishingStrategy
		routes   bool
		there    []client.Object
		want     string
	}{
		"a name": {hyperv1.ServicePublishingStrategy{Type: hyperv1.Route, Route: &hyperv1.RoutePublishingStrategy{Hostname: "i.test"}},
			true, []client.Object{admitted}, "i.test"},
		"admitted":         {hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, true, []client.Object{admitted}, "i.apps.test"},
		"not there":        {hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, true, nil, ""},
		"no Routes at all": {hyperv1.ServicePublishingStrategy{Type: hyperv1.Route}, false, []client.Object{admitted}, ""},
		"a port": {hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort,
			NodePort: &hyperv1.NodePortPublishingStrategy{Address: "192.0.2.1", Port: 30443}}, true, nil, "192.0.2.1:30443"},
		"a port chosen":     {hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: open}, true, []client.Object{port}, "192.0.2.1:31000"},
		"a port not chosen": {hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort, NodePort: open}, true, nil, ""},
		"a port, another address": {hyperv1.ServicePublishingStrategy{Type: hyperv1.NodePort,
			NodePort: &hyperv1.NodePortPublishingStrategy{Address: "fd00::1", Port: 30443}}, true, nil, "[fd00::1]:30443"},
	} {
		hc := hostedclustertest.Cluster("demo", "image")
		hc.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.Ignition, ServicePublishingStrategy: c.strategy}}
		cluster := hostedclustertest.At(hc)
		cluster.Client = surveytest.Client(c.there...).Build()
		if got, err := ignitionEndpoint(t.Context(), cluster, c.routes); err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestObserve: what the control plane tells of itself is taken over, and a port that a router serves is the one that clients ask.
func TestObserve(t *testing.T) {
	for how, want := range map[hyperv1.PublishingStrategyType]int32{hyperv1.LoadBalancer: 7443, hyperv1.Route: 443} {
		c, plane := examined(metav1.ConditionTrue, members(1, 1), servers(contract.APIServer, 1, 1, 0), servers(contract.ControlPlaneOperator, 1, 1, 0))
		c.Hosted.Spec.Services = []hyperv1.ServicePublishingStrategyMapping{{Service: hyperv1.APIServer,
			ServicePublishingStrategy: hyperv1.ServicePublishingStrategy{Type: how}}}
		plane.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{Host: "api.test", Port: 7443}
		plane.Status.OAuthCallbackURLTemplate = "https://oauth.test"
		if _, err := Observe(t.Context(), c, plane, Facts{}); err != nil {
			t.Fatal(err)
		}
		if s := c.Hosted.Status; s.ControlPlaneEndpoint.Host != "api.test" || s.ControlPlaneEndpoint.Port != want || s.OAuthCallbackURLTemplate == "" {
			t.Errorf("%s: %+v", how, s.ControlPlaneEndpoint)
		}
		plane.Status.ControlPlaneEndpoint = hyperv1.APIEndpoint{}
		if _, err := Observe(t.Context(), c, plane, Facts{}); err != nil || c.Hosted.Status.ControlPlaneEndpoint.Port != 0 {
			t.Errorf("%s: a port without a host: %+v, %v", how, c.Hosted.Status.ControlPlaneEndpoint, err)
		}
	}
}
