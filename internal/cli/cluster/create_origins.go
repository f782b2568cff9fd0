package cluster

import (
	"fmt"
	"strings"

	"github.com/hypershift-on-azure/hypershift/internal/cli/clusterfile"
	"github.com/hypershift-on-azure/hypershift/internal/cli/printing"
	"github.com/hypershift-on-azure/hypershift/internal/provision/handoff"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
)

// cameFrom notes where the value of a flag is from that nobody has typed.
func (c *creation) cameFrom(flag, from string) {
	if c.origins == nil {
		c.origins = map[string]string{}
	}
	c.origins[flag] = from
}

// fill sets the flags that were not typed to what the file of --file says, by which they count as typed.
func (c *creation) fill(path string) error {
	if path == "" {
		return nil
	}
	filled, err := clusterfile.Fill(c.cmd.Flags(), path)
	if err != nil {
		return err
	}
	for _, flag := range filled {
		c.cameFrom(flag, path)
	}
	if err := c.cmd.ValidateFlagGroups(); err != nil {
		return fmt.Errorf("--file %s and the flags together: %w", path, err)
	}
	return nil
}

// saidBy are the values for which no flag is set and that a hand-off has said, by the names of the flags. It is called before the record of
// this run goes into the hand-off.
func (t typed) saidBy(h *handoff.File) map[string]string {
	values := map[string]string{
		"name": h.Name, "location": h.Location, "cloud": h.Cloud, "infra-id": h.InfraID, "base-domain": t.infra.BaseDomain,
		"external-dns-domain": t.cluster.Publishing.ExternalDNSDomain, "oidc-issuer-url": t.cluster.Identity.IssuerURL,
		"sa-token-issuer-private-key-path": t.signingKey, "infra-json": t.infraJSON,
		"resource-group-name": t.infra.ResourceGroup, "vnet-id": t.infra.VNetID, "subnet-id": t.infra.SubnetID,
		"network-security-group-id": t.infra.NSGID, "private-dns-zone-id": t.infra.PrivateZoneID, "public-ip-id": t.infra.PublicIPID,
		"load-balancer-id": t.infra.LoadBalancerID, "apps-zone": t.infra.AppsZone,
	}
	if t.infra.Identities != nil && !t.managed.Given() {
		values["workload-identities-file"] = "identities.clients"
	}
	for flag, value := range values {
		if value == "" || t.given(flag) {
			delete(values, flag)
		}
	}
	return values
}

// saidByInfra are the values of infrastructure that is there: they are those of the cluster, whatever flags say. Members stand for what is
// no single value.
func saidByInfra(out *infra.Output) map[string]string {
	values := map[string]string{
		"infra-id": out.InfraID, "location": out.Region, "base-domain": out.BaseDomain, "resource-group-name": out.ResourceGroupName,
		"vnet-id": out.VNetID, "subnet-id": out.SubnetID, "network-security-group-id": out.SecurityGroupID,
		"private-dns-zone-id": out.PrivateZoneID,
	}
	switch {
	case out.ControlPlaneMIs != nil:
		values["managed-identities-file"], values["data-plane-identities-file"] = "controlPlaneMIs.controlPlane", "controlPlaneMIs.dataPlane"
	case out.WorkloadIdentities != nil:
		values["workload-identities-file"] = "workloadIdentities"
	}
	return values
}

// saidByCredentials is a value that the credentials file has, and that of the hand-off where that has the same.
func (c *creation) saidByCredentials(what, value, credentials, handed string) clusterfile.Origin {
	if strings.EqualFold(value, handed) {
		return clusterfile.Origin{Flag: what, Value: value, From: c.record.Path}
	}
	return clusterfile.Origin{Flag: what, Value: value, From: credentials}
}

// tellOrigins prints where each value comes from: a flag, the file, an answer, the hand-off or the file of the infrastructure, a default,
// or that it is made up.
func (c *creation) tellOrigins(r resolved) error {
	t := r.typed
	rows := clusterfile.Origins(c.cmd.Flags(), c.origins)
	say := func(from string, values map[string]string) {
		for i, row := range rows {
			if value := values[row.Flag]; value != "" && (row.From == clusterfile.FromDefault || value != row.Value) {
				rows[i].Value, rows[i].From = value, from
			}
		}
	}
	say(c.record.Path, t.handed.values)
	if t.infraJSON != "" {
		out := t.handed.infra
		if out == nil {
			var err error
			if out, err = infra.ReadOutput(t.infraJSON); err != nil {
				return err
			}
		}
		say(t.infraJSON, saidByInfra(out))
	}
	if t.releaseStream != "" {
		say("release-stream", map[string]string{"release-image": r.cluster.ReleaseImage})
	}
	if !t.given("infra-id") && t.handed.values["infra-id"] == "" && t.infraJSON == "" {
		say("made up", map[string]string{"infra-id": r.infra.InfraID})
	}
	rows = append(rows, c.saidByCredentials("subscription", r.session.SubscriptionID, t.Credentials, t.handed.subscriptionID),
		c.saidByCredentials("tenant", r.session.TenantID, t.Credentials, t.handed.tenantID))
	table := printing.Table{Head: []string{"VALUE", "IS", "FROM"}}
	for _, row := range rows {
		table.Rows = append(table.Rows, printing.Plain(row.Flag, row.Value, row.From))
	}
	out := c.cmd.OutOrStdout()
	fmt.Fprintln(out)
	return table.Print(out, printing.PainterFor(out))
}
