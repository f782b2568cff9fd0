package azure_test

import "testing"

// An address and a load balancer are of one SKU, Standard addresses stay, and an interface is where its network is.
func TestSKUsAndRegionsOfNetworks(t *testing.T) {
	s := newSandbox(t)
	s.group("rg")
	subnet := *s.vnet("rg").ID
	basic, standard, lb := netRP+"publicIPAddresses/basic", netRP+"publicIPAddresses/standard", netRP+"loadBalancers/lb"
	address := func(sku, method string) string {
		return `{"location":"eastus","sku":{"name":"` + sku + `"},"properties":{"publicIPAllocationMethod":"` + method + `"}}`
	}
	balancer := func(sku, ip string) string {
		return `{"location":"eastus","sku":{"name":"` + sku + `"},"properties":{"frontendIPConfigurations":[{"name":"fe","properties":{"publicIPAddress":{"id":"` + ip + `"}}}]}}`
	}
	s.refusals([]refusal{{"PUT", standard, address("Standard", "Dynamic"), 400, "StandardSkuPublicIPAddressesMustBeStatic", "Standard sku publicIp " + standard + " must have AllocationMethod set to Static."}})
	s.good("PUT", standard, address("Standard", "Static"))
	s.good("PUT", basic, address("Basic", "Dynamic"))
	s.refusals([]refusal{
		{"PUT", lb, balancer("Standard", basic), 400, "PublicIPAndLBSkuDoNotMatch", "Standard sku load balancer " + lb + " cannot reference Basic sku publicIP " + basic + "."},
		{"PUT", lb, balancer("Basic", standard), 400, "PublicIPAndLBSkuDoNotMatch", "cannot reference Standard sku publicIP"},
		{"PUT", netRP + "networkInterfaces/far", `{"location":"westus","properties":{"ipConfigurations":[{"name":"ip","properties":{"subnet":{"id":"` + subnet + `"}}}]}}`, 400, "InvalidResourceReference", "both resources are in the same region"},
	})
	s.good("PUT", lb, balancer("Standard", standard))
}
