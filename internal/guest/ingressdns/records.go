package ingressdns

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/azure/failure"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

const (
	ttl = 30

	apiPublic, apiPrivate = "2018-05-01", "2020-06-01"
)

// recordSets are the calls that the role of the ingress identity allows: it may write and delete A records, and not read them.
type recordSets interface {
	PutIf(ctx context.Context, id, apiVersion, etag string, body azure.Resource) (*azure.Resource, error)
	DeleteIf(ctx context.Context, id, apiVersion, etag string) error
}

// record is the wildcard below the domain of the applications in one zone.
type record struct {
	id, zone, name string
	private        bool
}

func (r record) apiVersion() string {
	if r.private {
		return apiPrivate
	}
	return apiPublic
}

// recordsOf are the records of a hosted cluster: in the zone of the base domain, and in the one that hides it inside the virtual network.
func recordsOf(hcp *hyperv1.HostedControlPlane) ([]record, error) {
	domain, err := component.AppsDomain(hcp)
	if err != nil {
		return nil, err
	}
	var out []record
	for _, zone := range []struct {
		id      string
		private bool
	}{{hcp.Spec.DNS.PublicZoneID, false}, {hcp.Spec.DNS.PrivateZoneID, true}} {
		if zone.id == "" {
			continue
		}
		parsed, err := azure.ParseID(zone.id)
		if err != nil {
			return nil, fmt.Errorf("a zone of spec.dns: %w", err)
		}
		relative, inside := strings.CutSuffix("*."+domain, "."+parsed.Name)
		if !inside {
			return nil, fmt.Errorf("zone %s of spec.dns cannot hold *.%s: make the record yourself, or choose a domain below the zone", parsed.Name, domain)
		}
		out = append(out, record{id: zone.id + "/A/" + relative, zone: parsed.Name, name: "*." + domain, private: zone.private})
	}
	return out, nil
}

// state is what is known of a record that was written: the etag proves that it is still ours.
type state struct {
	ETag      string   `json:"etag,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	// Unsure: a write is under way, or its answer was lost. The next other state of the record is then its work.
	Unsure bool `json:"unsure,omitempty"`
}

const (
	// anyETag matches every record. noETag matches none: a deletion with it changes nothing and tells whether the record exists.
	anyETag = "*"
	noETag  = `"none"`
)

// errForeign means that a record of the name is there, and was not written by this operator.
var errForeign = errors.New("the record is not this cluster's")

// free makes sure that there is no record yet.
func free(ctx context.Context, sets recordSets, r record) error {
	err := sets.DeleteIf(ctx, r.id, r.apiVersion(), noETag)
	if azure.IsChanged(err) {
		return foreign(r)
	}
	return err
}

func foreign(r record) error {
	return fmt.Errorf("%w: zone %s has a record %s that somebody else made or changed; delete it, and it is made within a minute", errForeign, r.zone, r.name)
}

// write makes the record lead to the addresses. What stands there is replaced only if it is as it was left: when it is gone, it is made
// anew, and when somebody changed it, it stays. The state says Unsure when Azure's answer is not known.
func write(ctx context.Context, sets recordSets, r record, infraID string, addresses []string, last state) (state, error) {
	put := func(etag string) (*azure.Resource, error) {
		return sets.PutIf(ctx, r.id, r.apiVersion(), etag, r.body(infraID, addresses))
	}
	made, err := put(last.ETag)
	if last.ETag != "" && azure.IsChanged(err) {
		made, err = put("")
	}
	if last.Unsure && azure.IsChanged(err) {
		made, err = put(anyETag)
	}
	switch {
	case azure.IsChanged(err):
		last.Unsure = false
		return last, foreign(r)
	case err != nil:
		last.Unsure = last.Unsure || !failure.IsRefused(err, r.id)
		return last, err
	}
	return state{ETag: made.ETag, Addresses: addresses}, nil
}

func (r record) body(infraID string, addresses []string) azure.Resource {
	ttlKey, listKey := "TTL", "ARecords"
	if r.private {
		ttlKey, listKey = "ttl", "aRecords"
	}
	var list []any
	for _, address := range addresses {
		list = append(list, map[string]any{"ipv4Address": address})
	}
	return azure.Resource{Properties: map[string]any{ttlKey: ttl, listKey: list, "metadata": map[string]any{hyperv1.IngressRecordMetadata: infraID}}}
}

// erase deletes the record if it is as it was left; what somebody changed since is not ours to delete.
func erase(ctx context.Context, sets recordSets, id string, last state) error {
	api := apiPublic
	if strings.Contains(strings.ToLower(id), "/privatednszones/") {
		api = apiPrivate
	}
	etag := last.ETag
	if last.Unsure {
		etag = anyETag
	}
	if err := sets.DeleteIf(ctx, id, api, etag); err != nil && !azure.IsChanged(err) {
		return err
	}
	return nil
}

func (s state) leadsTo(addresses []string) bool {
	return s.ETag != "" && !s.Unsure && slices.Equal(s.Addresses, addresses)
}
