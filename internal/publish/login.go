package publish

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	hyperv1 "github.com/hypershift-on-azure/hypershift/api/v1beta1"
	"github.com/hypershift-on-azure/hypershift/internal/component"
)

// login is where users log in: only payloads of OpenShift have a server for it.
var login = published{hyperv1.OAuthServer, OAuthRoute, OAuthService, OAuthPort}

// LoginObjects are the Service and Routes in front of the OAuth server.
func LoginObjects(hcp *hyperv1.HostedControlPlane, ingressDomain string) []client.Object {
	plan := PlanOf(hcp)
	s := service(hcp, OAuthService, OAuthService, OAuthPort, OAuthPort, hyperv1.OAuthServer)
	if plan.Strategy(hyperv1.OAuthServer).Type == hyperv1.LoadBalancer {
		s.Spec.Ports[0].Port = httpsPort
		if !plan.Public() {
			if s.Annotations == nil {
				s.Annotations = map[string]string{}
			}
			s.Annotations[internalLoadBalancer] = "true"
		}
	}
	objects := []client.Object{s}
	if r, ok := routeOf(hcp, plan, login); ok {
		objects = append(objects, r.object(hcp, ingressDomain))
	}
	for _, obj := range objects {
		component.Own(hcp, obj)
	}
	return objects
}

// ReadLogin looks up where users log in, and says for people what that waits for.
func ReadLogin(ctx context.Context, c client.Reader, hcp *hyperv1.HostedControlPlane) (Endpoint, string, error) {
	if r, ok := routeOf(hcp, PlanOf(hcp), login); ok && r.router != "" {
		return readOwnRoute(ctx, c, hcp, r)
	}
	return read(ctx, c, hcp, login)
}
