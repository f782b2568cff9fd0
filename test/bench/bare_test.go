package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

// TestWrittenIsBare: four programs, one container each, with the images of the hosted cluster's parts; nothing waits and nothing is beside.
func TestWrittenIsBare(t *testing.T) {
	objects, images := written(t)
	var workloads []string
	for _, o := range objects {
		if o.GetNamespace() != "clusters-bench" {
			t.Errorf("%s %s is in namespace %q", o.GetKind(), o.GetName(), o.GetNamespace())
		}
		if kind := o.GetKind(); kind != "Deployment" && kind != "StatefulSet" {
			continue
		}
		workloads = append(workloads, o.GetName())
		containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
		if len(containers) != 1 || containers[0].(map[string]any)["startupProbe"] == nil {
			t.Errorf("%s has not one container with a probe: %v", o.GetName(), containers)
		}
		if _, waits, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "initContainers"); waits {
			t.Errorf("%s waits for something", o.GetName())
		}
	}
	slices.Sort(workloads)
	if !slices.Equal(workloads, parts) {
		t.Errorf("workloads %v, want %v", workloads, parts)
	}
	found, err := imagesOf(objects)
	if err != nil || !maps.Equal(found, images) {
		t.Errorf("images %v, %v, want %v", found, err, images)
	}
}

// TestWrittenKeys: the authority vouches for the names that the programs find each other by, and for who a kubeconfig says he is.
func TestWrittenKeys(t *testing.T) {
	objects, _ := written(t)
	roots := x509.NewCertPool()
	roots.AddCert(certificate(t, secret(t, objects, "pki", "ca.crt")))
	for _, name := range []string{"etcd-0.etcd.clusters-bench.svc", "kube-apiserver", "localhost"} {
		options := x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		if _, err := certificate(t, secret(t, objects, "pki", "server.crt")).Verify(options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for key, want := range map[string]string{"scheduler": "system:kube-scheduler", "controller-manager": "system:kube-controller-manager"} {
		config, err := clientcmd.RESTConfigFromKubeConfig(secret(t, objects, "kubeconfigs", key))
		if err != nil {
			t.Fatal(err)
		}
		client := certificate(t, config.CertData)
		if _, err := client.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil || client.Subject.CommonName != want {
			t.Errorf("%s is %q, %v, want %q", key, client.Subject.CommonName, err, want)
		}
	}
}

func written(t *testing.T) (objects []*unstructured.Unstructured, images map[string]string) {
	t.Helper()
	pullSecret := filepath.Join(t.TempDir(), "pull-secret")
	if err := os.WriteFile(pullSecret, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PULL_SECRET", pullSecret)
	images = map[string]string{}
	for _, part := range parts {
		images[part] = "example.com/" + part + ":1"
	}
	objects, err := (&bench{name: "bench"}).written(images)
	if err != nil {
		t.Fatal(err)
	}
	return objects, images
}

func secret(t *testing.T, objects []*unstructured.Unstructured, name, key string) []byte {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "Secret" && o.GetName() == name {
			text, _, _ := unstructured.NestedString(o.Object, "data", key)
			raw, err := base64.StdEncoding.DecodeString(text)
			if err != nil || len(raw) == 0 {
				t.Fatalf("Secret %s has no %s: %v", name, key, err)
			}
			return raw
		}
	}
	t.Fatalf("there is no Secret %s", name)
	return nil
}

func certificate(t *testing.T, raw []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(raw)
	if block == nil {
		t.Fatalf("no PEM: %s", raw)
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestImagesOfMissingPart(t *testing.T) {
	if _, err := imagesOf(nil); err == nil || !strings.Contains(err.Error(), "the hosted cluster's etcd has no container of that name") {
		t.Error(err)
	}
}

// TestLimits: a figure that misses its limit fails the run, which still measures the rest.
func TestLimits(t *testing.T) {
	l := &limits.Limits{}
	l.Hold("at the limit", 2, 2, "")
	if err := l.Err(); err != nil {
		t.Error(err)
	}
	l.Hold("seconds", 15.5, 15, "")
	l.Hold("ratio", 1.1, 1.4, "")
	l.Hold("cores", 3, 1, "")
	if err := l.Err(); err == nil || err.Error() != "seconds: 15.50, and may be 15\ncores: 3.00, and may be 1" {
		t.Error(err)
	}
}
