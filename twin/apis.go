package twin

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/yaml"
)

// kept are the only objects that an aggregated API server of a twin keeps: those that this project writes there. Nothing watches them.
var kept = map[string]metav1.APIResource{
	"oauth": {Name: "oauthclients", SingularName: "oauthclient", Kind: "OAuthClient", Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "update"}},
}

// shown are kinds that programs of the control plane wait for before they start. There are no objects of them.
var shown = map[string]metav1.APIResource{
	"route": {Name: "routes", SingularName: "route", Kind: "Route", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
}

// apis is what an aggregated API server answers to the API server in front of it: its groups, and the few objects that are kept.
type apis struct {
	program Program
	// trusted are the authorities of who may speak for others, names what he may be called; nil where the program is not told of any.
	trusted *x509.CertPool
	names   []string
	store   *clientv3.Client
}

// apis connects to etcd where the program keeps anything: by the certificates that it was given.
func (p Program) apis(ctx context.Context, _ Start, given command) (http.Handler, error) {
	a := &apis{program: p}
	if file := given.flags["requestheader-client-ca-file"]; len(file) > 0 {
		raw, err := os.ReadFile(file[0])
		if err != nil {
			return nil, fmt.Errorf("twin: %w", err)
		}
		a.trusted, a.names = x509.NewCertPool(), strings.Split(given.flags["requestheader-allowed-names"][0], ",")
		a.trusted.AppendCertsFromPEM(raw)
	}
	if p.Etcd == nil {
		return a, nil
	}
	own, err := tls.LoadX509KeyPair(p.Etcd.Certificate, p.Etcd.Key)
	authority, readErr := os.ReadFile(p.Etcd.Authority)
	if err = errors.Join(err, readErr); err != nil {
		return nil, fmt.Errorf("twin: etcd: %w", err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	server := given.flags["etcd-servers"]
	if len(server) == 0 {
		server = []string{"https://etcd-client:2379"}
	}
	a.store, err = clientv3.New(clientv3.Config{Context: ctx, Endpoints: server, DialTimeout: 10 * time.Second,
		TLS: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{own}}})
	if err != nil {
		return nil, fmt.Errorf("twin: etcd: %w", err)
	}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := a.store.Get(asking, "/openshift.io/"); err != nil {
		return nil, fmt.Errorf("twin: etcd at %s: %w", server, err)
	}
	return a, nil
}

// ServeHTTP answers /apis/GROUP/VERSION and what is below. Who is not the API server in front is nobody.
func (a *apis) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !a.known(r) {
		refuse(w, http.StatusUnauthorized, "twin: only the API server in front may ask")
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	name, served := a.serves(parts)
	if !served {
		refuse(w, http.StatusNotFound, "twin: no such API")
		return
	}
	resource, keeps := kept[name]
	empty, shows := shown[name]
	switch {
	case len(parts) == 3:
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: parts[1] + "/" + parts[2], APIResources: []metav1.APIResource{}}
		if keeps {
			list.APIResources = append(list.APIResources, resource)
		}
		if shows {
			list.APIResources = append(list.APIResources, empty)
		}
		answer(w, http.StatusOK, list)
	case parts[3] == "tokenreviews" && r.Method == http.MethodPost:
		answer(w, http.StatusOK, map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "status": map[string]any{"authenticated": false}})
	case shows && parts[len(parts)-1] == empty.Name && r.Method == http.MethodGet:
		answer(w, http.StatusOK, map[string]any{"apiVersion": parts[1] + "/" + parts[2], "kind": empty.Kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
	case keeps && parts[3] == resource.Name && a.store != nil:
		a.object(w, r, resource, parts[1]+"/"+parts[2], strings.Join(parts[4:], "/"))
	default:
		refuse(w, http.StatusNotFound, "twin: no checker keeps such objects")
	}
}

// serves tells which of the program's groups a path is of.
func (a *apis) serves(parts []string) (name string, served bool) {
	if len(parts) < 3 {
		return "", false
	}
	name, domain, _ := strings.Cut(parts[1], ".")
	return name, slices.Contains(a.program.Groups, name) && (domain == "openshift.io" || domain == "operators.coreos.com")
}

// known tells whether the API server in front asks.
func (a *apis) known(r *http.Request) bool {
	if a.trusted == nil {
		return true
	}
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return false
	}
	cert := r.TLS.PeerCertificates[0]
	_, err := cert.Verify(x509.VerifyOptions{Roots: a.trusted, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	// The API server asks for tokens by a certificate of its own, which another authority vouches for.
	return err == nil && slices.Contains(a.names, cert.Subject.CommonName) || strings.HasSuffix(r.URL.Path, "/tokenreviews")
}

func (a *apis) object(w http.ResponseWriter, r *http.Request, kind metav1.APIResource, version, name string) {
	prefix := "/openshift.io/twin/" + kind.Name + "/"
	switch r.Method {
	case http.MethodGet:
		a.read(w, r, kind, version, prefix, name)
	case http.MethodDelete:
		if _, err := a.store.Delete(r.Context(), prefix+name); err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		answer(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	default:
		a.write(w, r, kind, version, prefix, name)
	}
}

func (a *apis) read(w http.ResponseWriter, r *http.Request, kind metav1.APIResource, version, prefix, name string) {
	var options []clientv3.OpOption
	if name == "" {
		options = append(options, clientv3.WithPrefix())
	}
	found, err := a.store.Get(r.Context(), prefix+name, options...)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	items := []map[string]any{}
	for _, kv := range found.Kvs {
		items = append(items, withRevision(kv.Value, kv.ModRevision))
	}
	switch {
	case name == "":
		answer(w, http.StatusOK, map[string]any{"apiVersion": version, "kind": kind.Kind + "List",
			"metadata": map[string]any{"resourceVersion": fmt.Sprint(found.Header.Revision)}, "items": items})
	case len(items) == 0:
		refuse(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", kind.Name, name))
	default:
		answer(w, http.StatusOK, items[0])
	}
}

func withRevision(raw []byte, revision int64) map[string]any {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return object
	}
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta["resourceVersion"] = fmt.Sprint(revision)
	}
	return object
}

// write keeps an object as it is given: what is applied here is all of it.
func (a *apis) write(w http.ResponseWriter, r *http.Request, kind metav1.APIResource, version, prefix, name string) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	object := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(raw, &object)
	}
	meta, _ := object["metadata"].(map[string]any)
	given, _ := meta["name"].(string)
	if err != nil || meta == nil || given == "" && name == "" {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("twin: no object: %v", err))
		return
	}
	if name == "" {
		name = given
	}
	object["apiVersion"], object["kind"], meta["name"] = version, kind.Kind, name
	delete(meta, "resourceVersion")
	meta["uid"], meta["creationTimestamp"] = string(uuid.NewUUID()), time.Now().UTC().Format(time.RFC3339)
	if former, err := a.store.Get(r.Context(), prefix+name); err == nil && len(former.Kvs) > 0 {
		have, _ := withRevision(former.Kvs[0].Value, 0)["metadata"].(map[string]any)
		meta["uid"], meta["creationTimestamp"] = have["uid"], have["creationTimestamp"]
	}
	raw, err = json.Marshal(object)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	put, err := a.store.Put(r.Context(), prefix+name, string(raw))
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, withRevision(raw, put.Header.Revision))
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

func refuse(w http.ResponseWriter, code int, message string) {
	reason := map[int]metav1.StatusReason{http.StatusNotFound: metav1.StatusReasonNotFound, http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
		http.StatusBadRequest: metav1.StatusReasonBadRequest, http.StatusInternalServerError: metav1.StatusReasonInternalError}[code]
	answer(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message})
}
