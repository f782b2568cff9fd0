package controlplane

import (
	"bytes"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/controlplane/table"
)

const year = 365 * 24 * time.Hour

func (f *fixture) secrets() map[string]map[string][]byte {
	f.Helper()
	list := &corev1.SecretList{}
	f.list(list)
	out := map[string]map[string][]byte{}
	for _, s := range list.Items {
		out[s.Name] = s.Data
	}
	return out
}

// certificate reads a certificate and looks whether the key is its own.
func (f *fixture) certificate(secret string, data map[string][]byte, keys []string) *x509.Certificate {
	f.Helper()
	block, _ := pem.Decode(data[keys[0]])
	keyBlock, _ := pem.Decode(data[keys[1]])
	if block == nil || keyBlock == nil {
		f.Errorf("Secret %s has the keys %v, the table says %v", secret, slices.Sorted(maps.Keys(data)), keys)
		return nil
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		f.Fatalf("Secret %s: %v", secret, err)
	}
	key, err := x509.ParsePKCS1PrivateKey(keyBlock.Bytes)
	if err != nil {
		f.Fatalf("Secret %s: %v", secret, err)
	}
	if public, ok := certificate.PublicKey.(*rsa.PublicKey); !ok || public.N.BitLen() != 2048 || !public.Equal(key.Public()) {
		f.Errorf("Secret %s: not an RSA certificate of 2048 bits with its key", secret)
	}
	return certificate
}

func keysOr(keys []string, otherwise ...string) []string {
	if len(keys) > 0 {
		return keys
	}
	return otherwise
}

func (f *fixture) same(what string, got, want any) {
	f.Helper()
	if got != want {
		f.Errorf("%s is %v, the table says %v", what, got, want)
	}
}

func (f *fixture) sameSet(what string, got, want []string) {
	f.Helper()
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		f.Errorf("%s are\n%v, the table says\n%v", what, got, want)
	}
}

func (f *fixture) checkAuthorities(rows *table.Table) {
	f.Helper()
	secrets := f.secrets()
	bundled := map[string][]string{}
	for _, row := range rows.Authorities {
		data, made := secrets[row.Secret]
		f.same("authority "+row.Secret+" is there:", made, row.There(f.payload))
		if !made || !row.There(f.payload) {
			continue
		}
		keys := keysOr(row.Keys, "ca.crt", "ca.key")
		c := f.certificate(row.Secret, data, keys)
		if c == nil {
			continue
		}
		f.same("CN of "+row.Secret, c.Subject.CommonName, row.CN)
		f.sameSet("OU of "+row.Secret, c.Subject.OrganizationalUnit, []string{row.OU})
		f.same("CA of "+row.Secret, c.IsCA, true)
		f.same("ten years of "+row.Secret, c.NotAfter.Sub(c.NotBefore).Round(year/12), 10*year)
		for _, name := range row.Bundles {
			bundled[name] = append(bundled[name], row.CN)
			bundle := &corev1.ConfigMap{}
			f.get(bundle, name)
			if !bytes.Contains([]byte(bundle.Data["ca.crt"]), bytes.TrimSpace(data[keys[0]])) {
				f.Errorf("ConfigMap %s does not carry authority %s", name, row.Secret)
			}
		}
	}
	for name, members := range bundled {
		bundle := &corev1.ConfigMap{}
		f.get(bundle, name)
		f.sameSet("authorities in ConfigMap "+name, subjects([]byte(bundle.Data["ca.crt"])), members)
	}
}

func subjects(text []byte) []string {
	var out []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if c, err := x509.ParseCertificate(block.Bytes); err == nil {
			out = append(out, c.Subject.CommonName)
		}
	}
	return out
}

func (f *fixture) checkCertificates(rows *table.Table) {
	f.Helper()
	secrets, known := f.secrets(), map[string]bool{}
	authorityKeys := map[string][]string{}
	for _, row := range rows.Authorities {
		known[row.Secret] = true
		authorityKeys[row.Secret] = keysOr(row.Keys, "ca.crt", "ca.key")
	}
	for _, row := range rows.Certificates {
		known[row.Secret] = true
		data, made := secrets[row.Secret]
		f.same("certificate "+row.Secret+" is there:", made, row.There(f.payload))
		if !made || !row.There(f.payload) {
			continue
		}
		c := f.certificate(row.Secret, data, keysOr(row.Keys, "tls.crt", "tls.key"))
		if c == nil {
			continue
		}
		f.same("CN of "+row.Secret, c.Subject.CommonName, row.CN)
		f.sameSet("organizations of "+row.Secret, c.Subject.Organization, row.Orgs)
		f.same("usage of "+row.Secret, usageOf(c), row.Usage)
		f.sameSet("SANs of "+row.Secret, sansOf(c), f.fillAll(expand(row.SANs)))
		life := year
		if row.Days > 0 {
			life = time.Duration(row.Days) * 24 * time.Hour
		}
		f.same("life of "+row.Secret, c.NotAfter.Sub(c.NotBefore).Round(24*time.Hour), life)
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM(secrets[row.Signer][authorityKeys[row.Signer][0]])
		if _, err := c.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err != nil {
			f.Errorf("certificate %s is not signed by %s: %v", row.Secret, row.Signer, err)
		}
	}
	for name, data := range secrets {
		pair := slices.ContainsFunc(slices.Collect(maps.Keys(data)), func(key string) bool { return strings.HasSuffix(key, ".crt") && len(data[key]) > 0 })
		if pair && !known[name] {
			f.Errorf("Secret %s carries a certificate and is not in internal/controlplane/table", name)
		}
	}
}

// expand writes svc(x) out.
func expand(names []string) []string {
	var out []string
	for _, name := range names {
		if service, ok := strings.CutPrefix(name, "svc("); ok {
			service = strings.TrimSuffix(service, ")")
			out = append(out, service, service+".<cpns>.svc", service+".<cpns>.svc.cluster.local")
			continue
		}
		out = append(out, name)
	}
	return out
}

func usageOf(c *x509.Certificate) string {
	client, server := slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth), slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
	switch {
	case client && server:
		return "both"
	case client:
		return "client"
	case server:
		return "server"
	}
	return "none"
}

func sansOf(c *x509.Certificate) []string {
	names := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		names = append(names, net.IP.String(ip))
	}
	return names
}

func (f *fixture) labelsOf(secret string) map[string]string {
	f.Helper()
	s := &corev1.Secret{}
	f.get(s, secret)
	return s.Labels
}

func (f *fixture) checkKubeconfigs(rows *table.Table) {
	f.Helper()
	secrets, known := f.secrets(), map[string]bool{}
	servers := map[string]string{"service": "https://kube-apiserver:6443", "localhost": "https://localhost:6443", "external": "https://" + loadBalancerAddress + ":7443",
		"custom": "https://" + customName + ":7443"}
	for _, row := range rows.Kubeconfigs {
		name := f.fill(row.Secret)
		known[name] = true
		data, made := secrets[name]
		f.same("kubeconfig "+name+" is there:", made, row.There(f.payload))
		if !made || !row.There(f.payload) {
			continue
		}
		f.same("scope of kubeconfig "+name, f.labelsOf(name)[hyperv1.KubeconfigScopeLabel], row.Scope)
		config, err := clientcmd.Load(data[orElse(row.Key, "kubeconfig")])
		if err != nil {
			f.Errorf("kubeconfig %s: %v", name, err)
			continue
		}
		context := config.Contexts[config.CurrentContext]
		if config.CurrentContext != "admin" || context.Cluster != "cluster" || context.AuthInfo != "admin" {
			f.Errorf("kubeconfig %s: context %s is %+v", name, config.CurrentContext, context)
			continue
		}
		f.same("server of kubeconfig "+name, config.Clusters["cluster"].Server, servers[row.Server])
		f.same("authority of kubeconfig "+name, string(config.Clusters["cluster"].CertificateAuthorityData), string(secrets["root-ca"]["ca.crt"]))
		f.same("client of kubeconfig "+name, string(config.AuthInfos["admin"].ClientCertificateData), string(secrets[row.Client]["tls.crt"]))
	}
	for name := range secrets {
		if strings.HasSuffix(name, "kubeconfig") && !known[name] {
			f.Errorf("Secret %s is not in internal/controlplane/table/kubeconfigs.yaml", name)
		}
	}
}
