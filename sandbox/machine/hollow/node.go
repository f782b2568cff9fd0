package hollow

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/certificate"
	"k8s.io/component-helpers/apimachinery/lease"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// Times of a kubelet's heartbeats.
const (
	leaseSeconds = 40
	renewEvery   = 10 * time.Second
	statusEvery  = 5 * time.Minute
	lookEvery    = 200 * time.Millisecond // whether the certificate has come
)

// join registers the Node and keeps it until ctx ends; an error is before that.
func (m *Machine) join(ctx context.Context, c *configuration, facts *instance) error {
	bootstrap, err := clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("%s: %w", kubeconfigPath, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	transport, err := m.transport(bootstrap)
	if err != nil {
		return err
	}
	defer transport.CloseIdleConnections()
	manager, own, err := m.certified(ctx, bootstrap, transport)
	if err != nil {
		return err
	}
	manager.Start()
	defer manager.Stop()
	if err := waitForCertificate(ctx, manager); err != nil {
		return err
	}
	m.Log("node: has its certificate")
	node, err := m.register(ctx, own, c, facts)
	if err != nil {
		return err
	}
	m.Log("node: registered, %s", node.Spec.ProviderID)
	beats := lease.NewController(clock.RealClock{}, own, m.Name, leaseSeconds, nil, renewEvery, m.Name, corev1.NamespaceNodeLease, ownedBy(node))
	go beats.Run(ctx)
	go m.letGo(ctx, own)
	return m.tell(ctx, own, node)
}

// transport of all that the machine asks the API server.
func (m *Machine) transport(config *rest.Config) (*http.Transport, error) {
	tlsConfig, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	return &http.Transport{DialContext: m.dialNames, TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute}, nil
}

// certified makes the client of the Node, with the keeper of its certificate, which is asked for as the bootstrap configuration says
// and renewed in time. The client shows the certificate that is current when it connects.
func (m *Machine) certified(ctx context.Context, bootstrap *rest.Config, transport *http.Transport) (certificate.Manager, kubernetes.Interface, error) {
	byName := rest.CopyConfig(bootstrap)
	byName.Dial = m.dialNames
	first, err := kubernetes.NewForConfig(byName)
	if err != nil {
		return nil, nil, err
	}
	config := rest.AnonymousClientConfig(bootstrap)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	own, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: transport})
	if err != nil {
		return nil, nil, err
	}
	dir := filepath.Join(m.Dir, "pki")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	store, err := certificate.NewFileStore("client", dir, dir, "", "")
	if err != nil {
		return nil, nil, err
	}
	said := logr.NewContext(ctx, funcr.New(func(_, line string) { m.Log("certificate: %s", line) }, funcr.Options{}))
	manager, err := certificate.NewManager(&certificate.Config{
		Ctx: &said,
		ClientsetFn: func(current *tls.Certificate) (kubernetes.Interface, error) {
			if current == nil {
				return first, nil
			}
			return own, nil
		},
		Template:         &x509.CertificateRequest{Subject: pkix.Name{CommonName: "system:node:" + m.Name, Organization: []string{"system:nodes"}}},
		SignerName:       certificatesv1.KubeAPIServerClientKubeletSignerName,
		GetUsages:        certificate.DefaultKubeletClientGetUsages,
		CertificateStore: store,
	})
	if err != nil {
		return nil, nil, err
	}
	transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if c := manager.Current(); c != nil {
			return c, nil
		}
		return &tls.Certificate{}, nil
	}
	return manager, own, nil
}

func waitForCertificate(ctx context.Context, manager certificate.Manager) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for manager.Current() == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return nil
}

// register makes the Node, or takes the one that the machine made before it was started again.
func (m *Machine) register(ctx context.Context, own kubernetes.Interface, c *configuration, facts *instance) (*corev1.Node, error) {
	version, err := own.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	wanted := m.node(c, facts, version.GitVersion)
	node, err := own.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		node, err = own.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("registering: %w", err)
	}
	if node.Spec.ProviderID != wanted.Spec.ProviderID {
		return nil, fmt.Errorf("there is a Node %s of another machine, %s", m.Name, node.Spec.ProviderID)
	}
	node.Status = wanted.Status
	return node, nil
}

// node is the Node as kubelet and cloud node manager of a real machine make it together. The version is the API server's, and says that no
// kubelet has it.
func (m *Machine) node(c *configuration, facts *instance, version string) *corev1.Node {
	labels := map[string]string{
		corev1.LabelHostname: m.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		corev1.LabelInstanceTypeStable: facts.Size, corev1.LabelTopologyRegion: facts.Location, corev1.LabelTopologyZone: facts.zone(),
		corev1.LabelNodeExcludeBalancers: "", // nothing answers here
	}
	maps.Copy(labels, c.Labels)
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(m.VCPUs), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(m.MemoryMiB)<<20, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(c.MaxPods, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels, Annotations: map[string]string{Taint: note}},
		Spec:       corev1.NodeSpec{ProviderID: facts.providerID(), Taints: []corev1.Taint{{Key: Taint, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.Address}, {Type: corev1.NodeHostName, Address: m.Name}},
			NodeInfo: corev1.NodeSystemInfo{Architecture: "amd64", OperatingSystem: "linux", OSImage: "hollow", ContainerRuntimeVersion: "hollow://0",
				KubeletVersion: version + "+hollow"},
		},
	}
}

// tell keeps the Node's conditions until ctx ends.
func (m *Machine) tell(ctx context.Context, own kubernetes.Interface, node *corev1.Node) error {
	since := metav1.Now()
	ticker := time.NewTicker(statusEvery)
	defer ticker.Stop()
	for {
		node.Status.Conditions = conditions(since, metav1.Now())
		updated, err := own.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) { // labels and taints are others' to write
			if updated, err = own.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{}); err == nil {
				updated.Status = node.Status
				node = updated
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("telling how the Node is: %w", err)
		}
		status := node.Status
		node = updated
		node.Status = status
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

func conditions(since, now metav1.Time) []corev1.NodeCondition {
	out := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "HollowMachine"}}
	for _, pressure := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure} {
		out = append(out, corev1.NodeCondition{Type: pressure, Status: corev1.ConditionFalse, Reason: "HollowMachine"})
	}
	for i := range out {
		out[i].Message, out[i].LastHeartbeatTime, out[i].LastTransitionTime = note, now, since
	}
	return out
}

// ownedBy has the lease go with its Node.
func ownedBy(node *corev1.Node) lease.ProcessLeaseFunc {
	return func(l *coordinationv1.Lease) error {
		if node.UID == "" {
			return errors.New("the Node has no UID")
		}
		l.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}}
		return nil
	}
}

// gone is how a pod is deleted of which nothing runs.
func gone(pod *corev1.Pod) metav1.DeleteOptions {
	return metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
}
