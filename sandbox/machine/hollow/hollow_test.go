package hollow

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api/v1"
)

const (
	poolToken    = "cG9vbA=="
	bootstrapper = "system:bootstrapper"
	vmID         = "/subscriptions/s/resourceGroups/Demo/providers/Microsoft.Compute/virtualMachines/demo-1"
)

// world is what a machine meets: name server, ignition server, metadata service and API server, all of which are one address.
type world struct {
	t      *testing.T
	server *httptest.Server
	ca     *x509.Certificate
	key    *ecdsa.PrivateKey

	mu      sync.Mutex
	csr     *certificatesv1.CertificateSigningRequest
	denied  bool // nobody approves
	node    *corev1.Node
	status  []corev1.NodeStatus
	lease   bool
	deleted []string
	changed chan struct{}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, changed: make(chan struct{}, 1)}
	var err error
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &w.key.PublicKey, w.key)
	if err != nil {
		t.Fatal(err)
	}
	if w.ca, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(w.ca)
	w.server = httptest.NewUnstartedServer(w)
	w.server.TLS = &tls.Config{ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: pool, NextProtos: []string{"h2", "http/1.1"}}
	w.server.StartTLS()
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) trust() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
}

// customData points to the ignition server with a token.
func (w *world) customData(token string) []byte {
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0","security":{"tls":{"certificateAuthorities":[{"source":"data:text/plain;base64,%s"}]}},
		"config":{"merge":[{"source":"https://example.com:443/ignition","httpHeaders":[{"name":"Authorization","value":"Bearer %s"}]}]}}}`,
		base64.StdEncoding.EncodeToString(w.trust()), token)
}

// document is a node's configuration, as the ignition server has it.
func (w *world) document() []byte {
	certificate, key := w.bootstrapIdentity()
	kubeconfig, err := json.Marshal(clientcmdapi.Config{Kind: "Config", APIVersion: "v1", CurrentContext: "c",
		Clusters:  []clientcmdapi.NamedCluster{{Name: "c", Cluster: clientcmdapi.Cluster{Server: "https://example.com:6443", CertificateAuthorityData: w.trust()}}},
		AuthInfos: []clientcmdapi.NamedAuthInfo{{Name: "c", AuthInfo: clientcmdapi.AuthInfo{ClientCertificateData: certificate, ClientKeyData: key}}},
		Contexts:  []clientcmdapi.NamedContext{{Name: "c", Context: clientcmdapi.Context{Cluster: "c", AuthInfo: "c"}}}})
	if err != nil {
		w.t.Fatal(err)
	}
	data := func(text []byte) string { return "data:;base64," + base64.StdEncoding.EncodeToString(text) }
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/kubernetes/kubeconfig","contents":{"source":%q}},
		{"path":"/etc/kubernetes/kubelet.conf","contents":{"source":%q}}]},"systemd":{"units":[{"name":"kubelet.service","contents":%q}]}}`,
		data(kubeconfig), data([]byte(`{"maxPods": 42}`)), "[Service]\nEnvironment=NODE_LABELS=hypershift.openshift.io/nodePool=demo\n")
}

// bootstrapIdentity is what a machine asks for its certificate with.
func (w *world) bootstrapIdentity() (certificate, key []byte) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: bootstrapper}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, w.ca, &private.PublicKey, w.key)
	if err != nil {
		w.t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		w.t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

// machine is one that reaches the world by TLS for all names, and by plain sockets for the name server and the metadata service.
func (w *world) machine(t *testing.T, custom []byte, booted *bool) *Machine {
	t.Helper()
	metadata := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(out, `{"resourceId":%q,"resourceGroupName":"Demo","location":"eastus","zone":"2","vmSize":"Standard_D2s_v5"}`, vmID)
	}))
	t.Cleanup(metadata.Close)
	packets, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	names := &dns.Server{PacketConn: packets, Handler: dns.HandlerFunc(func(out dns.ResponseWriter, q *dns.Msg) {
		answer := new(dns.Msg).SetReply(q)
		if q.Question[0].Name == "example.com." {
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Question[0].Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(192, 0, 2, 1)}}
		}
		_ = out.WriteMsg(answer)
	})}
	go func() { _ = names.ActivateAndServe() }()
	t.Cleanup(func() { _ = names.Shutdown() })
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, _, _ := net.SplitHostPort(address); host == "192.0.2.1" {
			address = w.server.Listener.Addr().String()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return &Machine{Name: "demo-1", Dir: t.TempDir(), CustomData: custom, Address: "10.0.0.4", VCPUs: 2, MemoryMiB: 8192, Dial: dial,
		NameServer: packets.LocalAddr().String(), MetadataService: strings.TrimPrefix(metadata.URL, "http://"),
		Booted: func() error { *booted = true; return nil }, Log: t.Logf}
}

func (w *world) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if query := r.URL.Query(); query.Get("sendInitialEvents") != "" { // of before Kubernetes 1.32
		http.Error(out, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`, http.StatusUnprocessableEntity)
		return
	} else if query.Get("watch") != "" { // what there is to see the lists have
		out.Header().Set("Content-Type", "application/json")
		out.(http.Flusher).Flush()
		<-r.Context().Done()
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.tell()
	who := ""
	if len(r.TLS.PeerCertificates) > 0 {
		who = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	path := strings.Trim(r.URL.Path, "/")
	switch {
	case path == "ignition":
		if r.Header.Get("Authorization") != "Bearer "+poolToken {
			http.Error(out, "unknown token", http.StatusNetworkAuthenticationRequired)
			return
		}
		_, _ = out.Write(w.document())
	case strings.HasPrefix(path, "apis/certificates.k8s.io/v1/certificatesigningrequests"):
		if who != bootstrapper {
			http.Error(out, "who?", http.StatusUnauthorized)
			return
		}
		w.certificates(out, r)
	case who != "system:node:demo-1":
		http.Error(out, "not a node", http.StatusUnauthorized)
	default:
		w.api(out, r, path)
	}
}

func (w *world) tell() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *world) certificates(out http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPost:
		w.csr = w.decode(r).(*certificatesv1.CertificateSigningRequest)
		w.csr.Name, w.csr.UID = "csr-1", "uid"
		if !w.denied {
			w.approve()
		}
		w.write(out, w.csr)
	default:
		list := &certificatesv1.CertificateSigningRequestList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		if w.csr != nil {
			list.Items = append(list.Items, *w.csr)
		}
		w.write(out, list)
	}
}

func (w *world) approve() {
	block, _ := pem.Decode(w.csr.Spec.Request)
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		w.t.Error(err)
		return
	}
	raw, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{SerialNumber: big.NewInt(2), Subject: request.Subject, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}, w.ca, request.PublicKey, w.key)
	if err != nil {
		w.t.Error(err)
	}
	w.csr.Status.Certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	w.csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
}

func (w *world) api(out http.ResponseWriter, r *http.Request, path string) {
	switch {
	case path == "version":
		fmt.Fprint(out, `{"gitVersion":"v1.34.3"}`)
	case path == "api/v1/nodes" && r.Method == http.MethodPost:
		w.node = w.decode(r).(*corev1.Node)
		w.node.UID = "node"
		w.write(out, w.node)
	case path == "api/v1/nodes/demo-1/status":
		updated := w.decode(r).(*corev1.Node)
		w.status = append(w.status, updated.Status)
		w.write(out, updated)
	case strings.HasPrefix(path, "apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"):
		if r.Method == http.MethodGet {
			http.NotFound(out, r)
			return
		}
		w.lease = true
		w.write(out, w.decode(r))
	case path == "api/v1/pods" && r.URL.Query().Get("watch") == "":
		now := metav1.Now()
		pod := func(name string, deleted *metav1.Time) corev1.Pod {
			return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: "u", DeletionTimestamp: deleted}}
		}
		if r.URL.Query().Get("fieldSelector") != "spec.nodeName=demo-1" {
			w.t.Errorf("pods of %q", r.URL.RawQuery)
		}
		w.write(out, &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{pod("going", &now), pod("staying", nil)}})
	case strings.HasPrefix(path, "api/v1/namespaces/ns/pods/") && r.Method == http.MethodDelete:
		w.deleted = append(w.deleted, strings.TrimPrefix(path, "api/v1/namespaces/ns/pods/"))
		w.write(out, &metav1.Status{Status: metav1.StatusSuccess})
	default:
		http.NotFound(out, r)
	}
}

func (w *world) decode(r *http.Request) runtime.Object {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	obj, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		w.t.Error(err)
	}
	return obj
}

func (w *world) write(out http.ResponseWriter, obj runtime.Object) {
	kinds, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil {
		w.t.Error(err)
		return
	}
	obj.GetObjectKind().SetGroupVersionKind(kinds[0])
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(obj); err != nil {
		w.t.Error(err)
	}
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text.Bytes())
}

// await looks at the world after each request until what is looked for is there.
func (w *world) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	for {
		w.mu.Lock()
		ok := there()
		w.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-w.changed:
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}

// run runs a machine until the test ends.
func run(t *testing.T, m *Machine) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		m.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
}

func TestAHollowMachineBecomesANode(t *testing.T) {
	w, booted := newWorld(t), false
	run(t, w.machine(t, w.customData(poolToken), &booted))
	w.await(t, "the Node is registered, alive and lets its deleted pod go", func() bool {
		return w.node != nil && len(w.status) > 0 && w.lease && len(w.deleted) > 0
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if !booted {
		t.Error("Azure was not told that the machine is provisioned")
	}
	if got := w.node.Spec.ProviderID; got != "azure://"+strings.Replace(vmID, "Demo", "demo", 1) {
		t.Errorf("provider id %s", got)
	}
	if w.node.Labels["hypershift.openshift.io/nodePool"] != "demo" || w.node.Labels[corev1.LabelTopologyZone] != "eastus-2" {
		t.Errorf("labels %v", w.node.Labels)
	}
	// It says what it is.
	if _, kept := w.node.Labels[corev1.LabelNodeExcludeBalancers]; !kept {
		t.Error("load balancers send it what it does not answer")
	}
	if len(w.node.Spec.Taints) != 1 || w.node.Spec.Taints[0].Key != Taint || w.node.Annotations[Taint] == "" || w.node.Status.NodeInfo.KubeletVersion != "v1.34.3+hollow" {
		t.Errorf("the Node does not say that it is hollow: %+v", w.node)
	}
	status := w.status[0]
	if status.Conditions[0].Type != corev1.NodeReady || status.Conditions[0].Status != corev1.ConditionTrue || status.Allocatable.Pods().Value() != 42 {
		t.Errorf("status %+v", status)
	}
	if len(w.deleted) != 1 || w.deleted[0] != "going" {
		t.Errorf("pods that were let go: %v", w.deleted)
	}
}

// A machine that is not let in is none: neither Azure nor the hosted cluster hears of it.
func TestAWrongTokenIsNoNode(t *testing.T) {
	w, booted := newWorld(t), false
	m := w.machine(t, w.customData("d3Jvbmc="), &booted)
	ctx, cancel := context.WithCancel(t.Context())
	m.Log = func(format string, args ...any) {
		if line := fmt.Sprintf(format, args...); !strings.Contains(line, "511") {
			t.Errorf("said %q", line)
		}
		cancel() // the first attempt has failed
	}
	m.Run(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if booted || w.csr != nil || w.node != nil {
		t.Errorf("booted %v, request %v, node %v", booted, w.csr, w.node)
	}
}

// A request that nobody approves is waited for.
func TestNoApprovalNoNode(t *testing.T) {
	w, booted := newWorld(t), false
	w.denied = true
	run(t, w.machine(t, w.customData(poolToken), &booted))
	w.await(t, "the certificate is asked for", func() bool { return w.csr != nil })
	w.mu.Lock()
	if w.node != nil || w.csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName {
		t.Errorf("node %v, signer %s", w.node, w.csr.Spec.SignerName)
	}
	w.mu.Unlock()
}
