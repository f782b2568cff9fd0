package contract

// Subcommands of control-plane-operator that pods call. Those that are workloads of their own have the workload's name.
const (
	CommandBootstrap        = "kas-bootstrap"
	CommandCopyProgram      = "copy-program"
	CommandHTTPSProxy       = "konnectivity-https-proxy"
	CommandKMSProvider      = "azure-kms-provider"
	CommandProber           = "availability-prober"
	CommandResolveDNS       = "resolve-dns"
	CommandSOCKSProxy       = "konnectivity-socks5-proxy"
	CommandSyncFeatureGates = "sync-fg-configmap"
	CommandTokenMinter      = "token-minter"
)

// Subcommands of etcd-helper that pods call.
const (
	CommandBackUp          = "back-up"
	CommandReplaceMember   = "replace-member"
	CommandResetMember     = "reset-member"
	CommandRestoreSnapshot = "restore-snapshot"
)
