package apiserver

// egressConfig sends what goes into the guest through the konnectivity server; etcd and the control plane are reached directly.
const egressConfig = `apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: controlplane
  connection:
    proxyProtocol: Direct
- name: etcd
  connection:
    proxyProtocol: Direct
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp:
        url: https://konnectivity-server-local:8090
        tlsConfig:
          caBundle: ` + certDir + `/konnectivity-ca/ca.crt
          clientCert: ` + certDir + `/konnectivity-client/tls.crt
          clientKey: ` + certDir + `/konnectivity-client/tls.key
`

// auditPolicy is the profile Default: without noise, writes of identity objects with their bodies, the rest as metadata.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  resources:
  - group: ""
    resources: [events]
- level: None
  resources:
  - group: apiserver.openshift.io
    resources: [apirequestcounts, "apirequestcounts/*"]
- level: None
  users: ["system:kube-proxy"]
  verbs: [watch]
  resources:
  - group: ""
    resources: [endpoints, services, "services/status"]
- level: None
  userGroups: ["system:authenticated", "system:unauthenticated"]
  nonResourceURLs: ["/api*", "/version", "/healthz", "/readyz", "/livez"]
- level: RequestResponse
  verbs: [create, update, patch, delete]
  resources:
  - group: user.openshift.io
    resources: [identities]
  - group: oauth.openshift.io
    resources: [oauthaccesstokens, oauthauthorizetokens]
- level: Metadata
`
