package etcd

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/kube"
	"github.com/hypershift-on-azure/hypershift/internal/pki"
)

const signed = "https://store.example/backups/demo.db?sig=secret"

// contextOf is a view of a control plane with the objects that there are.
func contextOf(t *testing.T, policy hyperv1.AvailabilityPolicy, present ...client.Object) *component.Context {
	t.Helper()
	hcp := &hyperv1.HostedControlPlane{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "clusters-demo"}}
	hcp.Spec.ControllerAvailabilityPolicy = policy
	return &component.Context{Context: t.Context(), Client: fake.NewClientBuilder().WithObjects(present...).Build(), HCP: hcp,
		Images: map[string]string{"etcd": "e"}, Settings: component.Settings{Image: "cpo"}, Inputs: &component.Inputs{}}
}

// request of somebody to go back to a backup.
func request(id string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRestore, Namespace: "clusters-demo"},
		Data: map[string][]byte{contract.EtcdRestoreID: []byte(id)}}
}

func setOf(t *testing.T, ctx *component.Context) (*appsv1.StatefulSet, []client.Object) {
	t.Helper()
	all, err := objects(ctx)
	if err != nil {
		t.Fatal(err)
	}
	set, ok := find[*appsv1.StatefulSet](all, Name)
	if !ok {
		t.Fatal("there is no StatefulSet")
	}
	return set, all
}

func named(containers []corev1.Container, name string) *corev1.Container {
	if i := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
		return &containers[i]
	}
	return nil
}

// TestMembersKnowEachOther: each member begins with the same list, whose names lead to the pods, and no member lets anybody in without a certificate.
func TestMembersKnowEachOther(t *testing.T) {
	const first = "etcd-0=https://etcd-0.etcd-discovery.clusters-demo.svc:2380"
	three := first + ",etcd-1=https://etcd-1.etcd-discovery.clusters-demo.svc:2380,etcd-2=https://etcd-2.etcd-discovery.clusters-demo.svc:2380"
	for policy, members := range map[hyperv1.AvailabilityPolicy]string{hyperv1.SingleReplica: first, hyperv1.HighlyAvailable: three, "": three} {
		args := Args(contextOf(t, policy))
		for _, want := range []string{
			"--name=$(POD_NAME)", "--data-dir=/var/lib/data", "--initial-cluster=" + members, "--initial-cluster-token=clusters-demo", "--initial-cluster-state=new",
			"--initial-advertise-peer-urls=https://$(POD_NAME).etcd-discovery.$(NAMESPACE).svc:2380",
			"--advertise-client-urls=https://$(POD_NAME).etcd-discovery.$(NAMESPACE).svc:2379",
			"--listen-client-urls=https://$(POD_IP):2379,https://localhost:2379", "--listen-peer-urls=https://$(POD_IP):2380",
			"--listen-metrics-urls=https://0.0.0.0:2382", "--client-cert-auth=true", "--peer-client-cert-auth=true",
			"--trusted-ca-file=/etc/etcd/tls/ca/ca.crt", "--peer-trusted-ca-file=/etc/etcd/tls/ca/ca.crt",
			"--cert-file=/etc/etcd/tls/server/server.crt", "--peer-cert-file=/etc/etcd/tls/peer/peer.crt", "--quota-backend-bytes=8589934592",
		} {
			if !slices.Contains(args, want) {
				t.Errorf("policy %q: %s is missing in %v", policy, want, args)
			}
		}
		if plain := slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, "http://") }); plain {
			t.Errorf("policy %q: something is served without a certificate: %v", policy, args)
		}
	}
}

// TestVariablesOfArguments: whatever an argument refers to, its container has; Kubernetes leaves others as they are.
func TestVariablesOfArguments(t *testing.T) {
	ctx := contextOf(t, hyperv1.HighlyAvailable, request("one"))
	ctx.HCP.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{RestoreSnapshotURL: []string{signed}}}
	set, _ := setOf(t, ctx)
	pod := set.Spec.Template.Spec
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, name := range []string{"POD_NAME", "NAMESPACE", "POD_IP"} {
			has := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == name })
			if strings.Contains(strings.Join(c.Command, " "), "$("+name+")") && !has {
				t.Errorf("container %s refers to %s and has it not", c.Name, name)
			}
		}
		for _, mount := range c.VolumeMounts {
			has := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name }) || mount.Name == "data"
			if !has {
				t.Errorf("container %s mounts %s, which there is not", c.Name, mount.Name)
			}
		}
	}
	seen := map[string]bool{}
	for _, volume := range pod.Volumes {
		if seen[volume.Name] {
			t.Errorf("volume %s is there twice: the API server refuses the pod", volume.Name)
		}
		seen[volume.Name] = true
	}
}

// TestProbes ask the side-car, which asks etcd as a client of it. A start may take half an hour, as it does with much data, before anybody kills it.
func TestProbes(t *testing.T) {
	set, _ := setOf(t, contextOf(t, hyperv1.SingleReplica))
	containers := set.Spec.Template.Spec.Containers
	server, health := named(containers, "etcd"), named(containers, "healthz")
	for what, probe := range map[string]*corev1.Probe{"/readyz": server.ReadinessProbe, "/healthz": server.LivenessProbe} {
		if get := probe.HTTPGet; get.Path != what || get.Port.IntVal != 9980 || get.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("%s: %+v", what, get)
		}
	}
	start := server.StartupProbe
	if patience := time.Duration(start.PeriodSeconds*start.FailureThreshold) * time.Second; start.HTTPGet.Path != "/readyz" || patience < 3*time.Minute {
		t.Errorf("etcd has %s to start, as %s says", patience, start.HTTPGet.Path)
	}
	for _, arg := range []string{"--listen=:9980", "--target=https://localhost:2382", "--path=/healthz=/livez", "--path=/readyz=/readyz"} {
		if !slices.Contains(health.Command, arg) {
			t.Errorf("the side-car lacks %s: %v", arg, health.Command)
		}
	}
	// The kubelet shows no certificate; who reads metrics shows one that is no client's of the database.
	metrics := named(containers, "etcd-metrics")
	authority := "--client-ca-file=/etc/etcd/tls/metrics-ca/ca.crt"
	if !slices.Contains(metrics.Command, authority) || slices.Contains(health.Command, authority) {
		t.Errorf("metrics %v, health %v", metrics.Command, health.Command)
	}
	if port := metrics.Ports[0]; port.Name != "metrics" || port.ContainerPort != 2381 || !slices.Contains(metrics.Command, "--path=/metrics=/metrics") {
		t.Errorf("metrics at %+v: %v", port, metrics.Command)
	}
}

// TestDisksAndNames: members begin side by side, find each other before they are ready, and keep disks that nobody but the user sizes.
func TestDisksAndNames(t *testing.T) {
	set, all := setOf(t, contextOf(t, hyperv1.HighlyAvailable))
	if set.Spec.ServiceName != "etcd-discovery" || set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement {
		t.Errorf("Service %s, pods %s", set.Spec.ServiceName, set.Spec.PodManagementPolicy)
	}
	disk := set.Spec.VolumeClaimTemplates[0]
	if disk.Name != "data" || disk.Spec.Resources.Requests.Storage().String() != "8Gi" || disk.Spec.StorageClassName != nil {
		t.Errorf("disk %s of %s, class %v", disk.Name, disk.Spec.Resources.Requests.Storage(), disk.Spec.StorageClassName)
	}
	discovery, _ := find[*corev1.Service](all, "etcd-discovery")
	clients, _ := find[*corev1.Service](all, "etcd-client")
	if discovery.Spec.ClusterIP != corev1.ClusterIPNone || !discovery.Spec.PublishNotReadyAddresses {
		t.Errorf("members find each other by %+v", discovery.Spec)
	}
	if clients.Spec.ClusterIP != "" || clients.Spec.PublishNotReadyAddresses {
		t.Errorf("clients are led by %+v", clients.Spec)
	}
	for _, s := range []*corev1.Service{discovery, clients} {
		if s.Spec.Selector[component.LabelApp] != "etcd" || s.Spec.Ports[0].Port != 2379 {
			t.Errorf("Service %s leads to %v at %+v", s.Name, s.Spec.Selector, s.Spec.Ports)
		}
	}
}

// TestSizeOnly: a size without a class, and a class without a size, leave the other one as it is.
func TestSizeOnly(t *testing.T) {
	hcp := &hyperv1.HostedControlPlane{}
	for _, volume := range []*hyperv1.PersistentVolumeEtcdStorageSpec{nil, {}, {StorageClassName: ptr.To("fast")}} {
		hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{PersistentVolume: volume}}
		got := claim(hcp).Spec
		if got.Resources.Requests.Storage().String() != "8Gi" || volume != nil && got.StorageClassName != volume.StorageClassName {
			t.Errorf("%+v: %+v", volume, got)
		}
	}
}

// TestUnmanagedHasNoEtcd: nothing runs beside an etcd of the user's.
func TestUnmanagedHasNoEtcd(t *testing.T) {
	ctx := contextOf(t, hyperv1.HighlyAvailable)
	for kind, want := range map[hyperv1.EtcdManagementType]bool{hyperv1.Managed: true, "": true, hyperv1.Unmanaged: false} {
		ctx.HCP.Spec.Etcd.ManagementType = kind
		if Component().Enabled(ctx) != want {
			t.Errorf("%q: %t", kind, !want)
		}
	}
}

// TestBeginsWithSnapshot: the pods get the address until they have begun with it, and never again: a member that loses its disk later would come back
// with a state that the others have left behind. The container stays, since taking it away would restart etcd.
func TestBeginsWithSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		restored metav1.ConditionStatus
		address  string
	}{"not yet": {"", signed}, "waits": {metav1.ConditionFalse, signed}, "has begun": {metav1.ConditionTrue, ""}} {
		ctx := contextOf(t, hyperv1.HighlyAvailable)
		ctx.HCP.CreationTimestamp = metav1.NewTime(time.UnixMicro(5))
		ctx.HCP.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{RestoreSnapshotURL: []string{signed}}}
		if c.restored != "" {
			kube.Conditions(&ctx.HCP.Status.Conditions, 1).Set(hyperv1.HostedClusterRestoredFromBackup, c.restored, hyperv1.AsExpectedReason, "")
		}
		set, all := setOf(t, ctx)
		secret, ok := find[*corev1.Secret](all, contract.EtcdSnapshot)
		if !ok || string(secret.Data[contract.EtcdRestoreURL]) != c.address {
			t.Errorf("%s: address %q", name, secret.Data)
		}
		if c.address != "" && string(secret.Data[contract.EtcdRestoreRevision]) != "5" {
			t.Errorf("%s: revision %q: it must not change from pass to pass", name, secret.Data[contract.EtcdRestoreRevision])
		}
		restorer := named(set.Spec.Template.Spec.InitContainers, contract.CommandRestoreSnapshot)
		tells := func(arg string) bool { return strings.Contains(arg, "sig=") || strings.HasPrefix(arg, "--id-file") }
		if restorer == nil || slices.ContainsFunc(restorer.Command, tells) {
			t.Errorf("%s: %+v", name, restorer)
		}
		for _, once := range []string{contract.EtcdSnapshot, contract.EtcdRestore, contract.UserCABundle} {
			if !slices.Contains(reloads(ctx), once) {
				t.Errorf("a change of %s restarts members that run", once)
			}
		}
	}
	if set, all := setOf(t, contextOf(t, hyperv1.SingleReplica)); len(set.Spec.Template.Spec.InitContainers) != 0 {
		t.Errorf("without a snapshot: %+v", set.Spec.Template.Spec.InitContainers)
	} else if _, ok := find[*corev1.Secret](all, contract.EtcdSnapshot); ok {
		t.Error("without a snapshot there is a Secret for its address")
	}
}

// TestBackToBackup: the init container comes with the request, and not because the request cannot be read.
func TestBackToBackup(t *testing.T) {
	for name, c := range map[string]struct {
		present []client.Object
		want    bool
	}{
		"nobody asked":      {nil, false},
		"another namespace": {[]client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: contract.EtcdRestore, Namespace: "clusters-other"}}}, false},
		"without an id":     {[]client.Object{request("")}, false},
		"asked":             {[]client.Object{request("one")}, true},
	} {
		set, _ := setOf(t, contextOf(t, hyperv1.SingleReplica, c.present...))
		container := named(set.Spec.Template.Spec.InitContainers, "restore-in-place")
		if (container != nil) != c.want {
			t.Fatalf("%s: %+v", name, container)
		}
		if c.want && (!slices.Contains(container.Command, "--id-file=/etc/etcd/restore/id") ||
			!slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "data" })) {
			t.Errorf("%s: %+v", name, container)
		}
	}
	ctx := contextOf(t, hyperv1.SingleReplica)
	ctx.Client = fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	}).Build()
	if _, err := objects(ctx); err == nil {
		t.Error("a request that cannot be read is taken for none: members would start with the data they have")
	}
}

// TestRestorerOfACloud: what the cloud of the management cluster adds to a pod that downloads reaches the restorer, and nothing of it is there twice.
func TestRestorerOfACloud(t *testing.T) {
	ctx := contextOf(t, hyperv1.SingleReplica, request("one"))
	ctx.HCP.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{RestoreSnapshotURL: []string{signed}}}
	ctx.Settings.Cloud = func(template *corev1.PodTemplateSpec) {
		template.Spec.InitContainers[0].Env = append(template.Spec.InitContainers[0].Env, corev1.EnvVar{Name: "CLOUD", Value: "own"})
		template.Spec.Volumes = append(template.Spec.Volumes, corev1.Volume{Name: "cloud"})
	}
	set, _ := setOf(t, ctx)
	pod := set.Spec.Template.Spec
	for _, c := range pod.InitContainers {
		if !slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "CLOUD" }) {
			t.Errorf("container %s does not know its cloud", c.Name)
		}
	}
	clouds := slices.DeleteFunc(slices.Clone(pod.Volumes), func(v corev1.Volume) bool { return v.Name != "cloud" })
	if len(pod.InitContainers) != 2 || len(clouds) != 1 {
		t.Errorf("%d init containers, %d volumes of the cloud", len(pod.InitContainers), len(clouds))
	}
	trust := pod.Volumes[slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "user-ca" })]
	if !ptr.Deref(trust.ConfigMap.Optional, false) {
		t.Error("without authorities of the user's etcd never starts")
	}
}

// TestSnapshotForPeople: the signature of an address is in no message, also where the address is none.
func TestSnapshotForPeople(t *testing.T) {
	for address, want := range map[string]string{
		signed: "store.example/backups/demo.db", "https://store.example/%zz?sig=secret": "the given address", "": "",
	} {
		hcp := &hyperv1.HostedControlPlane{}
		if address != "" {
			hcp.Spec.Etcd.Managed = &hyperv1.ManagedEtcdSpec{Storage: hyperv1.ManagedEtcdStorageSpec{RestoreSnapshotURL: []string{address}}}
		}
		if got := SnapshotName(hcp); got != want || strings.Contains(got, "secret") {
			t.Errorf("%q: %q", address, got)
		}
	}
}

// TestAuthorityRestartsMembers: etcd reads its authorities once. Another one restarts it; the same one does not.
func TestAuthorityRestartsMembers(t *testing.T) {
	hash := func(authority string) string {
		ctx := contextOf(t, hyperv1.SingleReplica)
		ctx.Inputs.Put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: pki.EtcdSigner}, Data: map[string][]byte{contract.CAKey: []byte(authority)}})
		set, _ := setOf(t, ctx)
		return set.Spec.Template.Annotations[authorityAnnotation]
	}
	if one := hash("one"); one == "" || one != hash("one") || one == hash("two") {
		t.Errorf("%q, %q", hash("one"), hash("two"))
	}
}

// TestEveryMemberIsDefragmented, one after the other: all know all.
func TestEveryMemberIsDefragmented(t *testing.T) {
	set, _ := setOf(t, contextOf(t, hyperv1.HighlyAvailable))
	command := strings.Join(named(set.Spec.Template.Spec.Containers, defragName).Command, " ")
	reset := strings.Join(named(set.Spec.Template.Spec.InitContainers, "reset-member").Command, " ")
	for i := range 3 {
		url := "https://etcd-" + string(rune('0'+i)) + ".etcd-discovery.clusters-demo.svc:2379"
		if !strings.Contains(command, url) || !strings.Contains(reset, url) {
			t.Errorf("%s is missing in %q or %q", url, command, reset)
		}
	}
	if !strings.Contains(reset, "--begun-file=/etc/etcd/cluster/begun") || !strings.Contains(command, "--identity=$(POD_NAME)") {
		t.Errorf("%q, %q", reset, command)
	}
}
