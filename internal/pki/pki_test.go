package pki

import (
	"bytes"
	"crypto/x509"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/release"
)

var (
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	params = Params{
		Namespace: "clusters-demo", Name: "demo", ServiceCIDRs: []string{"172.31.0.0/16"}, AdvertiseAddress: "172.20.0.1",
		APIHost: "198.18.16.3", KonnectivityHost: "konnectivity.example.com", IgnitionHost: "ignition.example.com",
		AppsDomain: "apps.demo.example.com", OAuthHost: "oauth.example.com", Payload: release.KindOpenShift,
	}
)

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// complete makes everything once; keys are what such a test spends its time on.
func complete(t *testing.T) Secrets {
	t.Helper()
	have := must[Secrets](t)(EnsureAuthorities(nil, Authorities(), DefaultPolicy(), start))
	leaves := must[[]Leaf](t)(Leaves(params))
	maps.Copy(have, must[Secrets](t)(EnsureLeaves(have, leaves, DefaultPolicy(), start)))
	return have
}

func leaf(t *testing.T, have Secrets, secret, key string) *x509.Certificate {
	t.Helper()
	return must[*x509.Certificate](t)(ParseCertificate(have[secret][key]))
}

func TestCertificates(t *testing.T) {
	have := complete(t)
	t.Run("contents", func(t *testing.T) { testContents(t, have) })
	t.Run("every leaf verifies", func(t *testing.T) { testChains(t, have) })
	t.Run("renewal", func(t *testing.T) { testRenewal(t, have) })
	t.Run("bundles", func(t *testing.T) { testBundles(t, have) })
	t.Run("kubeconfigs", func(t *testing.T) { testKubeconfigs(t, have) })
}

func testContents(t *testing.T, have Secrets) {
	client, server := x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth
	for _, test := range []struct {
		secret, key, cn string
		orgs            []string
		usages          []x509.ExtKeyUsage
		names           []string
		addresses       []string
	}{
		{"kas-server-crt", "tls.crt", "kubernetes", []string{"kubernetes"}, []x509.ExtKeyUsage{server},
			[]string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
				"openshift", "openshift.default", "openshift.default.svc", "openshift.default.svc.cluster.local", "api.demo.hypershift.local"},
			[]string{"198.18.16.3", "127.0.0.1", "::1", "172.31.0.1", "172.20.0.1"}},
		{"kas-server-private-crt", "tls.crt", "kubernetes-private", []string{"kubernetes"}, []x509.ExtKeyUsage{server},
			[]string{"kube-apiserver", "kube-apiserver.clusters-demo.svc", "kube-apiserver.clusters-demo.svc.cluster.local"}, nil},
		{"etcd-server-tls", "server.crt", "etcd-server", []string{"kubernetes"}, []x509.ExtKeyUsage{client, server},
			[]string{"etcd-client", "etcd-client.clusters-demo.svc", "etcd-client.clusters-demo.svc.cluster.local", "localhost",
				"*.etcd-discovery.clusters-demo.svc", "*.etcd-discovery.clusters-demo.svc.cluster.local"}, nil},
		{"etcd-peer-tls", "peer.crt", "etcd-discovery", []string{"kubernetes"}, []x509.ExtKeyUsage{client, server},
			[]string{"*.etcd-discovery.clusters-demo.svc", "*.etcd-discovery.clusters-demo.svc.cluster.local"}, []string{"127.0.0.1", "::1"}},
		{"etcd-client-tls", "etcd-client.crt", "etcd-client", []string{"kubernetes"}, []x509.ExtKeyUsage{client}, nil, nil},
		{"system-admin-client", "tls.crt", "system:admin", []string{"system:masters"}, []x509.ExtKeyUsage{client}, nil, nil},
		{"hcco-client", "tls.crt", "system:hosted-cluster-config", []string{"kubernetes", "system:serviceaccounts:openshift"},
			[]x509.ExtKeyUsage{client}, nil, nil},
		{"kas-bootstrap-client", "tls.crt", "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
			[]string{"system:serviceaccounts:openshift-machine-config-operator", "system:serviceaccounts"}, []x509.ExtKeyUsage{client}, nil, nil},
		{"konnectivity-server", "tls.crt", "konnectivity-server-local", []string{"kubernetes"}, []x509.ExtKeyUsage{server},
			[]string{"localhost", "konnectivity-server-local", "konnectivity-server-local.clusters-demo.svc",
				"konnectivity-server-local.clusters-demo.svc.cluster.local"}, []string{"127.0.0.1"}},
		{"konnectivity-cluster", "tls.crt", "konnectivity-server", []string{"kubernetes"}, []x509.ExtKeyUsage{server},
			[]string{"konnectivity-server", "konnectivity-server.clusters-demo.svc", "konnectivity-server.clusters-demo.svc.cluster.local",
				"konnectivity.example.com"}, nil},
		{"ingress-crt", "tls.crt", "openshift-ingress", []string{"openshift"}, []x509.ExtKeyUsage{client, server}, []string{"*.apps.demo.example.com"}, nil},
		{"azure-workload-identity-webhook-serving-cert", "tls.crt", "127.0.0.1", nil, []x509.ExtKeyUsage{client, server}, nil, []string{"127.0.0.1"}},
		{"azure-workload-identity-webhook-client", "tls.crt", "system:serviceaccount:openshift-authentication:azure-workload-identity-webhook",
			[]string{"system:serviceaccounts:openshift-authentication", "system:serviceaccounts"}, []x509.ExtKeyUsage{client}, nil, nil},
		{"ignition-server", "tls.crt", "ignition-server", []string{"openshift"}, []x509.ExtKeyUsage{client, server}, []string{"ignition.example.com"}, nil},
	} {
		cert := leaf(t, have, test.secret, test.key)
		var addresses []string
		for _, ip := range cert.IPAddresses {
			addresses = append(addresses, ip.String())
		}
		if cert.Subject.CommonName != test.cn || !sameSet(cert.Subject.Organization, test.orgs) || !slices.Equal(cert.ExtKeyUsage, test.usages) ||
			!sameSet(cert.DNSNames, test.names) || !sameSet(addresses, test.addresses) {
			t.Errorf("%s: CN %q O %q usages %v names %q addresses %q", test.secret, cert.Subject.CommonName, cert.Subject.Organization,
				cert.ExtKeyUsage, cert.DNSNames, addresses)
		}
		lives := 365 * day
		if test.secret == "kas-bootstrap-client" {
			lives = day // it is in every machine's configuration
		}
		if got := cert.NotAfter.Sub(start); got != lives {
			t.Errorf("%s lives %v", test.secret, got)
		}
	}
}

func testChains(t *testing.T, have Secrets) {
	for _, l := range must[[]Leaf](t)(Leaves(params)) {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(have[l.Secret]["ca.crt"])
		certKey, keyKey := l.keys()
		cert, _, err := parsePair(have[l.Secret][certKey], have[l.Secret][keyKey])
		if err != nil {
			t.Fatalf("%s: %v", l.Secret, err)
		}
		if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			t.Errorf("%s: %v", l.Secret, err)
		}
	}
	for _, a := range Authorities() {
		cert := leaf(t, have, a.Secret, a.CertKey)
		if !cert.IsCA || cert.Subject.CommonName != a.CN || cert.NotAfter.Sub(start) != 3650*24*time.Hour {
			t.Errorf("%s: %v until %v", a.Secret, cert.Subject, cert.NotAfter)
		}
	}
}

func testRenewal(t *testing.T, have Secrets) {
	leaves := must[[]Leaf](t)(Leaves(params))
	ensure := func(have Secrets, leaves []Leaf, now time.Time) []string {
		t.Helper()
		return must[Secrets](t)(EnsureLeaves(have, leaves, DefaultPolicy(), now)).Names()
	}
	// 395 days must remain, so that no certificate is cut short.
	if got := must[Secrets](t)(EnsureAuthorities(have, Authorities(), DefaultPolicy(), start.Add(3254*day))); len(got) != 0 {
		t.Errorf("authorities made anew too early: %v", got.Names())
	}
	brief := []string{"kas-bootstrap-client"}
	if got := ensure(have, leaves, start.Add(334*day)); !slices.Equal(got, brief) {
		t.Errorf("made anew with 31 days left: %v", got)
	}
	if got := ensure(have, leaves, start.Add(11*time.Hour)); len(got) != 0 {
		t.Errorf("made anew after 11 hours: %v", got)
	}
	if got := ensure(have, leaves, start.Add(12*time.Hour)); !slices.Equal(got, brief) {
		t.Errorf("made anew after 12 hours: %v", got)
	}
	one := leaves[:1]
	if got := ensure(have, one, start.Add(336*day)); len(got) != 1 {
		t.Errorf("29 days left: %v", got)
	}
	moved := params
	moved.APIHost = "api.example.com"
	if got := ensure(have, must[[]Leaf](t)(Leaves(moved)), start); !slices.Equal(got, []string{"kas-server-crt"}) {
		t.Errorf("another API host changes %v", got)
	}
	other := maps.Clone(have)
	other[contract.IgnitionCA] = must[map[string][]byte](t)(Authorities()[len(Authorities())-1].make(DefaultPolicy(), start, nil))
	if got := ensure(other, leaves, start); !slices.Equal(got, []string{"ignition-server"}) {
		t.Errorf("another ignition authority changes %v", got)
	}
	broken := maps.Clone(have)
	broken["hcco-client"] = map[string][]byte{"tls.crt": have["hcco-client"]["tls.crt"], "tls.key": have["kube-scheduler-client"]["tls.key"], "ca.crt": have["hcco-client"]["ca.crt"]}
	if got := ensure(broken, leaves, start); !slices.Equal(got, []string{"hcco-client"}) {
		t.Errorf("a key of another certificate changes %v", got)
	}
}

func testBundles(t *testing.T, have Secrets) {
	bundles := Bundles(have, map[string][]byte{clientCA: have["etcd-signer"]["ca.crt"], "root-ca": have["etcd-signer"]["ca.crt"]})
	if early := Bundles(Secrets{EtcdSigner: have[EtcdSigner]}, nil); len(early) != 1 || len(early["etcd-ca"]) == 0 {
		t.Errorf("with only etcd's authority there are %d bundles", len(early))
	}
	if !bytes.Contains(bundles["root-ca"], bytes.TrimSpace(have["etcd-signer"]["ca.crt"])) {
		t.Error("what signs the guest's router does not join the authorities of the control plane")
	}
	verifies := func(bundle, secret, key string) bool {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundles[bundle])
		_, err := leaf(t, have, secret, key).Verify(x509.VerifyOptions{Roots: pool, CurrentTime: start, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}})
		return err == nil
	}
	for _, client := range []string{"system-admin-client", "hcco-client", "kas-bootstrap-client", "kube-scheduler-client", "kube-controller-manager"} {
		if !verifies("client-ca", client, "tls.crt") {
			t.Errorf("the API server does not accept %s", client)
		}
	}
	if !verifies("kubelet-client-ca", "kas-kubelet-client-crt", "tls.crt") {
		t.Error("kubelets do not accept the API server")
	}
	if !verifies("client-ca", "etcd-client-tls", "etcd-client.crt") {
		t.Error("the user's own authority is not in client-ca")
	}
	if verifies("client-ca", "kas-server-crt", "tls.crt") {
		t.Error("a serving certificate of the root CA passes as a client")
	}
}

func testKubeconfigs(t *testing.T, have Secrets) {
	servers := map[string]string{}
	for _, k := range Kubeconfigs("demo-x1", "https://198.18.16.3:7443") {
		text := must[[]byte](t)(k.Render(have))
		config, err := clientcmd.RESTConfigFromKubeConfig(text)
		if err != nil {
			t.Fatalf("%s: %v", k.Secret, err)
		}
		if len(config.CertData) == 0 || len(config.KeyData) == 0 || len(config.CAData) == 0 {
			t.Errorf("%s lacks certificates", k.Secret)
		}
		servers[k.Secret+"/"+k.KeyName()] = config.Host
	}
	for name, server := range map[string]string{
		"admin-kubeconfig/kubeconfig": "https://198.18.16.3:7443", "bootstrap-kubeconfig/kubeconfig": "https://198.18.16.3:7443",
		"azure-workload-identity-webhook-kubeconfig/kubeconfig": "https://localhost:6443",
		"demo-x1-kubeconfig/value":                              "https://kube-apiserver:6443", "localhost-kubeconfig/kubeconfig": "https://localhost:6443",
	} {
		if servers[name] != server {
			t.Errorf("%s leads to %q", name, servers[name])
		}
	}
	if config := Kubeconfigs("demo-x1", "")[0]; config.Complete(Secrets{}) || !config.Complete(have) {
		t.Error("a kubeconfig is complete without certificates")
	}
	if len(Kubeconfigs("demo-x1", "")) != len(servers)-2 {
		t.Error("external kubeconfigs are written before the endpoint is known")
	}
}

func TestUnknownEndpointsAreLeftOut(t *testing.T) {
	early := params
	early.APIHost, early.KonnectivityHost, early.IgnitionHost = "", "", ""
	for _, l := range must[[]Leaf](t)(Leaves(early)) {
		if l.Secret == APIServing && slices.Contains(l.Hosts, "") {
			t.Errorf("%s is for %v", l.Secret, l.Hosts)
		}
		if l.Secret == "konnectivity-cluster" || l.Secret == "ignition-server" {
			t.Errorf("%s is made before its endpoint is known", l.Secret)
		}
	}
	early.APIHost, early.ServiceCIDRs = "h", []string{"nonsense"}
	if _, err := Leaves(early); err == nil {
		t.Error("a malformed service network passes")
	}
}

func TestServiceAccountKey(t *testing.T) {
	pair := must[map[string][]byte](t)(EnsureServiceAccountKey(nil))
	if _, err := ParsePrivateKey(pair["service-account.key"]); err != nil {
		t.Error(err)
	}
	if again := must[map[string][]byte](t)(EnsureServiceAccountKey(pair)); again != nil {
		t.Error("a usable key was replaced")
	}
	if _, err := EnsureServiceAccountKey(map[string][]byte{"service-account.key": []byte("rubbish"), "service-account.pub": []byte("x")}); err == nil {
		t.Error("an unusable key of the user was replaced silently")
	}
}
