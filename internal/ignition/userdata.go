package ignition

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/coreos/ignition/v2/config/v3_2"
	"github.com/coreos/ignition/v2/config/v3_2/types"
)

// Request headers of a node.
const (
	headerAuthorization = "Authorization"
	headerNodePool      = "NodePool"
	headerTargetVersion = "TargetConfigVersionHash"
	bearerPrefix        = "Bearer "
)

// UserData describes what a new machine is told: where to fetch its configuration, and how to be let in.
type UserData struct {
	// Endpoint is the published host of the ignition server, with a port when it is not 443.
	Endpoint string
	// CA is the certificate that signed the server's, PEM.
	CA []byte
	// Token of the node pool, plain.
	Token string
	// NodePool is "<namespace>/<name>", TargetConfigVersion the full configuration hash.
	NodePool, TargetConfigVersion string
	Proxy                         Proxy
}

// maxUserData is what Azure takes as custom data of a virtual machine, in bytes before its encoding:
// https://learn.microsoft.com/azure/virtual-machines/custom-data
const maxUserData = 65535

// bearer is the value of the authorization header.
func (u UserData) bearer() string {
	return bearerPrefix + base64.StdEncoding.EncodeToString([]byte(u.Token))
}

// TokenOf reads the token from an authorization header.
func TokenOf(header string) (string, bool) {
	encoded, ok := strings.CutPrefix(header, bearerPrefix)
	if !ok {
		return "", false
	}
	token, err := base64.StdEncoding.DecodeString(encoded)
	return string(token), err == nil
}

// JSON returns the Ignition 3.2.0 document. An error is the user's to mend: Azure or a machine would refuse it.
func (u UserData) JSON() ([]byte, error) {
	header := func(name, value string) types.HTTPHeader { return types.HTTPHeader{Name: name, Value: ptr.To(value)} }
	config := types.Config{Ignition: types.Ignition{
		Version: "3.2.0",
		Security: types.Security{TLS: types.TLS{CertificateAuthorities: []types.Resource{{
			Source: ptr.To("data:text/plain;base64," + base64.StdEncoding.EncodeToString(u.CA)),
		}}}},
		Config: types.IgnitionConfig{Merge: []types.Resource{{
			Source: ptr.To("https://" + u.Endpoint + "/ignition"),
			HTTPHeaders: types.HTTPHeaders{
				header(headerAuthorization, u.bearer()),
				header(headerNodePool, u.NodePool),
				header(headerTargetVersion, u.TargetConfigVersion),
			},
		}}},
	}}
	if u.Proxy.HTTPProxy != "" {
		config.Ignition.Proxy.HTTPProxy = ptr.To(u.Proxy.HTTPProxy)
	}
	if u.Proxy.HTTPSProxy != "" {
		config.Ignition.Proxy.HTTPSProxy = ptr.To(u.Proxy.HTTPSProxy)
	}
	if u.Proxy.NoProxy != "" {
		for _, item := range strings.Split(u.Proxy.NoProxy, ",") {
			config.Ignition.Proxy.NoProxy = append(config.Ignition.Proxy.NoProxy, types.NoProxyItem(item))
		}
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode user data: %w", err)
	}
	if len(encoded) > maxUserData {
		return nil, fmt.Errorf("the user data of machines has %d bytes, of which Azure takes %d; shorten noProxy in spec.configuration.proxy of the HostedCluster", len(encoded), maxUserData)
	}
	if _, report, err := v3_2.Parse(encoded); err != nil {
		return nil, fmt.Errorf("no machine would take its user data; check spec.configuration.proxy of the HostedCluster: %w: %s", err, report.String())
	}
	return encoded, nil
}
