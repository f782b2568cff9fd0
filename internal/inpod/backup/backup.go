// Package backup takes a snapshot of a running etcd, checks that it is whole, and keeps it in Azure blob storage.
package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
)

const (
	answerTimeout = 10 * time.Second
	// probedKey need not exist: reading it asks whether the members agree.
	probedKey = "health"
	fileName  = "snapshot.db"
)

// Options say which etcd is saved where, and who may write there.
type Options struct {
	Endpoint                  string
	CAFile, CertFile, KeyFile string
	// WorkDir has room for the whole database.
	WorkDir string
	// Cloud is AzurePublicCloud when empty.
	Cloud, TenantID, ClientID string
	// AssertionFile holds the federated token that the identity signs in with.
	AssertionFile            string
	Account, Container, Blob string
	// ResultFile is where the outcome goes, as JSON of contract.BackupResult.
	ResultFile string
	// client reaches Azure; nil does as the environment says.
	client *http.Client
}

// AddFlags binds the options.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Endpoint, "endpoint", "", "client URL of etcd")
	flags.StringVar(&o.CAFile, "trusted-ca-file", "", "authorities of etcd's certificate")
	flags.StringVar(&o.CertFile, "cert-file", "", "certificate of a client of etcd")
	flags.StringVar(&o.KeyFile, "key-file", "", "its key")
	flags.StringVar(&o.WorkDir, "work-dir", "", "directory with room for the whole database")
	flags.StringVar(&o.Cloud, "azure-cloud", "", "Azure cloud of the storage account")
	flags.StringVar(&o.TenantID, "azure-tenant-id", "", "tenant of the identity")
	flags.StringVar(&o.ClientID, "azure-client-id", "", "identity that may write into the storage account")
	flags.StringVar(&o.AssertionFile, "assertion-file", "", "federated token of the identity")
	flags.StringVar(&o.Account, "azure-storage-account", "", "storage account")
	flags.StringVar(&o.Container, "azure-container", "", "container of the storage account, which exists")
	flags.StringVar(&o.Blob, "blob", "", "name of the blob, which does not exist")
	flags.StringVar(&o.ResultFile, "result-file", "", "where the outcome is written")
}

// Run saves etcd: a snapshot, its check, the upload. What fails leaves no blob.
func Run(ctx context.Context, o Options) error {
	file := filepath.Join(o.WorkDir, fileName)
	defer os.Remove(file)
	if err := o.save(ctx, file); err != nil {
		return err
	}
	result, err := check(file)
	if err != nil {
		return err
	}
	if result.URL, err = o.upload(ctx, file, result); err != nil {
		return err
	}
	content, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	if err := os.WriteFile(o.ResultFile, content, 0o600); err != nil {
		return fmt.Errorf("write the outcome: %w", err)
	}
	return nil
}

// save takes the snapshot of a member that is level with the others: one that lags behind does not answer the first question.
func (o Options) save(ctx context.Context, file string) error {
	config := clientv3.Config{Endpoints: []string{o.Endpoint}, DialTimeout: answerTimeout, Logger: zap.NewNop()}
	if o.CAFile != "" {
		tls, err := (&transport.TLSInfo{CertFile: o.CertFile, KeyFile: o.KeyFile, TrustedCAFile: o.CAFile}).ClientConfig()
		if err != nil {
			return fmt.Errorf("read the certificates of a client of etcd: %w", err)
		}
		config.TLS = tls
	}
	if err := agrees(ctx, config); err != nil {
		return fmt.Errorf("ask %s whether its members agree: %w; nothing was saved", o.Endpoint, err)
	}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(ctx, config, file); err != nil {
		return fmt.Errorf("take a snapshot of %s: %w", o.Endpoint, err)
	}
	return nil
}

func agrees(ctx context.Context, config clientv3.Config) error {
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	_, err = client.Get(limited, probedKey)
	return err
}

// check reads every page and key of the database, compares the whole with the hash that etcd sent after it, and says what it holds.
func check(file string) (contract.BackupResult, error) {
	status, err := snapshot.NewV3(zap.NewNop()).Status(file)
	if err != nil {
		return contract.BackupResult{}, fmt.Errorf("the snapshot is damaged and was not kept: %w", err)
	}
	opened, err := os.Open(file)
	if err != nil {
		return contract.BackupResult{}, fmt.Errorf("read the snapshot: %w", err)
	}
	defer opened.Close()
	size, sum, err := hashed(opened)
	if err != nil {
		return contract.BackupResult{}, err
	}
	return contract.BackupResult{SHA256: sum, Bytes: size, Revision: status.Revision, Keys: status.TotalKey}, nil
}

// hashed is the size and hash of the file, whose last bytes are the hash of the others.
func hashed(file *os.File) (int64, string, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, "", fmt.Errorf("read the snapshot: %w", err)
	}
	content := info.Size() - sha256.Size
	if content <= 0 {
		return 0, "", errors.New("the snapshot is cut off and was not kept")
	}
	whole := sha256.New()
	if _, err := io.CopyN(whole, file, content); err != nil {
		return 0, "", fmt.Errorf("read the snapshot: %w", err)
	}
	database := whole.Sum(nil)
	sent, err := io.ReadAll(io.TeeReader(file, whole))
	if err != nil {
		return 0, "", fmt.Errorf("read the snapshot: %w", err)
	}
	if !bytes.Equal(sent, database) {
		return 0, "", errors.New("the snapshot is not what etcd sent: its hash differs; it was not kept")
	}
	return info.Size(), hex.EncodeToString(whole.Sum(nil)), nil
}

func (o Options) upload(ctx context.Context, file string, result contract.BackupResult) (string, error) {
	store, err := azure.Federation{Cloud: o.Cloud, TenantID: o.TenantID, ClientID: o.ClientID}.Blobs(o.Account, o.client,
		func(context.Context) (string, error) {
			token, err := os.ReadFile(o.AssertionFile)
			return strings.TrimSpace(string(token)), err
		})
	if err != nil {
		return "", err
	}
	opened, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the snapshot: %w", err)
	}
	defer opened.Close()
	return store.Upload(ctx, o.Container, o.Blob, opened, map[string]string{
		contract.BackupHashMetadata: result.SHA256, "revision": strconv.FormatInt(result.Revision, 10), "keys": strconv.Itoa(result.Keys)})
}
