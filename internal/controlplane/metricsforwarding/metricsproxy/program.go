package metricsproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hypershift-on-azure/hypershift/internal/controlplane/metricsforwarding/endpointresolver"
	"github.com/hypershift-on-azure/hypershift/internal/monitor"
)

const (
	scrapeTimeout = 10 * time.Second
	// longestLine and longest are what a pod may tell, in bytes.
	longestLine = 1 << 20
	longest     = 64 << 20
)

// program is one whose metrics are shown.
type program struct {
	monitor.Forwarded

	resolver       monitor.Resolver
	rules          []rule
	failed         prometheus.Counter
	asks, resolves *http.Client
}

func newProgram(of monitor.Forwarded, resolver monitor.Resolver, keeps []any, failed prometheus.Counter) (*program, error) {
	rules, err := rulesOf(keeps)
	if err != nil {
		return nil, err
	}
	p := &program{Forwarded: of, resolver: resolver, rules: rules, failed: failed}
	if p.resolves, err = httpsClient("", resolver.CAFile, "", ""); err != nil {
		return nil, fmt.Errorf("the resolver: %w", err)
	}
	p.asks = &http.Client{Timeout: scrapeTimeout}
	if of.MetricsScheme == "https" {
		if p.asks, err = httpsClient(of.TLSServerName, of.CAFile, of.CertFile, of.KeyFile); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func httpsClient(server, authorities, certFile, keyFile string) (*http.Client, error) {
	trusted, err := pool(authorities)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: trusted, ServerName: server}
	if certFile != "" {
		own, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{own}
	}
	return &http.Client{Timeout: scrapeTimeout, Transport: &http.Transport{TLSClientConfig: config}}, nil
}

// scrape is what all pods of the program tell; nothing where there are none, and an error where none of them answers.
func (p *program) scrape(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	pods, err := p.pods(ctx)
	if err != nil {
		return nil, err
	}
	told := make([][]byte, len(pods))
	failures := make([]error, len(pods))
	var asked sync.WaitGroup
	for i, pod := range pods {
		asked.Go(func() { told[i], failures[i] = p.ask(ctx, pod) })
	}
	asked.Wait()
	all, answered := exposition{}, 0
	for i, pod := range pods {
		if failures[i] == nil {
			failures[i] = all.add(bytes.NewReader(told[i]), p.rules, p.labels(pod))
		}
		if failures[i] != nil {
			p.failed.Inc()
			continue
		}
		answered++
	}
	if len(pods) > 0 && answered == 0 {
		return nil, errors.Join(failures...)
	}
	return all.text(), nil
}

func (p *program) address(pod endpointresolver.Pod) string {
	return net.JoinHostPort(pod.IP, strconv.Itoa(int(p.MetricsPort)))
}

func (p *program) labels(pod endpointresolver.Pod) []label {
	return []label{{"pod", pod.Name}, {"namespace", p.MetricsNamespace}, {"job", p.MetricsJob}, {"service", p.MetricsService},
		{"endpoint", p.MetricsEndpoint}, {"instance", p.address(pod)}}
}

// pods are those that the resolver tells.
func (p *program) pods(ctx context.Context) ([]endpointresolver.Pod, error) {
	question, err := json.Marshal(endpointresolver.Question{Selector: p.Selector})
	if err != nil {
		return nil, err
	}
	body, err := fetch(ctx, p.resolves, http.MethodPost, p.resolver.URL+endpointresolver.Path, question)
	if err != nil {
		return nil, fmt.Errorf("find the pods: %w", err)
	}
	answer := endpointresolver.Answer{}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("read what the resolver answers: %w", err)
	}
	return answer.Pods, nil
}

func (p *program) ask(ctx context.Context, pod endpointresolver.Pod) ([]byte, error) {
	return fetch(ctx, p.asks, http.MethodGet, p.MetricsScheme+"://"+p.address(pod)+p.MetricsPath, nil)
}

func fetch(ctx context.Context, c *http.Client, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4,application/json")
	response, err := c.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, response.Status)
	}
	told, err := io.ReadAll(io.LimitReader(response.Body, longest+1))
	if err == nil && len(told) > longest {
		return nil, fmt.Errorf("%s answers with more than %d bytes, of which none is taken", url, longest)
	}
	return told, err
}
