// Guestapi is what a user may run in a hosted cluster and the API server has to call: a validating webhook and an aggregated API in
// one program. It tells who called and from where, so that a script can see the way a request took.
//
//	guestapi certificate --host NAME --dir DIR   writes tls.crt and tls.key for a Service's name
//	guestapi serve --dir DIR                     serves /validate and /apis/e2e.hypershift.test/v1/callers on port 8443
//	guestapi call --url URL --header 'K: V'      asks as anybody may, trusting every certificate; prints the status and the body
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
)

const (
	listen      = ":8443"
	callTimeout = 5 * time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New("name a command: certificate, serve or call")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	host := flags.String("host", "", "name that the certificate is for")
	dir := flags.String("dir", "/etc/serving", "folder of tls.crt and tls.key")
	url := flags.String("url", "", "what to ask")
	header := flags.String("header", "", "a header of the question, 'Name: value'")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "certificate":
		return certificate(*host, *dir)
	case "serve":
		return serve(context.Background(), *dir)
	case "call":
		return call(*url, *header)
	}
	return fmt.Errorf("there is no command %q", args[0])
}

func certificate(host, dir string) error {
	if host == "" {
		return errors.New("--host is missing")
	}
	chain, key, err := cert.GenerateSelfSignedCertKey(host, nil, nil)
	if err != nil {
		return fmt.Errorf("make a certificate for %s: %w", host, err)
	}
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "tls.crt"), chain, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
}

func serve(ctx context.Context, dir string) error {
	trust, err := frontProxyTrust(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /validate", validate)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	trust.serveCallers(mux)
	server := &http.Server{
		Addr: listen, Handler: mux, ReadHeaderTimeout: 10 * time.Second,
		// Only the aggregated API asks who calls; the API server shows webhooks no certificate.
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.VerifyClientCertIfGiven, ClientCAs: trust.authorities},
	}
	return server.ListenAndServeTLS(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
}

// call is a stranger's: what answers, and whether its certificate is good, is not his concern.
func call(url, header string) error {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if name, value, ok := strings.Cut(header, ":"); ok {
		request.Header.Set(name, strings.TrimSpace(value))
	}
	client := &http.Client{Timeout: callTimeout, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	fmt.Println(response.Status)
	_, err = io.Copy(os.Stdout, response.Body)
	return err
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
	}
}
