// Package ignition gives new machines their configuration: it merges what a node pool asks for with what the release payload
// needs on a node. Package server below it serves the result.
package ignition

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
)

// Keys of a token secret.
const (
	TokenKey                  = "token"
	TokenOldKey               = "old_token"
	TokenReleaseKey           = "release"
	TokenReleaseVersionKey    = "release-version"
	TokenConfigKey            = "config"
	TokenTrustBundleHashKey   = "additional-trust-bundle-hash"
	TokenPullSecretHashKey    = "pull-secret-hash"
	TokenConfigurationHashKey = "hc-configuration-hash"
	TokenCloudConfigHashKey   = "cloud-config-hash"
	TokenOSStreamKey          = "os-stream"
	TokenReasonKey            = "reason"
	TokenMessageKey           = "message"
	TokenPayloadKey           = "payload"
	maxDecompressedConfigSize = 64 << 20
)

// Compress is the form of a node pool's documents in its token secret: base64 text of their gzip.
func Compress(text string) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write([]byte(text)); err != nil {
		return nil, fmt.Errorf("compress the configuration: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress the configuration: %w", err)
	}
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}

// Decompress reverses Compress; it takes bare gzip too, as older writers store it.
func Decompress(packed []byte) (string, error) {
	if decoded, err := base64.StdEncoding.DecodeString(string(packed)); err == nil {
		packed = decoded
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return "", fmt.Errorf("decompress the configuration: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxDecompressedConfigSize))
	if err != nil {
		return "", fmt.Errorf("decompress the configuration: %w", err)
	}
	return string(text), nil
}
