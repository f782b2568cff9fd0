package twin

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// apiClient asks one API server.
type apiClient struct {
	named  string
	host   string
	client *http.Client
}

// clients are those of every kubeconfig that a program is given, and of its pod's account where it uses that.
func (p Program) clients(s Start, given command) ([]apiClient, error) {
	paths := p.Reaches
	for _, item := range p.Flags {
		if item.Is == "kubeconfig" {
			paths = append(paths, given.flags[item.Name]...)
		}
	}
	for _, item := range p.Env {
		if value := s.Env[item.Name]; item.Is == "kubeconfig" && value != "" {
			paths = append(paths, value)
		}
	}
	var out []apiClient
	seen := map[string]bool{}
	add := func(named string, config *rest.Config, err error) error {
		if err == nil {
			config.Timeout = 10 * time.Second
			c, clientErr := rest.HTTPClientFor(config)
			if err = clientErr; err == nil {
				out = append(out, apiClient{named, config.Host, c})
				return nil
			}
		}
		return fmt.Errorf("twin: %s leads to no API server: %w", named, err)
	}
	for _, path := range paths {
		if seen[path] {
			continue
		}
		seen[path] = true
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err := add(path, config, err); err != nil {
			return nil, err
		}
	}
	if p.Account {
		config, err := rest.InClusterConfig()
		if err := add("the pod's account", config, err); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// reachAll asks every API server for its version until it answers who asks.
func reachAll(ctx context.Context, clients []apiClient) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, c := range clients {
		for {
			err := c.get(ctx, "/version")
			if err == nil {
				break
			}
			slog.Info("twin: no answer yet", "kubeconfig", c.named, "server", c.host, "error", err.Error())
			select {
			case <-ctx.Done():
				return fmt.Errorf("twin: %s, of %s, does not answer: %w", c.host, c.named, err)
			case <-time.After(2 * time.Second):
			}
		}
	}
	return nil
}

func (c apiClient) get(ctx context.Context, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+path, nil)
	if err != nil {
		return err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, response.Status)
	}
	return nil
}
