package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed bare.yaml
var bareManifest string

// keyPair is a certificate and its key, PEM.
type keyPair struct {
	certificate, key []byte
	parsed           *x509.Certificate
	private          *ecdsa.PrivateKey
}

// issue makes a certificate by the issuer, or by itself where there is none; dnsNames are those it serves.
func issue(issuer *keyPair, subject pkix.Name, dnsNames ...string) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	pair := &keyPair{private: key, parsed: &x509.Certificate{
		SerialNumber: serial, Subject: subject, DNSNames: dnsNames, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}}
	if issuer == nil {
		issuer = pair
		pair.parsed.IsCA, pair.parsed.BasicConstraintsValid, pair.parsed.KeyUsage, pair.parsed.ExtKeyUsage = true, true, x509.KeyUsageCertSign, nil
	}
	der, err := x509.CreateCertificate(rand.Reader, pair.parsed, issuer.parsed, key.Public(), issuer.private)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	pair.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pair.key = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})
	return pair, nil
}

// bareValues are what the manifest of the hand-written control plane is filled with.
type bareValues struct {
	Namespace                                                         string
	EtcdImage, APIServerImage, ControllerManagerImage, SchedulerImage string
	PullSecret, Authority, AuthorityKey, Server, ServerKey            []byte
	AccountKey, ControllerManager, Scheduler                          []byte
}

// written is the control plane that a person would write, with the images of a hosted cluster's parts. Like the keys that the hosted
// cluster's manifests bring, its keys are made before the time is taken.
func (b *bench) written(images map[string]string) ([]*unstructured.Unstructured, error) {
	v := bareValues{Namespace: b.controlPlane(), EtcdImage: images["etcd"], APIServerImage: images["kube-apiserver"],
		ControllerManagerImage: images["kube-controller-manager"], SchedulerImage: images["kube-scheduler"]}
	var err error
	if v.PullSecret, err = os.ReadFile(os.Getenv("PULL_SECRET")); err != nil {
		return nil, err
	}
	authority, err := issue(nil, pkix.Name{CommonName: "bare"})
	if err != nil {
		return nil, err
	}
	// The server's is the API server's own towards etcd, and etcd's towards itself.
	server, err := issue(authority, pkix.Name{CommonName: "server"}, "localhost", "kube-apiserver", "etcd-0.etcd."+v.Namespace+".svc")
	if err != nil {
		return nil, err
	}
	account, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	v.Authority, v.AuthorityKey, v.Server, v.ServerKey = authority.certificate, authority.key, server.certificate, server.key
	v.AccountKey = pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(account)})
	if v.ControllerManager, err = bareKubeconfig(authority, "system:kube-controller-manager"); err != nil {
		return nil, err
	}
	if v.Scheduler, err = bareKubeconfig(authority, "system:kube-scheduler"); err != nil {
		return nil, err
	}
	return fill(v)
}

func bareKubeconfig(authority *keyPair, user string) ([]byte, error) {
	client, err := issue(authority, pkix.Name{CommonName: user})
	if err != nil {
		return nil, err
	}
	text := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: bare
contexts: [{name: bare, context: {cluster: bare, user: bare}}]
clusters: [{name: bare, cluster: {server: "https://kube-apiserver:6443", certificate-authority-data: %s}}]
users: [{name: bare, user: {client-certificate-data: %s, client-key-data: %s}}]
`, text(authority.certificate), text(client.certificate), text(client.key)), nil
}

func fill(v bareValues) ([]*unstructured.Unstructured, error) {
	manifest, err := template.New("bare.yaml").Option("missingkey=error").Funcs(template.FuncMap{"base64": base64.StdEncoding.EncodeToString}).Parse(bareManifest)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := manifest.Execute(&text, v); err != nil {
		return nil, err
	}
	objects, err := decode(&text)
	for _, o := range objects {
		o.SetNamespace(v.Namespace)
	}
	return objects, err
}

// decode reads the documents of a manifest.
func decode(text io.Reader) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for decoder := utilyaml.NewYAMLOrJSONDecoder(text, 4096); ; {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(o)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
}

// imagesOf are the images of the parts, by the names of their workloads and first containers.
func imagesOf(objects []*unstructured.Unstructured) (map[string]string, error) {
	images := map[string]string{}
	for _, o := range objects {
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		for _, c := range containers {
			if container, ok := c.(map[string]any); ok && container["name"] == o.GetName() {
				images[o.GetName()], _ = container["image"].(string)
			}
		}
	}
	for _, part := range parts {
		if images[part] == "" {
			return nil, fmt.Errorf("the hosted cluster's %s has no container of that name to take the image of", part)
		}
	}
	return images, nil
}
