package cluster

import (
	"context"

	"github.com/hypershift-on-azure/hypershift/internal/cli/interview"
	"github.com/hypershift-on-azure/hypershift/internal/contract"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
)

// ask finds what a cluster cannot be made without and nobody has said, and asks for what it cannot find. What flags, --file and --from have said is
// known already.
func (c *creation) ask(t *typed) error {
	known, err := c.complete(*t)
	if err != nil {
		return err
	}
	has := known.infraJSON != ""
	var questions []interview.Question
	for _, q := range []struct {
		missing bool
		interview.Question
	}{
		{known.cluster.Name == "", interview.Question{Flag: "name", Text: "Name of the hosted cluster"}},
		{known.Credentials == "", interview.Question{Flag: "azure-creds", Text: "Azure credentials file", Variable: contract.AzureCredsEnv, Files: []string{"azure-credentials.json"}}},
		{known.pullSecret == "", interview.Question{Flag: "pull-secret", Text: "Pull secret, a dockerconfigjson file", Variable: "PULL_SECRET", Files: []string{"pull-secret.json"}}},
		{known.cluster.ReleaseImage == "" && known.releaseStream == "", interview.Question{Flag: "release-image", Text: "Release payload", Variable: "RELEASE_IMAGE"}},
		{!c.cmd.Flag("location").Changed && !has && c.record.Path == "", interview.Question{Flag: "location", Text: "Azure region", Variable: "LOCATION", Choices: func(ctx context.Context) ([]string, error) { return c.locations(ctx, t) }}},
		{known.infra.BaseDomain == "" && !has, interview.Question{Flag: "base-domain", Text: "Base domain", Variable: "BASE_DOMAIN", Choices: func(ctx context.Context) ([]string, error) { return c.zones(ctx, t) }}},
		{known.workloadIdentities == "" && !has && known.infra.Identities == nil && !known.managed.Given(), interview.Question{Flag: "workload-identities-file", Text: "Workload identities file", Files: []string{"workload-identities.json"}}},
		{known.cluster.Identity.IssuerURL == "", interview.Question{Flag: "oidc-issuer-url", Text: "URL of the OIDC issuer", Variable: "OIDC_ISSUER_URL"}},
		{known.signingKey == "", interview.Question{Flag: "sa-token-issuer-private-key-path", Text: "Private key of the issuer", Files: []string{"serviceaccount-signer.private"}}},
	} {
		if q.missing {
			questions = append(questions, q.Question)
		}
	}
	answers, err := interview.Conduct(c.cmd, c.who, questions)
	for flag, from := range answers {
		c.cameFrom(flag, from)
	}
	return err
}

func (c *creation) locations(ctx context.Context, t *typed) ([]string, error) {
	session, err := t.Session()
	if err != nil {
		return nil, err
	}
	return session.Locations(ctx)
}

// zones are the public zones of the subscription: the cluster's names are published beneath one of them.
func (c *creation) zones(ctx context.Context, t *typed) ([]string, error) {
	session, err := t.Session()
	if err != nil {
		return nil, err
	}
	all, err := session.List(ctx, "/subscriptions/"+session.SubscriptionID+"/providers/"+node.TypeDNS, node.APIDNS, "")
	var names []string
	for _, zone := range all {
		names = append(names, zone.Name)
	}
	return names, err
}
