package ignition

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

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

// JSON returns the Ignition 3.2.0 document.
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
				header(headerAuthorization, bearerPrefix+base64.StdEncoding.EncodeToString([]byte(u.Token))),
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
	return encoded, nil
}
