package dns

import (
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// FindZone tells why the session does not see a public DNS zone; nil when it does.
func FindZone(ctx context.Context, session *azure.Session, group, zone string) error {
	_, err := session.Get(ctx, session.ResourceID(group, node.TypeDNS, zone), node.APIDNS)
	return err
}
