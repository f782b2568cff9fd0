// Package wire names what the installer, the operator and the API server agree on for the conversion of objects.
package wire

const (
	// Path is where the definitions send their objects.
	Path = "/convert"
	// ServiceName is the Service that leads to the webhook.
	ServiceName = "operator"
	// ServicePort is the port of ServiceName.
	ServicePort = 443
	// InstalledLabel marks the definitions of an installation; the operator looks at no others.
	InstalledLabel = "app.kubernetes.io/part-of"
	// InstalledValue is its value.
	InstalledValue = "hypershift"
)
