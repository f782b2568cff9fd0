package support

import hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"

var poolRules = []rule{
	{path: "arch", is: oneOf("ppc64le", "s390x"), verdict: Refused, why: "Azure has no virtual machines of architecture VALUE; use amd64 or arm64"},
	{path: "management.upgradeType", is: oneOf(string(hyperv1.UpgradeTypeInPlace)), verdict: Refused,
		why: "upgradeType InPlace needs a machine-config-operator in the release payload, which is not supported; use Replace"},
	{path: "tuningConfig", verdict: Refused, why: "no node tuning operator runs, so the nodes would not be tuned; leave it out"},
	{path: "platform.agent", verdict: Inert, why: otherBlock},
	{path: "platform.aws", verdict: Inert, why: otherBlock},
	{path: "platform.ibmcloud", verdict: Inert, why: otherBlock},
	{path: "platform.kubevirt", verdict: Inert, why: otherBlock},
	{path: "platform.powervs", verdict: Inert, why: otherBlock},
}
