// Package kubetest gives tests a real API server with this project's CustomResourceDefinitions and those of Cluster API.
package kubetest

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/hypershift-on-azure/hypershift/config"
)

const (
	assetsEnv   = "KUBEBUILDER_ASSETS"
	cacheEnv    = "HYPERSHIFT_CACHE"
	cacheFolder = "hypershift-sandbox"
)

var programs = []string{"etcd", "kube-apiserver", "kubectl"}

// Start runs etcd and kube-apiserver until the test ends. It skips the test, with the reason, where they are not built.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	server := &Server{}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server.Config(t)
}

// Server is an API server that tests of a package share: the first that asks starts it, TestMain stops it.
type Server struct {
	mu          sync.Mutex
	environment *envtest.Environment
	config      *rest.Config
}

// Config starts the server where no test before did. It skips the test, with the reason, where its programs are not built.
func (s *Server) Config(t testing.TB) *rest.Config {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config != nil {
		return s.config
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory:    assets(t),
		CRDs:                     crds(t),
		ControlPlaneStartTimeout: time.Minute,
		ControlPlaneStopTimeout:  time.Minute,
	}
	// No kube-proxy answers here: webhooks are reached by the endpoints of their Service.
	environment.ControlPlane.GetAPIServer().Configure().Set("enable-aggregator-routing", "true")
	restConfig, err := environment.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", errors.Join(err, environment.Stop()))
	}
	s.environment, s.config = environment, restConfig
	return s.config
}

// Stop stops the server, if one was started.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config == nil {
		return nil
	}
	s.config = nil
	if err := s.environment.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}

// Kubeconfig writes a kubeconfig for programs that read one and returns its path.
func Kubeconfig(t testing.TB, restConfig *rest.Config, folder string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{
		Server: "https://" + strings.TrimPrefix(restConfig.Host, "https://"), CertificateAuthorityData: restConfig.CAData,
	}
	config.AuthInfos["test"] = &clientcmdapi.AuthInfo{
		Token: restConfig.BearerToken, ClientCertificateData: restConfig.CertData, ClientKeyData: restConfig.KeyData,
	}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	config.CurrentContext = "test"
	path := filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatalf("write the kubeconfig: %v", err)
	}
	return path
}

// Program returns the path of another built program, for tests that run it against the API server; it skips the test where it is
// not built.
func Program(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(assets(t), name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s: %v", name, err)
	}
	return path
}

// assets finds the folder with the programs: $KUBEBUILDER_ASSETS, else the newest in the cache of built parts.
func assets(t testing.TB) string {
	t.Helper()
	if folder := os.Getenv(assetsEnv); folder != "" {
		return folder
	}
	cache := os.Getenv(cacheEnv)
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("no API server: $%s is not set and there is no user cache: %v", assetsEnv, err)
		}
		cache = filepath.Join(user, cacheFolder)
	}
	candidates, err := filepath.Glob(filepath.Join(cache, "parts", "*", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	var newest string
	var newestTime time.Time
	for _, folder := range candidates {
		if built, ok := complete(folder); ok && built.After(newestTime) {
			newest, newestTime = folder, built
		}
	}
	if newest == "" {
		t.Skipf("no API server: none of etcd, kube-apiserver and kubectl below %s/parts/*/bin; set $%s, or build the parts with `make demo`", cache, assetsEnv)
	}
	return newest
}

// complete tells when the folder's programs were built, if all are there.
func complete(folder string) (time.Time, bool) {
	var newest time.Time
	for _, program := range programs {
		info, err := os.Stat(filepath.Join(folder, program))
		if err != nil {
			return time.Time{}, false
		}
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	return newest, true
}

func crds(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return read(t, config.CRDs)
}

// read has the definitions of a folder.
func read(t testing.TB, files embed.FS) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var all []*apiextensionsv1.CustomResourceDefinition
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		raw, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(raw, crd); err != nil {
			return err
		}
		all = append(all, crd)
		return nil
	})
	if err != nil {
		t.Fatalf("read the CRDs: %v", err)
	}
	return all
}

// TrustClients has the running server accept client certificates of another authority, PEM, soon: it reads the file again by itself.
func (s *Server) TrustClients(t testing.TB, authority []byte) {
	t.Helper()
	s.Config(t)
	path := filepath.Join(s.environment.ControlPlane.GetAPIServer().CertDir, "client-cert-auth-ca.crt")
	trusted, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, append(append(trusted, '\n'), authority...), 0o600)
	}
	if err != nil {
		t.Fatalf("trust another authority: %v", err)
	}
}
