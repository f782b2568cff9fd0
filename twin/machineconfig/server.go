package machineconfig

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coreos/ignition/v2/config/v3_4/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
)

const (
	ignitionMedia = "application/vnd.coreos.ignition+json"
	// ContentFile of a machine has the whole MachineConfig that it was made with.
	ContentFile = "/etc/mcs-machine-config-content.json"
)

// server serves the configuration of the pool "master" until it is asked to end.
func server(args []string, out io.Writer) error {
	f := newFlags(nil, "server-basedir", "bootstrap-kubeconfig", "cert", "key", "secure-port", "insecure-port", "payload-version")
	if err := f.parse("bootstrap", args); err != nil {
		return err
	}
	err := f.check(flagCheck{"payload-version", isVersion}, flagCheck{"server-basedir", isDirectory}, flagCheck{"bootstrap-kubeconfig", isKubeconfig},
		flagCheck{"cert", isCertificate}, flagCheck{"key", isPrivate}, flagCheck{"secure-port", isPort}, flagCheck{"insecure-port", isPort})
	if err != nil {
		return err
	}
	certificate, err := tls.LoadX509KeyPair(f.get("cert"), f.get("key"))
	if err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(f.get("bootstrap-kubeconfig"))
	if err != nil {
		return err
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer(w, request, f.get("server-basedir"), kubeconfig)
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	secure := &http.Server{Addr: ":" + f.get("secure-port"), Handler: handler, ReadHeaderTimeout: time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}}
	insecure := &http.Server{Addr: ":" + f.get("insecure-port"), Handler: handler, ReadHeaderTimeout: time.Second}
	failed := make(chan error, 2)
	go func() { failed <- secure.ListenAndServeTLS("", "") }()
	go func() { failed <- insecure.ListenAndServe() }()
	fmt.Fprintln(out, "serving", f.get("server-basedir"))
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return errors.Join(secure.Close(), insecure.Close())
	}
}

func isPort(value string) error {
	_, err := strconv.ParseUint(value, 10, 16)
	return err
}

func isPrivate(file string) error {
	info, err := os.Stat(file)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = fmt.Errorf("others may read it: %s", info.Mode())
	}
	return err
}

func isKubeconfig(file string) error {
	config, err := clientcmd.LoadFromFile(file)
	if err == nil && len(config.Clusters) == 0 {
		err = errors.New("it names no cluster")
	}
	return err
}

func answer(w http.ResponseWriter, request *http.Request, dir string, kubeconfig []byte) {
	pool, found := strings.CutPrefix(request.URL.Path, "/config/")
	switch {
	case !found || strings.Contains(pool, "/"):
		http.NotFound(w, request)
		return
	case pool != "master":
		http.Error(w, "no pool but master", http.StatusInternalServerError)
		return
	case !strings.Contains(request.Header.Get("Accept"), ignitionMedia+";version=3.2.0"):
		http.Error(w, "a version of Ignition that is not known: "+request.Header.Get("Accept"), http.StatusBadRequest)
		return
	}
	payload, err := payloadOf(dir, pool, kubeconfig)
	if errors.Is(err, os.ErrNotExist) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(payload) // nobody is left to be told
}

// payloadOf is the configuration of a pool with the files that a machine's programs read.
func payloadOf(dir, pool string, kubeconfig []byte) ([]byte, error) {
	chosen := struct{ Name, Configuration string }{}
	if err := decode(filepath.Join(dir, "machine-pools", pool+".yaml"), &chosen); err != nil {
		return nil, err
	}
	rendered := &Rendered{}
	if err := decode(filepath.Join(dir, "machine-configs", chosen.Configuration+".yaml"), rendered); err != nil {
		return nil, err
	}
	whole, err := json.Marshal(rendered)
	if err != nil {
		return nil, err
	}
	annotations, err := json.Marshal(map[string]string{
		"machineconfiguration.openshift.io/currentConfig": rendered.Name, "machineconfiguration.openshift.io/desiredConfig": rendered.Name,
		"machineconfiguration.openshift.io/firstPivotConfig": rendered.Name, "machineconfiguration.openshift.io/state": "Done",
	})
	if err != nil {
		return nil, err
	}
	for _, file := range []struct{ path, content string }{
		{"/etc/kubernetes/kubeconfig", string(kubeconfig)}, {"/etc/kubernetes/kubelet-ca.crt", rendered.KubeletCA},
		{"/etc/machine-config-daemon/node-annotations.json", string(annotations)},
		{ContentFile, string(whole)}, {"/etc/ignition-machine-config-encapsulated.json", string(whole)},
	} {
		var made types.File
		made.Path, made.Mode, made.Overwrite = file.path, ptr.To(0o644), ptr.To(true)
		made.Contents.Source = ptr.To("data:," + url.PathEscape(file.content))
		rendered.Config.Storage.Files = append(rendered.Config.Storage.Files, made)
	}
	return json.Marshal(rendered.Config)
}
