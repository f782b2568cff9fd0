package twin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tools are small programs that OpenShift's images have and busybox has not, and those that hand over to the community's.
var tools = map[string]func(context.Context, []string) error{
	"curl": curl, "grpc_health_probe": grpcProbe, "nslookup": nslookup,
	"kube-controller-manager": handOver("kube-controller-manager"), "kube-scheduler": handOver("kube-scheduler"),
}

// nslookup looks a name up as OpenShift's does, by the search list of the pod; busybox's takes the name as it is.
func nslookup(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errors.New("nslookup of a twin: want one name")
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, args[0])
	if err == nil {
		fmt.Println(strings.Join(addresses, "\n"))
	}
	return err
}

// curl knows what scripts of this project ask of it.
func curl(ctx context.Context, args []string) error {
	fail, insecure, output, authority, url := false, false, "", "", ""
	header := http.Header{}
	for i := 0; i < len(args); i++ {
		next := func() string {
			i++
			return strings.Join(args[min(i, len(args)):min(i+1, len(args))], "")
		}
		switch arg := args[i]; {
		case arg == "--fail":
			fail = true
		case arg == "--silent":
		case arg == "--insecure":
			insecure = true
		case arg == "--output":
			output = next()
		case arg == "--cacert":
			authority = next()
		case arg == "--header":
			name, value, _ := strings.Cut(next(), ": ")
			header.Set(name, value)
		case strings.HasPrefix(arg, "-"):
			return fmt.Errorf("curl of a twin: %s is unknown", arg)
		default:
			url = arg
		}
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: insecure} //nolint:gosec // who asks says so
	if authority != "" {
		raw, err := os.ReadFile(authority)
		if err != nil {
			return err
		}
		config.RootCAs = x509.NewCertPool()
		config.RootCAs.AppendCertsFromPEM(raw)
	}
	return fetch(ctx, &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: config, Proxy: http.ProxyFromEnvironment}}, url, header, output, fail)
}

func fetch(ctx context.Context, client *http.Client, url string, header http.Header, output string, fail bool) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	request.Header = header
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	into := os.Stdout
	if output != "" {
		if into, err = os.OpenFile(output, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600); err != nil {
			return err
		}
		defer into.Close()
	}
	if _, err := io.Copy(into, response.Body); err != nil {
		return err
	}
	if fail && response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("curl of a twin: %s answers %s", url, response.Status)
	}
	return nil
}

// grpcProbe sees that somebody listens: a checker does not speak the protocol.
func grpcProbe(ctx context.Context, args []string) error {
	if len(args) != 1 || !strings.HasPrefix(args[0], "-addr=:") {
		return fmt.Errorf("grpc_health_probe of a twin: arguments are %q, want -addr=:PORT", args)
	}
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", "127.0.0.1"+strings.TrimPrefix(args[0], "-addr="))
	if err != nil {
		return err
	}
	return connection.Close()
}

// copyContent copies a catalog and its cache out of their image.
func copyContent(given command) error {
	var failed []error
	for _, of := range []string{"catalog", "cache"} {
		from, to := given.flags[of+".from"][0], given.flags[of+".to"][0]
		failed = append(failed, copyFolder(from, to))
	}
	return errors.Join(failed...)
}

func copyFolder(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // another container of the pod reads it
		return fmt.Errorf("twin: %w", err)
	}
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("twin: %w", err)
		}
		rest, err := filepath.Rel(from, path)
		if err != nil || e.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rest), 0o755)) //nolint:gosec // another container of the pod reads it
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("twin: %w", err)
		}
		return os.WriteFile(filepath.Join(to, rest), raw, 0o644) //nolint:gosec // another container of the pod reads it
	})
}
