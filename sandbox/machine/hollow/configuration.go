package hollow

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	ignition "github.com/coreos/ignition/v2/config/v3_5"
	"github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/vincent-petithory/dataurl"
	"k8s.io/utils/ptr"
)

const (
	configurationFile = "configuration.json"
	kubeconfigPath    = "/etc/kubernetes/kubeconfig"
	kubeletPath       = "/etc/kubernetes/kubelet.conf"
	kubeletUnit       = "kubelet.service"
	labelsVariable    = "Environment=NODE_LABELS="

	fetchWithin = 30 * time.Second
	largest     = 8 << 20 // bytes of a configuration
)

// configuration is what a hollow machine takes of its node pool's.
type configuration struct {
	Kubeconfig []byte            `json:"kubeconfig"` // with which it asks for its certificate
	Labels     map[string]string `json:"labels"`     // of its Node
	MaxPods    int64             `json:"maxPods"`
}

// configure is the configuration of the first boot, which is fetched where it is not there yet.
func (m *Machine) configure(ctx context.Context) (*configuration, error) {
	file := filepath.Join(m.Dir, configurationFile)
	raw, err := os.ReadFile(file)
	if err == nil {
		c := &configuration{}
		return c, json.Unmarshal(raw, c)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	document, err := m.fetch(ctx)
	if err != nil {
		return nil, err
	}
	c, err := read(document)
	if err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(c); err != nil {
		return nil, err
	}
	return c, os.WriteFile(file, raw, 0o600)
}

// fetch asks for what the custom data points to, as Ignition does.
func (m *Machine) fetch(ctx context.Context) ([]byte, error) {
	pointer, report, err := ignition.ParseCompatibleVersion(m.CustomData)
	if err != nil {
		return nil, fmt.Errorf("custom data: %w: %s", err, report.String())
	}
	if len(pointer.Ignition.Config.Merge) != 1 {
		return nil, fmt.Errorf("custom data merges %d configurations, and a hollow machine takes one", len(pointer.Ignition.Config.Merge))
	}
	if proxy := pointer.Ignition.Proxy; ptr.Deref(proxy.HTTPSProxy, "") != "" {
		return nil, errors.New("custom data names a proxy, which hollow machines do not use: a cluster that has one gets real machines only")
	}
	roots, err := authorities(pointer.Ignition.Security.TLS.CertificateAuthorities)
	if err != nil {
		return nil, err
	}
	merged := pointer.Ignition.Config.Merge[0]
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, ptr.Deref(merged.Source, ""), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/vnd.coreos.ignition+json;version=3.5.0, */*;q=0.1")
	for _, h := range merged.HTTPHeaders {
		request.Header.Set(h.Name, ptr.Deref(h.Value, ""))
	}
	transport := &http.Transport{DialContext: m.dialNames, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", request.URL, response.Status)
	}
	return io.ReadAll(io.LimitReader(response.Body, largest))
}

func authorities(resources []types.Resource) (*x509.CertPool, error) {
	roots := x509.NewCertPool()
	for _, resource := range resources {
		pem, err := content(resource)
		if err != nil {
			return nil, fmt.Errorf("an authority of the custom data: %w", err)
		}
		roots.AppendCertsFromPEM(pem)
	}
	return roots, nil
}

// content is what a resource has in itself.
func content(resource types.Resource) ([]byte, error) {
	url, err := dataurl.DecodeString(ptr.Deref(resource.Source, ""))
	if err != nil {
		return nil, err
	}
	if ptr.Deref(resource.Compression, "") != "gzip" {
		return url.Data, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(url.Data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(reader, largest))
}

// read takes of a node's configuration what a hollow machine needs.
func read(document []byte) (*configuration, error) {
	parsed, report, err := ignition.ParseCompatibleVersion(document)
	if err != nil {
		return nil, fmt.Errorf("the configuration: %w: %s", err, report.String())
	}
	c := &configuration{Labels: map[string]string{}}
	for _, file := range parsed.Storage.Files {
		switch file.Path {
		case kubeconfigPath:
			if c.Kubeconfig, err = content(file.Contents); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Path, err)
			}
		case kubeletPath:
			if c.MaxPods, err = maxPods(file.Contents); err != nil {
				return nil, fmt.Errorf("%s: %w", file.Path, err)
			}
		}
	}
	if len(c.Kubeconfig) == 0 {
		return nil, fmt.Errorf("the configuration has no %s: hollow machines are for plain Kubernetes payloads", kubeconfigPath)
	}
	for _, unit := range parsed.Systemd.Units {
		if unit.Name == kubeletUnit {
			c.Labels = labels(ptr.Deref(unit.Contents, ""))
		}
	}
	return c, nil
}

func maxPods(kubelet types.Resource) (int64, error) {
	raw, err := content(kubelet)
	if err != nil {
		return 0, err
	}
	var settings struct {
		MaxPods int64 `json:"maxPods"`
	}
	return settings.MaxPods, json.Unmarshal(raw, &settings)
}

// labels are those that the kubelet's unit names.
func labels(unit string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(unit) {
		list, found := strings.CutPrefix(strings.TrimSpace(line), labelsVariable)
		if !found {
			continue
		}
		for pair := range strings.SplitSeq(list, ",") {
			if name, value, found := strings.Cut(pair, "="); found {
				out[name] = value
			}
		}
	}
	return out
}
