package cluster

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/cli/flagfile"
)

// restoreFlags say what a cluster begins with: a snapshot of another one's etcd, and the key that it was written with. Both are files,
// because the key is a secret and so is an address that carries a signature.
type restoreFlags struct {
	snapshotURL, encryptionKey string
}

func (f *restoreFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.snapshotURL, "restore-snapshot-url-file", "", "file with the https address of a snapshot of etcd that the cluster begins with")
	flags.StringVar(&f.encryptionKey, "encryption-key-file", "", "file with the key of 32 bytes that encrypts Secrets in etcd; one is made when empty")
}

// etcdEncryptionKeySize is what AES-256 takes.
const etcdEncryptionKeySize = 32

// loadRestore reads the files. A snapshot without its key would give a cluster that cannot read its own Secrets.
func (v *validated) loadRestore() error {
	if path := v.typed.restore.snapshotURL; path != "" {
		if v.typed.restore.encryptionKey == "" && v.typed.encryptionKeyID == "" {
			return fmt.Errorf("--restore-snapshot-url-file needs the key that the Secrets in the snapshot are encrypted with: give --encryption-key-file, or --encryption-key-id where it is in a key vault")
		}
		raw, err := flagfile.Read("--restore-snapshot-url-file", path)
		if err != nil {
			return err
		}
		address := strings.TrimSpace(string(raw))
		// The text itself stays out of the message: it may be signed.
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" || len(address) > 1024 || strings.ContainsAny(address, " \t\r\n\"") {
			return fmt.Errorf("the file of --restore-snapshot-url-file, %s, holds no https address of at most 1024 characters, alone and without quotes; see `az storage blob generate-sas --full-uri -o tsv`", path)
		}
		v.cluster.RestoreSnapshotURL = address
	}
	return v.loadEncryptionKey()
}

func (v *validated) loadEncryptionKey() error {
	key := &v.cluster.Secrets.EtcdEncryptionKey
	switch path := v.typed.restore.encryptionKey; {
	case v.typed.encryptionKeyID != "":
		return nil
	case path == "":
		*key = make([]byte, etcdEncryptionKeySize)
		_, _ = rand.Read(*key)
		return nil
	default:
		raw, err := flagfile.Read("--encryption-key-file", path)
		if err != nil {
			return err
		}
		if len(raw) != etcdEncryptionKeySize {
			return fmt.Errorf("the file of --encryption-key-file, %s, has %d bytes; a key has %d, as they are: neither base64 nor with a line's end", path, len(raw), etcdEncryptionKeySize)
		}
		*key = raw
		return nil
	}
}

// keptEncryptionKey is the key of an earlier run. One that was given in a file has to be the same.
func (f restoreFlags) keptEncryptionKey(live *corev1.Secret, own []byte) ([]byte, error) {
	key := live.Data[hyperv1.AESCBCKeySecretKey]
	if len(key) == 0 {
		return own, nil
	}
	if f.encryptionKey != "" && !bytes.Equal(key, own) {
		return nil, fmt.Errorf("Secret %s of an earlier run holds another key than --encryption-key-file, %s; if no cluster uses it, delete the Secret", client.ObjectKeyFromObject(live), f.encryptionKey)
	}
	return key, nil
}
