package preflight

import (
	"fmt"
	"regexp"
	"strings"
)

// Where a row is looked at. All of it is part of preflight cluster; the first two have commands of their own.
const (
	AtAzure      = "azure"
	AtManagement = "management"
	AtRelease    = "release"
	AtCluster    = "cluster"
)

// Row is something that is looked at. Each check bears the name of a row.
type Row struct {
	// Name of its checks; {…} stands for what differs from one check to another.
	Name string
	// At is AtAzure, AtManagement, AtRelease or AtCluster.
	At string
	// Worst is the worst that it comes to.
	Worst Status
	// Finding is what one of its checks says where something is wrong, and Remedy what to do then; {…} as in Name.
	Finding, Remedy string
}

// Rows are all that is looked at. A test provokes each of them.
func Rows() []Row {
	return []Row{
		{"credentials", AtAzure, Fail, "{words of Entra}", "{as the message says}"},
		{"subscription", AtAzure, Fail, "{subscription} is Disabled", "have its owner enable it; `az account list --all` prints the state"},
		{"clock", AtAzure, Fail, "{time} from Azure's", "set this machine's clock (timedatectl set-ntp true): Entra refuses tokens whose times are wrong"},
		{"region", AtAzure, Fail, "\"{region}\" is no region of the subscription, which has {regions}", "name one of them by --location"},
		{"resource provider {namespace}", AtAzure, Fail, "is NotRegistered; the first write registers it, which takes minutes", "register it now: `az provider register --wait --namespace {namespace}`"},
		{"rights on {scope}", AtAzure, Fail, "no role allows, or a role's notActions take away: {actions}", "give the service principal the role Contributor there{and more}"},
		{"rights", AtAzure, Pass, "", ""},
		{"deny assignments", AtAzure, Skip, "{words of Azure}", "{as the message says}"},
		{"deny assignments on {scope}", AtAzure, Fail, "\"{name}\" on {scope} denies {actions}", "have who made it exclude the service principal, or take another resource group: no role outweighs a deny assignment"},
		{"policies", AtAzure, Pass, "", ""},
		{"policies on {type}", AtAzure, Fail, "{assignment} would deny it", "have who assigned it exempt the cluster's resource groups (`az policy exemption create`), or meet its condition: --location, --resource-group-tags, --instance-type say what is made"},
		{"machine size {size}", AtAzure, Fail, "{region} has no such size", "choose one that `az vm list-skus --location {region} --resource-type virtualMachines` prints, by --instance-type"},
		{"quota of cores", AtAzure, Skip, "{words of Azure}", "{as the message says}"},
		{"quota of {family}", AtAzure, Fail, "{left} of {limit} {cores} are left; the machines need {count}", "free some, choose another size or --location, or ask for more: `az quota`, or a support request for {cores}"},
		{"quota of all cores", AtAzure, Fail, "{left} of {limit} Total Regional vCPUs are left; the machines need {count}", "free some, choose another size or --location, or ask for more: `az quota`, or a support request for Total Regional vCPUs"},
		{"quota of public addresses", AtAzure, Fail, "{left} of {limit} are left; a hosted cluster takes up to 3", "free some, or ask for more"},
		{"machine image", AtAzure, Fail, "{region} has no image {image}", "correct the --marketplace flags: `az vm image list --all --location {region} --publisher {publisher}` prints what there is"},
		{"marketplace terms", AtAzure, Fail, "nobody has accepted those of {image} in this subscription", "read and accept them: `az vm image terms accept --publisher {publisher} --offer {offer} --plan {sku} --subscription {subscription}`"},
		{"subnet", AtAzure, Fail, "there is no {subnet}", "name one that is there by --subnet-id"},
		{"room in the subnet", AtAzure, Fail, "{count} addresses are free, {count} are needed with one more for each pool that is upgraded", "name a larger subnet by --subnet-id, or take fewer machines"},
		{"delegation of the subnet", AtAzure, Fail, "it is kept for {service}, and takes no virtual machines", "name another one by --subnet-id"},
		{"route table {name}", AtAzure, Fail, "route {name} leads all that leaves to None: machines reach neither their control plane nor Azure", "delete that route, or have it lead somewhere"},
		{"subnet of the node pools", AtAzure, Fail, "there is no {subnet}", "name one that is there by --nodepool-subnet-id"},
		{"room in the subnet of the node pools", AtAzure, Fail, "{count} addresses are free, {count} are needed with one more for each pool that is upgraded", "name a larger subnet by --nodepool-subnet-id, or take fewer machines"},
		{"delegation of the subnet of the node pools", AtAzure, Fail, "it is kept for {service}, and takes no virtual machines", "name another one by --nodepool-subnet-id"},
		{"network security group of the subnet of the node pools", AtAzure, Warn, "the subnet has none: a load balancer of the Standard kind lets nothing in without one that allows it", "`az network vnet subnet update --ids SUBNET-ID --network-security-group NSG-ID` with that of --network-security-group-id"},
		{"network security group of the subnet", AtAzure, Warn, "the subnet has none: a load balancer of the Standard kind lets nothing in without one that allows it", "`az network vnet subnet update --ids SUBNET-ID --network-security-group NSG-ID` with that of --network-security-group-id"},
		{"network security group {name}", AtAzure, Fail, "there is no {group}", "name one that is there by --network-security-group-id"},
		{"network security group {name}: out to {port}", AtAzure, Fail, "rule {rule} denies it, and machines need it for: {purposes}", "allow outbound TCP {port} with a priority before that rule"},
		{"network security group {name}: in to 443", AtAzure, Warn, "rule {rule} denies it: nobody reaches the cluster's applications", "give that rule a later priority than 500, where the cloud provider's rules for load balancers begin"},
		{"names of resource groups", AtAzure, Warn, "are there, and not of this cluster: {groups}", "choose another --name or --infra-id: a destroy keeps what others have in these groups, and the cluster's parts lie among it"},
		{"private DNS zones of the network", AtAzure, Fail, "{zone} is linked to the virtual network and hides the cluster's names beneath {domain}", "unlink it, take another --name or domain, or give it by --private-dns-zone-id where it is meant for this cluster"},
		{"ranges of pods and Services", AtAzure, Fail, "{flag} {range} overlaps {range}{more}", "{as the message says}"},
		{"DNS zone of the base domain", AtAzure, Skip, "no base domain is named", "give --base-domain"},
		{"DNS zone {domain}", AtAzure, Fail, "the subscription has no public zone of this name: nobody publishes the names of the cluster's applications", "make it (`az network dns zone create`), name one that there is by --base-domain, or publish *.apps of the cluster yourself"},
		{"resource group of the DNS zone", AtAzure, Warn, "--dns-zone-rg-name is {group}, and the zone lies in {group}: the ingress identity may not write it", "give --dns-zone-rg-name {group}"},
		{"delegation of {zone}", AtAzure, Fail, "DNS says {servers}, the zone's servers are {servers}", "delegate the zone in its parent: `hypershift create dns azure --parent-zone-id ID` does; where this machine sees another DNS, ask the right server with --dns-resolver HOST:PORT"},
		{"DNS name {record}.{zone}", AtAzure, Warn, "has a record already, which the cluster will overwrite", "choose another --name or --base-domain-prefix, or delete the record of a cluster that is gone"},
		{"DNS zone of {domain}", AtAzure, Warn, "the subscription has no public zone that covers it", "make it with `hypershift create dns azure`, or see to it that ExternalDNS may write it in another subscription"},
		{"issuer", AtAzure, Skip, "no issuer is named", "give --oidc-issuer-url; `hypershift create oidc-issuer azure` makes one"},
		{"identities", AtAzure, Skip, "no workload identities are named", "give --workload-identities-file; `hypershift create iam azure` writes it"},
		{"issuer and identities", AtAzure, Fail, "{words of what could not be read}", "correct what the message names"},
		{"issuer discovery document", AtAzure, Fail, "{address} answers {status} to anyone who has not signed in", "run `hypershift create oidc-issuer azure` again; where public blobs are forbidden, see its {flag}"},
		{"issuer published key", AtAzure, Fail, "{count} keys are published and that of {file} is not among them", "run `hypershift create oidc-issuer azure` again; where public blobs are forbidden, see its {flag}"},
		{"issuer no other key", AtAzure, Fail, "{words about the keys}", "{as the message says}"},
		{"identity {name}", AtAzure, Fail, "no managed identity of the subscription has client id {id}", "run `hypershift create iam azure` again and use the file it writes"},
		{"federated credential {service account}", AtAzure, Fail, "no federated credential of the identity fits the cluster's tokens; check {field}", "run `hypershift create iam azure` again with this issuer"},
		{"token {service account}", AtAzure, Fail, "{words of Entra}", "{as the message says}"},
		{"role assignments", AtAzure, Warn, "nobody is asked to give the identities their roles in the groups that are made", "give --assign-service-principal-roles, or have them given: `hypershift create infra azure --assign-identity-roles`"},
		{"infrastructure {part}", AtAzure, Fail, "{words of Azure}", "{as the message says}"},
		{"role {name}", AtAzure, Fail, "{words of Azure}", "{as the message says}"},
		{"role {name} on {group}", AtAzure, Fail, "the identity does not hold role {role} on resource group {group}", "run `hypershift create infra azure {flag}` again"},
		{"access {name}", AtAzure, Fail, "{words of Azure}", "{as the message says}"},

		{"kind {kind}", AtManagement, Fail, "the management cluster does not know it", "install the operator: `hypershift install --limit-crd-install Azure`"},
		{"operator", AtManagement, Fail, "there is no Deployment {namespace}/operator", "install it: `hypershift install`, or name its namespace"},
		{"right to {verb} {resource}", AtManagement, Fail, "you may not, in namespace {namespace}", "have an administrator bind you a role with it in that namespace"},
		{"storage class of etcd", AtManagement, Fail, "no storage class is the default one; {there are}", "annotate one with storageclass.kubernetes.io/is-default-class=true, or name it by --etcd-storage-class"},
		{"room for a control plane", AtManagement, Warn, "{cores} CPU and {size} GiB are not asked for by pods; a control plane asks for about {cores} and {size}", "add nodes to the management cluster; pods that find no room stay Pending"},
		{"zones for three replicas", AtManagement, Warn, "nodes are in {count} zones: {zones}", "add nodes in other zones, or take --control-plane-availability-policy SingleReplica: replicas without a zone of their own stay Pending"},

		{"build of the operator", AtCluster, Fail, "{words about the revisions}", "use the program of the operator's build, or install this one's"},
		{"name of the hosted cluster", AtCluster, Fail, "HostedCluster {namespace}/{name} is there, and is this one", "`hypershift status` says how it is; create makes only what is missing"},
		{"ranges of the management cluster", AtCluster, Fail, "{words about the ranges}", "choose another --cluster-cidr or --service-cidr"},
		{"programs of the release", AtCluster, Fail, "{flag}: {what no program of the payload acts on}", "leave the flags out, or name a payload of OpenShift"},
		{"release stream {stream}", AtCluster, Fail, "{words of the registry}", "name another --release-stream, or a --release-image"},
		{pullSecretCheck, AtRelease, Fail, "{words of the registry}", "give a pull secret with credentials for this registry by --pull-secret"},
		{payloadCheck, AtRelease, Fail, "{image} is for {architecture}, and the machines are {architecture}", "give a payload for several architectures, or another --arch"},
		{versionCheck, AtRelease, Fail, "{version}; the operator runs {versions}", "give a release of one of these minor versions, or install another operator"},
	}
}

// placeholder stands for what differs from one check to another.
var placeholder = regexp.MustCompile(`\{[^}]*\}`)

const preamble = "# Preflight\n\n" +
	"Generated from the rows of `internal/preflight` by hack/generate.sh. `hypershift preflight azure` and `hypershift preflight management` look at theirs, and `hypershift preflight cluster` at all;\n" +
	"nothing is written. A row has one of the things that it finds, with what to do then; a test provokes each. What could not be looked at is skipped, and said.\n"

// titles of the parts of the page.
var titles = []struct{ at, title string }{
	{AtAzure, "`preflight azure`"}, {AtManagement, "`preflight management`"}, {AtRelease, "The release, by `preflight cluster`"}, {AtCluster, "The cluster, by `preflight cluster`"},
}

// Markdown is the table of rows as a page.
func Markdown() (string, error) {
	var page strings.Builder
	page.WriteString(preamble)
	cell := func(text string) string {
		text = strings.ReplaceAll(text, "|", "\\|")
		return placeholder.ReplaceAllStringFunc(text, func(name string) string {
			return strings.ReplaceAll(strings.ToUpper(strings.Trim(name, "{}")), " ", "-")
		})
	}
	for _, part := range titles {
		fmt.Fprintf(&page, "\n## %s\n\n| Check | At worst | Such as | What to do |\n|---|---|---|---|\n", part.title)
		for _, row := range Rows() {
			if row.At == part.at {
				fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", cell(row.Name), row.Worst, cell(row.Finding), cell(row.Remedy))
			}
		}
	}
	return page.String(), nil
}
