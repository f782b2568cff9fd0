package explain_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/explain"
	"github.com/hypershift-on-azure/hypershift/internal/survey/surveytest"
)

// plane is the namespace of the control plane, which the operator has marked as the cluster's.
func plane() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: surveytest.Namespace,
		Annotations: map[string]string{hyperv1.HostedClusterAnnotation: "clusters/demo", hyperv1.HostedClusterUIDAnnotation: "uid-demo"}}}
}

// pod of a component of the control plane.
func pod(component, name string, change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: name, Labels: map[string]string{"app": component}}}
	change(p)
	return p
}

func unscheduled(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available: 1 Insufficient cpu.",
		LastTransitionTime: metav1.NewTime(surveytest.Now.Add(-4 * time.Minute))}}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}}
	}
}

func crashing(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}}}}
}

func notReady(p *corev1.Pod) {
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(surveytest.Now.Add(-time.Hour))}}}}
}

// world is a hosted cluster with a pool in which one thing is wrong.
type world struct {
	cluster *hyperv1.HostedCluster
	pool    *hyperv1.NodePool
	objects []client.Object
}

func newWorld() *world {
	return &world{cluster: surveytest.Cluster("demo"), pool: surveytest.Pool("demo", "demo", 1), objects: []client.Object{plane()}}
}

// says has the cluster say that a condition is not as it should be.
func says(condition, reason, message string) func(*world) {
	status := metav1.ConditionFalse
	if slices.Contains([]string{hyperv1.HostedClusterProgressing, hyperv1.HostedClusterDegraded, hyperv1.ClusterVersionProgressing}, condition) {
		status = metav1.ConditionTrue
	}
	return func(w *world) { surveytest.Says(w.cluster, condition, status, reason, message) }
}

func poolSays(condition, reason, message string) func(*world) {
	return func(w *world) { surveytest.PoolSays(w.pool, condition, corev1.ConditionFalse, reason, message) }
}

// machine has the pool wait for a machine with these conditions.
func machine(conditions ...string) func(*world) {
	return func(w *world) {
		w.pool.Status.Replicas = 0
		w.objects = append(w.objects, surveytest.Machine("demo", "demo-a", conditions...))
	}
}

// report is what a machine says of itself, as its pool repeats it.
func report(text string) func(*world) {
	return func(w *world) {
		machine("InfrastructureReady True Ready")(w)
		poolSays(hyperv1.NodePoolAllNodesHealthy, "WaitingForNodeRef", "1 of 1 machines are not healthy\nMachine demo-a: WaitingForNodeRef: the machine says: "+text+"\n")(w)
	}
}

func withPod(component, name string, change func(*corev1.Pod)) func(*world) {
	return func(w *world) { w.objects = append(w.objects, pod(component, name, change)) }
}

func both(changes ...func(*world)) func(*world) {
	return func(w *world) {
		for _, change := range changes {
			change(w)
		}
	}
}

func joined(w *world) {
	w.pool.Status.Replicas = 0
	w.objects = append(w.objects, surveytest.NodeOf(surveytest.Machine("demo", "demo-a", "InfrastructureReady True Ready", "NodeReady False KubeletNotReady PLEG is not healthy"), "n"))
}

func leaving(w *world) {
	m := surveytest.Machine("demo", "demo-a", "Deleting True DrainingNode waits for pod x")
	m.SetDeletionTimestamp(ptr.To(metav1.NewTime(surveytest.Now)))
	m.SetFinalizers([]string{"test/keep"})
	w.objects = append(w.objects, m)
}

func deleting(w *world) {
	w.cluster.DeletionTimestamp, w.cluster.Finalizers = ptr.To(metav1.NewTime(surveytest.Now)), []string{"test/keep"}
	surveytest.Says(w.cluster, hyperv1.HostedClusterDestroyed, metav1.ConditionFalse, hyperv1.DeletingMachinesReason, "2 Machines still exist")
}

// provoked has for each case what provokes it, and a word that its evidence or message must have.
var provoked = map[string]struct {
	by   func(*world)
	word string
}{
	"issuer-unreachable":   {says(hyperv1.PlatformCredentialsFound, "InvalidAzureCredentials", "AADSTS50166: Request to External OIDC endpoint failed."), "AADSTS50166"},
	"federated-credential": {says(hyperv1.PlatformCredentialsFound, "InvalidAzureCredentials", "identity nodePoolManagement cannot sign in: AADSTS700213: No matching federated identity record found"), "AADSTS700213"},
	"sign-in":              {says(hyperv1.PlatformCredentialsFound, "InvalidAzureCredentials", "identity disk cannot sign in: AADSTS700016: Application not found"), "AADSTS700016"},
	"authorization":        {machine("InfrastructureReady False VMProvisionFailed The client does not have authorization to perform action: AuthorizationFailed"), "AuthorizationFailed"},
	"quota":                {machine("InfrastructureReady False VMProvisionFailed QuotaExceeded: Operation could not be completed as it results in exceeding approved Total Regional Cores quota"), "Regional Cores"},
	"capacity":             {machine("InfrastructureReady False VMProvisionFailed SkuNotAvailable: The requested size is currently not available"), "SkuNotAvailable"},
	"vm-size":              {machine("InfrastructureReady False InvalidConfiguration set spec.platform.azure.vmSize to a size that the location has: Standard_D4_v99"), "Standard_D4_v99"},
	"subnet":               {machine("InfrastructureReady False VMProvisionFailed ERROR CODE: InvalidResourceReference: Resource /subscriptions/s/virtualNetworks/v/subnets/none referenced by nic was not found"), "subnets/none"},
	"marketplace-terms":    {machine("InfrastructureReady False VMProvisionFailed MarketplacePurchaseEligibilityFailed: accept the terms"), "Marketplace"},
	"policy":               {machine("InfrastructureReady False VMProvisionFailed RequestDisallowedByPolicy: Resource was disallowed by policy 'tags'"), "tags"},
	"locked":               {machine("InfrastructureReady False DeletionFailed ScopeLocked: the scope is locked"), "ScopeLocked"},
	"resource-group":       {machine("InfrastructureReady False AzureError ResourceGroupNotFound: Resource group 'demo-group' could not be found."), "demo-group"},
	"provisioning-timeout": {machine("InfrastructureReady False VMProvisionFailed OSProvisioningTimedOut: OS Provisioning did not finish in the allotted time"), "allotted time"},
	"azure-slow":           {machine("InfrastructureReady False Failed virtualmachine failed to create or update. err: failed to create or update resource g/m (service: virtualmachine): context deadline exceeded"), "deadline"},
	"vm-deleted":           {machine(`InfrastructureReady False UpdateError failed to reconcile AzureMachine service virtualmachine: failed to get desired parameters for resource g/m (service: virtualmachine): VM with provider id "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m" has been deleted`), "has been deleted"},

	"pod-unschedulable": {withPod("etcd", "etcd-0", unscheduled), "Insufficient cpu"},
	"pod-image":         {withPod("kube-scheduler", "kube-scheduler-5d-x", waiting("ImagePullBackOff", `Back-off pulling image "quay.io/none"`)), "quay.io/none"},
	"pod-config":        {withPod("kube-scheduler", "kube-scheduler-5d-x", waiting("CreateContainerConfigError", `secret "cert" not found`)), `secret "cert" not found`},
	"pod-crash":         {withPod("kube-apiserver", "kube-apiserver-5d-x", crashing), "flag provided but not defined"},
	"pod-not-ready":     {withPod("kube-apiserver", "kube-apiserver-5d-x", notReady), "is not ready"},

	"machine-trust":        {report("node-trust.service is failed: no certificate"), "no certificate"},
	"machine-image":        {report("kubelet-fetch.service is activating, waits for image quay.io/x"), "quay.io/x"},
	"machine-name":         {report("node-name.service is activating, waits for Azure's metadata service"), "metadata"},
	"machine-resolver":     {report("kubelet.service is failed: /etc/resolv.conf has no list of name servers that pods can reach"), "resolv.conf"},
	"machine-runtime":      {report("kubelet.service is failed: containerd does not leave cgroups to systemd"), "cgroups"},
	"machine-network":      {report("the kubelet runs, and /etc/cni/net.d has no network"), "net.d"},
	"machine-says":         {report("own.service is failed"), "own.service"},
	"ignition-not-reached": {both(machine("InfrastructureReady True Ready"), poolSays(hyperv1.NodePoolReachedIgnitionEndpoint, hyperv1.IgnitionNotReachedReason, "no machine has asked for its configuration yet")), "subnets/default"},
	"machine-booting":      {machine("InfrastructureReady True Ready"), "has not joined"},
	"node-not-ready":       {joined, "PLEG"},
	"machine-failed":       {machine("InfrastructureReady False VMProvisionFailed something new"), "something new"},
	"machine-creating":     {machine("InfrastructureReady False Creating"), "is not made"},
	"provider-silent":      {machine("InfrastructureReady False NotReady"), "has not said anything"},
	"machine-leaving":      {leaving, "waits for pod x"},

	"external-dns":       {both(says(hyperv1.ExternalDNSReachable, hyperv1.ExternalDNSHostNotReachable, "lookup api.demo.example.com: no such host"), withDNS), "zone is not there"},
	"ignition-dns":       {poolSays(hyperv1.NodePoolIgnitionEndpointAvailable, hyperv1.ExternalDNSHostNotReachable, "ignition host name i.example.com does not resolve: no such host"), "i.example.com"},
	"apps-dns":           {says(hyperv1.IngressDNSReady, hyperv1.IngressRecordFailedReason, "the record *.apps cannot be written"), "*.apps"},
	"load-balancer":      {both(says(hyperv1.InfrastructureReady, hyperv1.WaitingOnInfrastructureReadyReason, "Service kube-apiserver has no address"), serviceEvent), "PublicIPCountLimitReached"},
	"pull-secret":        {says(hyperv1.ValidReleaseImage, hyperv1.InvalidImageReason, "pull quay.io/release: UNAUTHORIZED: access to the resource is not allowed"), "UNAUTHORIZED"},
	"release-image":      {says(hyperv1.ValidReleaseImage, hyperv1.InvalidImageReason, "release 4.2.0 is not supported"), "4.2.0"},
	"backup":             {both(says(hyperv1.EtcdAvailable, "BackupNotRestored", "waits"), says(hyperv1.HostedClusterRestoredFromBackup, "Failed", "https://x/y answers 404")), "404"},
	"key-vault":          {says(hyperv1.ValidAzureKMSConfig, hyperv1.AzureErrorReason, "KeyDisabled"), "KeyDisabled"},
	"credentials":        {says(hyperv1.PlatformCredentialsFound, hyperv1.PlatformCredentialsNotFoundReason, "identity disk is missing"), "disk"},
	"configuration":      {says(hyperv1.ValidHostedClusterConfiguration, hyperv1.InvalidConfigurationReason, "spec.sshKey names Secret x, which is not there"), "spec.sshKey"},
	"unsupported":        {says(hyperv1.SupportedHostedCluster, hyperv1.UnsupportedHostedClusterReason, "Routes are not served"), "Routes"},
	"pool-configuration": {poolSays(hyperv1.NodePoolSupportedVersionSkew, hyperv1.UnsupportedSkewReason, "4.10 is too old"), "4.10"},
	"ignition-endpoint":  {poolSays(hyperv1.NodePoolIgnitionEndpointAvailable, hyperv1.IgnitionEndpointMissingReason, "the HostedCluster has not published its ignition endpoint yet"), "published"},
	"paused":             {says(hyperv1.ReconciliationActive, hyperv1.ReconciliationPausedReason, "Paused: nothing is changed until spec.pausedUntil is removed"), "pausedUntil"},
	"etcd":               {both(says(hyperv1.HostedClusterAvailable, hyperv1.EtcdWaitingForQuorumReason, "no etcd"), says(hyperv1.EtcdAvailable, hyperv1.EtcdWaitingForQuorumReason, "0 of 1 pods of etcd are ready, 1 needed")), "0 of 1"},
	"api-server":         {says(hyperv1.KubeAPIServerAvailable, hyperv1.WaitingForAvailableReason, "0 of 1 pods of kube-apiserver are ready, 1 needed"), "0 of 1"},
	"upgrade-blocked":    {says(hyperv1.HostedClusterProgressing, hyperv1.BlockedReason, "release 4.20.0 is older than 4.21.0"), "4.20.0"},
	"rollout":            {says(hyperv1.HostedClusterProgressing, hyperv1.ProgressingReason, "from 4.21.0 to 4.22.0"), "4.22.0"},
	"tunnel":             {says(hyperv1.DataPlaneConnectionAvailable, hyperv1.KonnectivityAgentPodsNotFound, "no agent runs"), "no agent"},
	"degraded":           {says(hyperv1.HostedClusterDegraded, hyperv1.UnavailableReplicasReason, "kube-scheduler deployment has 1 unavailable replicas"), "kube-scheduler"},
	"deletion":           {deleting, "2 Machines"},
	"reconciliation":     {says(hyperv1.ReconciliationSucceeded, hyperv1.ReconciliationErrorReason, "write Deployment x: timeout"), "timeout"},
	"starting":           {says(hyperv1.HostedClusterAvailable, hyperv1.WaitingForAvailableReason, "kube-apiserver has not been rolled out"), "rolled out"},
}

func withDNS(w *world) {
	p := pod("external-dns", "external-dns-1", func(p *corev1.Pod) { p.Labels["name"], p.Namespace = "external-dns", "hypershift" })
	w.objects = append(w.objects, p)
}

func serviceEvent(w *world) {
	w.objects = append(w.objects, &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: surveytest.Namespace, Name: "e1"}, Type: corev1.EventTypeWarning, Reason: "SyncLoadBalancerFailed",
		Message: "PublicIPCountLimitReached", InvolvedObject: corev1.ObjectReference{Kind: "Service", Name: "kube-apiserver"}})
}

// logs are what containers said.
func logs(_ context.Context, _, pod, container string, previous bool) (string, error) {
	switch {
	case pod == "kube-apiserver-5d-x" && container == "c" && previous:
		return "starting\nflag provided but not defined: -x\n", nil
	case pod == "external-dns-1":
		return "level=info\nlevel=error msg=\"zone is not there\"\n", nil
	}
	return "", errors.New("no log")
}

func (w *world) facts(t *testing.T) *explain.Facts {
	t.Helper()
	c := surveytest.Client(append(w.objects, w.cluster, w.pool)...).Build()
	facts, err := explain.Gather(t.Context(), c, logs, explain.Question{Namespace: "clusters", Name: "demo", Operator: "hypershift", Now: surveytest.Now})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// unfilled is a name of which nothing was put in its place.
var unfilled = regexp.MustCompile(`\{[a-z-]+\}`)

// TestEveryCaseIsProvoked: each row is what explain says where its cause is planted, with the words that tell it and something to do.
func TestEveryCaseIsProvoked(t *testing.T) {
	for _, row := range explain.Cases() {
		planted, ok := provoked[row.ID]
		if !ok {
			t.Errorf("nothing provokes case %s", row.ID)
			continue
		}
		t.Run(row.ID, func(t *testing.T) {
			w := newWorld()
			planted.by(w)
			told := explain.Cluster(w.facts(t))
			var cases []string
			found := false
			told.Walk(func(f *explain.Finding) {
				if f.Case != "" {
					cases = append(cases, f.Case)
				}
				if f.Case != row.ID {
					return
				}
				text := f.Says
				for _, evidence := range f.Evidence {
					text += "\n" + evidence.Source + ": " + evidence.Says
				}
				found = true
				if !strings.Contains(text, planted.word) {
					t.Errorf("no %q in what is told:\n%s", planted.word, text)
				}
				if f.Cause != row.Cause || len(f.Next) != len(row.Next) || unfilled.MatchString(strings.Join(f.Next, " ")) {
					t.Errorf("%+v", f)
				}
			})
			if !found {
				t.Errorf("found %v, want %s in %+v", cases, row.ID, told)
			}
			if told.Healthy {
				t.Error("the cluster is called healthy")
			}
		})
	}
	if len(provoked) != len(explain.Cases()) {
		t.Errorf("%d provocations for %d cases", len(provoked), len(explain.Cases()))
	}
}

// TestIdentitiesWithoutAnyCredential: an identity that has none is told as one that has another.
func TestIdentitiesWithoutAnyCredential(t *testing.T) {
	w := newWorld()
	says(hyperv1.PlatformCredentialsFound, "InvalidAzureCredentials", "identity disk cannot sign in: the identity has no federated credential at all (AADSTS70025)")(w)
	told := explain.Cluster(w.facts(t))
	found := ""
	told.Walk(func(f *explain.Finding) { found += f.Case })
	if found != "federated-credential" {
		t.Errorf("case %q", found)
	}
}

// TestHealthy: with nothing wrong nothing is found.
func TestHealthy(t *testing.T) {
	w := newWorld()
	w.objects = append(w.objects, surveytest.NodeOf(surveytest.Machine("demo", "demo-a", "InfrastructureReady True Ready", "NodeReady True NodeReady"), "n"))
	told := explain.Cluster(w.facts(t))
	if !told.Healthy || len(told.Because) > 0 || told.Says != "nothing is wrong: version 4.21.0, 1 node pools" {
		t.Errorf("%+v", told)
	}
	pool, ok := explain.NodePool(w.facts(t), "demo")
	if !ok || !pool.Healthy {
		t.Errorf("%+v", pool)
	}
	if _, ok := explain.NodePool(w.facts(t), "other"); ok {
		t.Error("a pool that is not there is explained")
	}
}

// All machines of a pool are well, and nobody could make, repair or delete one: what Azure says of that is explained.
func TestAPoolThatAzureRefuses(t *testing.T) {
	for message, want := range map[string]string{
		"identity nodePoolManagement cannot sign in: AADSTS700213: No matching federated identity record found":     "federated-credential",
		"Azure refuses identity nodePoolManagement: Resource group 'g' could not be found. (ResourceGroupNotFound)": "resource-group",
	} {
		w := newWorld()
		w.objects = append(w.objects, surveytest.NodeOf(surveytest.Machine("demo", "demo-a", "InfrastructureReady True Ready", "NodeReady True NodeReady"), "n"))
		poolSays(hyperv1.NodePoolReady, hyperv1.InvalidAzureCredentialsReason, "machines can be neither made nor repaired nor deleted: "+message)(w)
		told, _ := explain.NodePool(w.facts(t), "demo")
		if told.Healthy || len(told.Because) != 1 || told.Because[0].Case != want || !strings.Contains(told.Because[0].Says, message) {
			t.Errorf("%s: %+v", message, told)
		}
	}
}

// What depends on something broken stands above it, once.
func TestCausesStandBelow(t *testing.T) {
	w := newWorld()
	both(says(hyperv1.HostedClusterAvailable, "EtcdWaitingForQuorum", "etcd"), says(hyperv1.KubeAPIServerAvailable, "NotReady", "no etcd"), says(hyperv1.EtcdAvailable, "EtcdWaitingForQuorum", "0 of 1"),
		says(hyperv1.HostedClusterDegraded, "UnavailableReplicas", "kube-apiserver"), says(hyperv1.ReconciliationSucceeded, "ReconciliationError", "image"), says(hyperv1.ValidReleaseImage, "InvalidImage", "no image"),
		says(hyperv1.IgnitionEndpointAvailable, "NotFound", "none"), withPod("etcd", "etcd-0", unscheduled), withPod("kube-apiserver", "kube-apiserver-5d-x", crashing))(w)
	told := explain.Cluster(w.facts(t))
	var lines []string
	var walk func(f explain.Finding, depth int)
	walk = func(f explain.Finding, depth int) {
		lines = append(lines, strings.Repeat(" ", depth)+strings.TrimSpace(f.Object+" "+f.Condition)+" "+f.Case)
		for _, cause := range f.Because {
			walk(cause, depth+1)
		}
	}
	walk(told, 0)
	want := []string{
		"HostedCluster clusters/demo ", " HostedCluster demo Available ", "  HostedCluster demo KubeAPIServerAvailable ", "   HostedCluster demo EtcdAvailable ", "    Pod etcd-0 pod-unschedulable",
		"   Pod kube-apiserver-5d-x pod-crash",
		"  HostedCluster demo ReconciliationSucceeded ", "   HostedCluster demo ValidReleaseImage release-image", "  HostedCluster demo Degraded degraded", " HostedCluster demo IgnitionEndpointAvailable ignition-endpoint",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// What stands in somebody else's namespace is not shown.
func TestNamespaceOfSomebodyElse(t *testing.T) {
	w := newWorld()
	w.objects[0].(*corev1.Namespace).Annotations[hyperv1.HostedClusterAnnotation] = "other/demo"
	withPod("etcd", "etcd-0", unscheduled)(w)
	facts := w.facts(t)
	if len(facts.Pods) > 0 || len(facts.Unseen) != 1 {
		t.Errorf("%d pods, %v", len(facts.Pods), facts.Unseen)
	}
}

// A cluster costs a dozen calls at most, however much of it is broken.
func TestCallsAreFew(t *testing.T) {
	w := newWorld()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		withPod("kube-apiserver", "kube-apiserver-5d-"+name, crashing)(w)
	}
	calls := make(chan bool, 100)
	c := surveytest.Client(append(w.objects, w.cluster, w.pool)...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			calls <- true
			return c.List(ctx, list, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			calls <- true
			return c.Get(ctx, key, obj, opts...)
		}}).Build()
	counted := func(ctx context.Context, namespace, pod, container string, previous bool) (string, error) {
		calls <- true
		return logs(ctx, namespace, pod, container, previous)
	}
	if _, err := explain.Gather(t.Context(), c, counted, explain.Question{Namespace: "clusters", Name: "demo", Operator: "hypershift", Now: surveytest.Now}); err != nil {
		t.Fatal(err)
	}
	if len(calls) > 14 {
		t.Errorf("%d calls", len(calls))
	}
}

// Machines with one trouble are one finding.
func TestMachinesOfOneTrouble(t *testing.T) {
	w := newWorld()
	w.pool.Status.Replicas, w.pool.Spec.Replicas = 0, ptr.To[int32](5)
	for _, name := range []string{"m-1", "m-2", "m-3", "m-4", "m-5"} {
		w.objects = append(w.objects, surveytest.Machine("demo", name, "InfrastructureReady False VMProvisionFailed "+name+"-vm: QuotaExceeded"))
	}
	told, _ := explain.NodePool(w.facts(t), "demo")
	if len(told.Because) != 1 || told.Because[0].Object != "Machines m-1, m-2, m-3 and 2 more" || told.Because[0].Case != "quota" || told.Says != "0 of 5 nodes are available" {
		t.Errorf("%+v", told)
	}
}
