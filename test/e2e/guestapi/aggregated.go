package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	group   = "e2e.hypershift.test"
	version = "v1"
)

// caller is the one kind of the aggregated API: who asks, as the API server in front tells it.
type caller struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	User              string   `json:"user"`
	Groups            []string `json:"groups"`
	// From is the address the request came from, Proxy the common name of the certificate that vouches for the user.
	From  string `json:"from"`
	Proxy string `json:"proxy"`
}

type callerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []caller `json:"items"`
}

// frontProxy is who may say in headers which user a request is of.
type frontProxy struct {
	authorities               *x509.CertPool
	names                     []string
	userHeaders, groupHeaders []string
}

// frontProxyTrust reads what every aggregated API server reads: ConfigMap extension-apiserver-authentication.
func frontProxyTrust(ctx context.Context) (*frontProxy, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, err
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	url := config.Host + "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s; bind the service account to Role extension-apiserver-authentication-reader", url, response.Status)
	}
	published := corev1.ConfigMap{}
	if err := json.NewDecoder(response.Body).Decode(&published); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	proxy := &frontProxy{authorities: x509.NewCertPool()}
	if !proxy.authorities.AppendCertsFromPEM([]byte(published.Data["requestheader-client-ca-file"])) {
		return nil, errors.New("extension-apiserver-authentication has no requestheader-client-ca-file")
	}
	for key, into := range map[string]*[]string{
		"requestheader-allowed-names": &proxy.names, "requestheader-username-headers": &proxy.userHeaders, "requestheader-group-headers": &proxy.groupHeaders,
	} {
		if err := json.Unmarshal([]byte(published.Data[key]), into); err != nil {
			return nil, fmt.Errorf("extension-apiserver-authentication: %s: %w", key, err)
		}
	}
	return proxy, nil
}

// identify returns who asks; nobody without the front proxy's certificate is somebody.
func (p *frontProxy) identify(r *http.Request) (*caller, bool) {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 || !slices.Contains(p.names, r.TLS.PeerCertificates[0].Subject.CommonName) {
		return nil, false
	}
	who := &caller{
		TypeMeta: metav1.TypeMeta{APIVersion: group + "/" + version, Kind: "Caller"}, ObjectMeta: metav1.ObjectMeta{Name: "you"},
		From: r.RemoteAddr, Proxy: r.TLS.PeerCertificates[0].Subject.CommonName,
	}
	for _, header := range p.userHeaders {
		who.User += r.Header.Get(header)
	}
	for _, header := range p.groupHeaders {
		who.Groups = append(who.Groups, r.Header.Values(header)...)
	}
	return who, who.User != ""
}

func (p *frontProxy) serveCallers(mux *http.ServeMux) {
	resources := &metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: group + "/" + version,
		APIResources: []metav1.APIResource{{Name: "callers", SingularName: "caller", Kind: "Caller", Verbs: metav1.Verbs{"get", "list"}}},
	}
	prefix := "GET /apis/" + group + "/" + version
	mux.HandleFunc(prefix, p.known(func(w http.ResponseWriter, _ *caller) { answer(w, http.StatusOK, resources) }))
	mux.HandleFunc(prefix+"/callers", p.known(func(w http.ResponseWriter, who *caller) {
		list := callerList{TypeMeta: metav1.TypeMeta{APIVersion: group + "/" + version, Kind: "CallerList"}, Items: []caller{*who}}
		answer(w, http.StatusOK, list)
	}))
	mux.HandleFunc(prefix+"/callers/you", p.known(func(w http.ResponseWriter, who *caller) { answer(w, http.StatusOK, who) }))
}

func (p *frontProxy) known(serve func(http.ResponseWriter, *caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, ok := p.identify(r)
		if !ok {
			answer(w, http.StatusUnauthorized, metav1.Status{
				TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: http.StatusUnauthorized,
				Reason: metav1.StatusReasonUnauthorized, Message: "only the API server in front may say who asks: allowed names are " + strings.Join(p.names, ", "),
			})
			return
		}
		serve(w, who)
	}
}
