// Package snapshot puts a backup of another etcd where a new one is about to start.
package snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/egress"
)

const (
	// answerTimeout is for the first bytes; how long the rest takes depends on the size.
	answerTimeout = 30 * time.Second
	// maxBytes is the largest database that etcd supports.
	maxBytes = 8 << 30
	// member is the directory in which etcd keeps everything: as long as it is missing there is no data.
	member = "member"
	// workDir is beside it, on the same disk, so that the finished directory can be moved into place in one step.
	workDir = ".restore"
	// idFile in member says which request it was restored for: etcd leaves it alone, and it comes and goes with the data.
	idFile = "restored"
	// revisionBump is added to the revision of a backup where nobody says which one to begin at. It is what etcd's documentation takes.
	revisionBump = 1_000_000_000
	// hashHeader is where a blob's storage tells the hash that was noted with the backup.
	hashHeader = "x-ms-meta-" + contract.BackupHashMetadata
)

// Options say which snapshot becomes which member.
type Options struct {
	// URLFile holds the snapshot's address. It may carry a signature that lets everybody read: it is in no argument and no log.
	URLFile string
	// IDFile, when set, holds the id of a request to replace data that are there; an id is served once.
	IDFile string
	// RevisionFile, when it exists, holds the revision at which the data begin: one that no etcd before has reached, the same for every member. All
	// before it counts as compacted, so that whoever watched a former etcd is told to list anew, where it would else wait for revisions that come
	// again with other contents.
	RevisionFile string
	// CAFile, when it exists, holds authorities to trust besides the system's.
	CAFile  string
	DataDir string
	// Name, PeerURL, InitialCluster and Token are those of etcd's own arguments.
	Name, PeerURL, InitialCluster, Token string
	// guard keeps a transport from addresses that are not to be reached; nil stands for the package's own.
	guard func(*http.Transport) http.RoundTripper
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.URLFile, "url-file", "", "file with the address of the snapshot; nothing is done without it")
	flags.StringVar(&o.IDFile, "id-file", "", "file with the id of a request to replace the data that are there; empty: data that are there stay")
	flags.StringVar(&o.RevisionFile, "revision-file", "", "file with the revision at which the data begin, if the file exists")
	flags.StringVar(&o.CAFile, "ca-file", "", "certificate authorities to trust besides the system's, if the file exists")
	flags.StringVar(&o.DataDir, "data-dir", "", "etcd's data directory")
	flags.StringVar(&o.Name, "name", "", "name of the member")
	flags.StringVar(&o.PeerURL, "initial-advertise-peer-urls", "", "peer URL of the member")
	flags.StringVar(&o.InitialCluster, "initial-cluster", "", "members of the cluster, as etcd is told")
	flags.StringVar(&o.Token, "initial-cluster-token", "", "token of the cluster, as etcd is told")
}

// Run restores the snapshot unless there is data already, or no snapshot any more. With an id it replaces data that were not restored for
// that id. A run that was interrupted leaves the data that were there, or none, or the snapshot's.
func Run(ctx context.Context, o Options) error {
	address, err := os.ReadFile(o.URLFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the address of the snapshot: %w", err)
	}
	id, served, err := o.served()
	if err != nil || served {
		return err
	}
	work := filepath.Join(o.DataDir, workDir)
	if err := errors.Join(os.RemoveAll(work), os.MkdirAll(work, 0o700)); err != nil {
		return fmt.Errorf("prepare %s: %w", work, err)
	}
	file := filepath.Join(work, "snapshot.db")
	if err := o.download(ctx, strings.TrimSpace(string(address)), file); err != nil {
		return err
	}
	if err := o.restore(file, filepath.Join(work, "data")); err != nil {
		return err
	}
	if err := o.moveIn(filepath.Join(work, "data", member), id); err != nil {
		return fmt.Errorf("move the restored data into place: %w", err)
	}
	return os.RemoveAll(work)
}

// served tells whether the data that are there stay, and the id of the request.
func (o Options) served() (id []byte, served bool, err error) {
	present := filepath.Join(o.DataDir, member)
	if o.IDFile == "" {
		_, err := os.Stat(present)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		return nil, true, err
	}
	if id, err = os.ReadFile(o.IDFile); err != nil {
		return nil, false, fmt.Errorf("read the id of the request: %w", err)
	}
	former, err := os.ReadFile(filepath.Join(present, idFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("read what the data were restored for: %w", err)
	}
	return id, err == nil && bytes.Equal(former, id), nil
}

// moveIn puts restored data, marked with the id of their request, in the place of those that are there.
func (o Options) moveIn(restored string, id []byte) error {
	if id != nil {
		if err := os.WriteFile(filepath.Join(restored, idFile), id, 0o600); err != nil {
			return err
		}
	}
	place := filepath.Join(o.DataDir, member)
	if err := os.RemoveAll(place); err != nil {
		return err
	}
	return os.Rename(restored, place)
}

// restore checks the snapshot's hash and writes a data directory that knows only the members of this cluster.
func (o Options) restore(file, directory string) error {
	logger, err := zap.NewProduction()
	if err != nil {
		return fmt.Errorf("make a logger: %w", err)
	}
	least, err := o.leastRevision()
	if err != nil {
		return err
	}
	manager := snapshot.NewV3(logger)
	status, err := manager.Status(file)
	if err == nil {
		err = manager.Restore(snapshot.RestoreConfig{
			SnapshotPath: file, OutputDataDir: directory, Name: o.Name, PeerURLs: []string{o.PeerURL},
			InitialCluster: o.InitialCluster, InitialClusterToken: o.Token, RevisionBump: bump(status.Revision, least), MarkCompacted: true,
		})
	}
	if err != nil {
		return fmt.Errorf("the file is no complete snapshot of etcd; make one with `etcdctl snapshot save` and give its address to a new cluster: %w", err)
	}
	return nil
}

// bump is what is added to the revision of a backup so that the data begin at least, or else well after it.
func bump(revision, least int64) uint64 {
	if least <= revision {
		return revisionBump
	}
	return uint64(least - revision)
}

// leastRevision is what RevisionFile says, 0 where it is not there.
func (o Options) leastRevision() (int64, error) {
	text, err := os.ReadFile(o.RevisionFile)
	if o.RevisionFile == "" || errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the revision to begin at: %w", err)
	}
	least, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("file %s: %q is no revision of etcd", o.RevisionFile, text)
	}
	return least, nil
}

func (o Options) download(ctx context.Context, address, path string) error {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return errors.New("the snapshot's address is no https URL; for an object store, make one that is signed in advance, such as a blob's with a shared access signature")
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("ask %s for the snapshot: %w", parsed.Host, withoutURL(err))
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s for the snapshot: %w", parsed.Host, withoutURL(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s for the snapshot %s: %s %s; is the address complete, and its signature still valid?",
			parsed.Host, parsed.Path, response.Status, response.Header.Get("x-ms-error-code"))
	}
	return save(response.Body, path, response.Header.Get(hashHeader))
}

// save writes the snapshot to a file; a hash that came with it, in hexadecimal digits, must be its own.
func save(from io.Reader, path, hash string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("keep the snapshot: %w", err)
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(from, maxBytes+1))
	switch found := hex.EncodeToString(sum.Sum(nil)); {
	case size > maxBytes:
		err = fmt.Errorf("it is larger than the %d GiB that etcd holds", maxBytes>>30)
	case err == nil && hash != "" && found != hash:
		err = fmt.Errorf("its SHA-256 is %s, and %s was noted when it was made: the blob has been changed; take another backup", found, hash)
	}
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("download the snapshot: %w", err)
	}
	return nil
}

// guarded: the address is a tenant's choice, and so is where it redirects to. Stores may be in private networks; those that this pod must
// not reach are closed to it by its namespace's policies.
func guarded(base *http.Transport) http.RoundTripper {
	return egress.Policy{AllowPrivate: true}.Transport(base)
}

// withoutURL drops the address, signature and all, that the HTTP client adds to its errors.
func withoutURL(err error) error {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

func (o Options) client() (*http.Client, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("read the system's certificate authorities: %w", err)
	}
	bundle, err := os.ReadFile(o.CAFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the user's certificate authorities: %w", err)
	}
	roots.AppendCertsFromPEM(bundle)
	guard := o.guard
	if guard == nil {
		guard = guarded
	}
	return &http.Client{Transport: guard(&http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		TLSClientConfig:       &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ResponseHeaderTimeout: answerTimeout,
	})}, nil
}
