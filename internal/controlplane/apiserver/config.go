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
