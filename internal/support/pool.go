package support

var poolRules = []rule{
	{path: "arch", is: oneOf("ppc64le", "s390x"), verdict: Refused, why: "Azure has no virtual machines of architecture VALUE; use amd64 or arm64"},
	{path: "tuningConfig", unless: nodeTuning, verdict: Refused, why: "no node tuning operator runs, so the nodes would not be tuned; leave it out"},
	{path: "platform.agent", verdict: Inert, why: otherBlock},
	{path: "platform.aws", verdict: Inert, why: otherBlock},
	{path: "platform.ibmcloud", verdict: Inert, why: otherBlock},
	{path: "platform.kubevirt", verdict: Inert, why: otherBlock},
	{path: "platform.powervs", verdict: Inert, why: otherBlock},
}
