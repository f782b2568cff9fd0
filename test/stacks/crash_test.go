package stacks_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/hypershift-on-azure/hypershift/internal/azure"
	"github.com/hypershift-on-azure/hypershift/internal/provision"
	"github.com/hypershift-on-azure/hypershift/internal/provision/dns"
	"github.com/hypershift-on-azure/hypershift/internal/provision/iam"
	"github.com/hypershift-on-azure/hypershift/internal/provision/infra"
	"github.com/hypershift-on-azure/hypershift/internal/provision/issuer"
	"github.com/hypershift-on-azure/hypershift/internal/provision/node"
	"github.com/hypershift-on-azure/hypershift/sandbox/azure/fault"
)

// under is a stack under test; prepare makes what it needs to find.
type under struct {
	prepare         func(context.Context, *azure.Session) error
	create, destroy func(context.Context, *azure.Session) error
	composed        bool // of stacks that are tested themselves
}

// allStops has composed stacks stopped at every call as well, instead of at one in seven.
var allStops = flag.Bool("all-stops", false, "stop composed stacks at every call")

const composedStride = 7

func (u under) stride() int {
	if u.composed && !*allStops {
		return composedStride
	}
	return 1
}

const (
	cluster = "demo"
	infraID = "demo-x"
)

func issuerStack(key string) under {
	o := issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: key}
	return under{
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := issuer.Create(ctx, s, o, nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error {
			_, err := issuer.Destroy(ctx, s, o, nil)
			return err
		}}
}

var iamOptions = iam.Options{Name: cluster, InfraID: infraID, ResourceGroup: common, Location: location,
	IssuerURL: "https://issuer.blob.core.windows.net/demo", EnableKMS: true}

func iamStack() under {
	return under{
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := iam.Create(ctx, s, iamOptions, nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error {
			return iam.Destroy(ctx, s, iamOptions, nil)
		}}
}

// infraStack uses the identities of the IAM stack. Its destroy knows nothing but the names.
func infraStack(change func(*infra.Options, *azure.Session), destroy infra.DestroyOptions) under {
	o := infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true,
		Tags: map[string]string{"team": "a"}}
	destroy.Name, destroy.InfraID = cluster, infraID
	return under{
		prepare: func(ctx context.Context, s *azure.Session) (err error) {
			if change != nil {
				change(&o, s)
			}
			o.Identities, err = iam.Create(ctx, s, iamOptions, nil)
			return err
		},
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := infra.Create(ctx, s, o, nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error { return infra.Destroy(ctx, s, destroy, nil) }}
}

// broughtNetwork has the cluster live in the user's network.
func broughtNetwork(o *infra.Options, s *azure.Session) {
	o.VNetID = s.ResourceID("theirs", "Microsoft.Network/virtualNetworks", "vnet")
	o.SubnetID = o.VNetID + "/subnets/workers"
	o.NSGID = s.ResourceID("theirs", "Microsoft.Network/networkSecurityGroups", "nsg")
}

// broughtGroup has everything in the user's group.
func broughtGroup(o *infra.Options, _ *azure.Session) { o.ResourceGroup = "theirs" }

// dnsOptions are of a zone for which ExternalDNS signs in by workload identity. Where the resolver is, is known once the world is.
func dnsOptions(s *azure.Session) dns.Options {
	return dns.Options{Zone: "clusters." + domain, ResourceGroup: common, Location: location, ManagementURL: "https://issuer.example.com",
		Resolver: resolverOf(s.SubscriptionID), DelegationWait: time.Minute}
}

func dnsStack() under {
	return under{
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := dns.Create(ctx, s, dnsOptions(s), nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error {
			return dns.Destroy(ctx, s, dnsOptions(s), false, nil)
		}}
}

// dnsByServicePrincipal makes an application in the directory, and a file with its secret.
func dnsByServicePrincipal(file string) under {
	options := func(s *azure.Session) dns.Options {
		o := dnsOptions(s)
		o.ManagementURL, o.ServicePrincipal, o.CredentialsPath = "", "ExternalDnsServicePrincipal", file
		return o
	}
	return under{
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := dns.Create(ctx, s, options(s), nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error {
			err := dns.Destroy(ctx, s, options(s), false, nil)
			return errors.Join(err, os.RemoveAll(file)) // the secret in it is of an application that is gone
		}}
}

// wholePhase is everything in one run; each of the four parts is destroyed as by its own command.
func wholePhase(key string) under {
	network := infraStack(nil, infra.DestroyOptions{})
	parts := []under{network, dnsStack(), iamStack(), issuerStack(key)}
	return under{composed: true,
		create: func(ctx context.Context, s *azure.Session) error {
			_, err := provision.CreatePrerequisites(ctx, s, provision.PrerequisitesOptions{
				Issuer: issuer.Options{Name: cluster, ResourceGroup: common, Location: location, PrivateKey: key},
				IAM:    iamOptions, DNS: dnsOptions(s),
				Infra: infra.Options{Name: cluster, InfraID: infraID, BaseDomain: domain, Location: location, AssignRoles: true},
			}, nil)
			return err
		},
		destroy: func(ctx context.Context, s *azure.Session) error {
			for _, part := range parts {
				if err := part.destroy(ctx, s); err != nil {
					return err
				}
			}
			return nil
		}}
}

const byServicePrincipal = "dns by service principal"

// stacks by name; each site builds its own.
func stacks(t testing.TB) map[string]func() under {
	key := signer(t)
	return map[string]func() under{
		"dns": dnsStack,
		byServicePrincipal: func() under {
			return dnsByServicePrincipal(filepath.Join(t.TempDir(), "azure_mgmt.json"))
		},
		"all in one run":             func() under { return wholePhase(key) },
		"issuer":                     func() under { return issuerStack(key) },
		"iam":                        iamStack,
		"infra":                      func() under { return infraStack(nil, infra.DestroyOptions{}) },
		"infra in a brought network": func() under { return infraStack(broughtNetwork, infra.DestroyOptions{}) },
		"infra in a brought group": func() under {
			return infraStack(broughtGroup, infra.DestroyOptions{ResourceGroup: "theirs"})
		},
	}
}

// site is a world in which a stack is created and destroyed again and again.
type site struct {
	*world
	stack                 under
	base, whole           map[string]string
	createCalls, endCalls int
}

func newSite(t testing.TB, u under) *site {
	s := &site{world: newWorld(t), stack: u}
	if u.prepare != nil {
		_, err := s.process(0, false, u.prepare)
		must(t, err)
	}
	s.base = s.dump()
	c, err := s.process(0, false, u.create)
	must(t, err)
	s.createCalls, s.whole = c.calls, s.dump()
	if len(s.whole) == len(s.base) {
		t.Fatal("the stack made nothing")
	}
	for key, text := range s.base {
		if s.whole[key] != text {
			t.Errorf("%s was there before and has changed", key)
		}
	}
	again, err := s.process(0, false, u.create)
	must(t, err)
	if len(again.writes) != 0 {
		t.Errorf("a run that had nothing to do wrote: %v", again.writes)
	}
	c, err = s.process(0, false, u.destroy)
	must(t, err)
	s.endCalls = c.calls
	if d := differences(s.base, s.dump()); d != "" {
		t.Fatalf("after an undisturbed destroy:\n%s", d)
	}
	return s
}

// stop is a call at which a process ends.
type stop struct {
	call   int
	effect bool
}

func (p stop) String() string {
	return fmt.Sprintf("call %d, %s", p.call, map[bool]string{false: "before", true: "after"}[p.effect]+" it took effect")
}

// converge stops the creation and runs it again, then stops the destruction and runs it again.
func (s *site) converge(p stop) error {
	_, _ = s.process(p.call, p.effect, s.stack.create)
	if _, err := s.process(0, false, s.stack.create); err != nil {
		return fmt.Errorf("creating again: %w", err)
	}
	if d := differences(s.whole, s.dump()); d != "" {
		return fmt.Errorf("created again:\n%s", d)
	}
	_, _ = s.process(p.call, p.effect, s.stack.destroy)
	return s.end("destroying again")
}

// abandon stops the creation and destroys what is there.
func (s *site) abandon(p stop) error {
	_, _ = s.process(p.call, p.effect, s.stack.create)
	return s.end("destroying what a stopped creation left")
}

func (s *site) end(what string) error {
	if _, err := s.process(0, false, s.stack.destroy); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if d := differences(s.base, s.dump()); d != "" {
		return fmt.Errorf("%s:\n%s", what, d)
	}
	return nil
}

// TestStoppedAtEveryCall ends each real stack before and after each of its calls, in creation and in destruction.
func TestStoppedAtEveryCall(t *testing.T) {
	var total atomic.Int64
	t.Run("stacks", func(t *testing.T) {
		for name, build := range stacks(t) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				total.Add(int64(stopEverywhere(t, build)))
			})
		}
	})
	t.Logf("%d stop points in all", total.Load())
}

func stopEverywhere(t *testing.T, build func() under) int {
	sites := 6
	if build().composed {
		sites = 3
	}
	var all []*site
	for range sites {
		all = append(all, newSite(t, build()))
	}
	stops := make(chan stop)
	var wg sync.WaitGroup
	var failed atomic.Bool
	for _, s := range all {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for p := range stops {
				for what, run := range map[string]func(stop) error{"run again": s.converge, "given up": s.abandon} {
					if err := run(p); err != nil && !failed.Swap(true) {
						t.Errorf("%s, %s: %v", p, what, err)
					}
				}
			}
		}()
	}
	createCalls, endCalls := all[0].createCalls, all[0].endCalls
	stride := all[0].stack.stride()
	for call := 1; call <= max(createCalls, endCalls); call += stride {
		if failed.Load() {
			break
		}
		stops <- stop{call, false}
		stops <- stop{call, true}
	}
	close(stops)
	wg.Wait()
	points := 2 * ((createCalls+stride-1)/stride + (endCalls+stride-1)/stride)
	t.Logf("%d calls to create, %d to destroy, %d stop points", createCalls, endCalls, points)
	return points
}

// TestTwoRunsAtOnce has two people create, and then destroy, the same stack at the same time. Not so the service principal: the directory
// has no unique names, so that both may make an application; the next run then names the two and stops.
func TestTwoRunsAtOnce(t *testing.T) {
	all := stacks(t)
	delete(all, byServicePrincipal)
	for name, build := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := build()
			s := newSite(t, u)
			for what, run := range map[string]func(context.Context, *azure.Session) error{"create": u.create, "destroy": u.destroy} {
				if what == "destroy" {
					_, err := s.process(0, false, u.create)
					must(t, err)
				}
				errs := make(chan error, 2)
				for range 2 {
					go func() {
						_, err := s.process(0, false, run)
						errs <- err
					}()
				}
				for range 2 {
					if err := <-errs; err != nil {
						t.Errorf("%s: %v", what, err)
					}
				}
				want := map[string]map[string]string{"create": s.whole, "destroy": s.base}[what]
				if d := differences(want, s.dump()); d != "" {
					t.Errorf("after two runs of %s:\n%s", what, d)
				}
			}
		})
	}
}

// TestStaleAssignmentIsReplaced makes the identities anew, which gives them other principals, under an infrastructure that stays.
func TestStaleAssignmentIsReplaced(t *testing.T) {
	s := newSite(t, infraStack(nil, infra.DestroyOptions{}))
	iam := iamStack()
	for _, step := range []func(context.Context, *azure.Session) error{s.stack.create, iam.destroy, s.stack.prepare, s.stack.create} {
		_, err := s.process(0, false, step)
		must(t, err)
	}
	if d := differences(s.whole, s.dump()); d != "" {
		t.Error(d)
	}
}

// TestVanishedGroupCountsAsDestroyed deletes groups behind our back.
func TestVanishedGroupCountsAsDestroyed(t *testing.T) {
	s := newSite(t, infraStack(nil, infra.DestroyOptions{}))
	_, err := s.process(0, false, s.stack.create)
	must(t, err)
	_, err = s.process(0, false, func(ctx context.Context, session *azure.Session) error {
		for _, name := range []string{"demo-demo-x", "demo-vnet-demo-x", "demo-nsg-demo-x"} {
			if err := session.Delete(ctx, session.GroupID(name), "2021-04-01"); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	must(t, s.end("destroying what is gone"))
}

// TestUntaggedGroupsGoOnlyWhenAdopted stands for infrastructure that another tool made with the same names.
func TestUntaggedGroupsGoOnlyWhenAdopted(t *testing.T) {
	s := newSite(t, infraStack(nil, infra.DestroyOptions{}))
	put := func(id string, body azure.Resource) {
		_, err := s.process(0, false, func(ctx context.Context, session *azure.Session) error {
			_, err := session.Put(ctx, id, "2021-04-01", body)
			return err
		})
		must(t, err)
	}
	put(s.group("demo-demo-x"), azure.Resource{Location: location})
	lb := s.group("demo-demo-x") + "/providers/Microsoft.Network/networkSecurityGroups/demo-demo-x-nsg"
	put(lb, azure.Resource{Location: location})
	before := s.dump()
	if _, err := s.process(0, false, s.stack.destroy); err == nil {
		t.Error("destroy says nothing about a group that it kept")
	}
	if d := differences(before, s.dump()); d != "" {
		t.Errorf("without --adopt:\n%s", d)
	}
	var shown []string
	adopting := infraStack(nil, infra.DestroyOptions{Adopt: true, Show: func(a infra.Adoption) { shown = append(shown, a.Resources...) }})
	_, err := s.process(0, false, adopting.destroy)
	must(t, err)
	if len(shown) != 1 || shown[0] != lb {
		t.Errorf("shown: %v", shown)
	}
	if d := differences(s.base, s.dump()); d != "" {
		t.Errorf("with --adopt:\n%s", d)
	}
}

// TestGroupOfTheUserGoesOnlyWhenAsked destroys with the flag that deletes the whole group.
func TestGroupOfTheUserGoesOnlyWhenAsked(t *testing.T) {
	u := infraStack(broughtGroup, infra.DestroyOptions{ResourceGroup: "theirs", DeleteResourceGroup: true})
	w := newWorld(t)
	for _, step := range []func(context.Context, *azure.Session) error{u.prepare, u.create, u.destroy} {
		_, err := w.process(0, false, step)
		must(t, err)
	}
	for key := range w.dump() {
		if uuid.Validate(key) == nil || key == "arm "+w.group("theirs") {
			t.Errorf("%s is left", key)
		}
	}
}

// TestOddAnswersMakeNoDifference has Azure answer in its less usual ways: lists in pages, ids in another case.
func TestOddAnswersMakeNoDifference(t *testing.T) {
	for name, build := range stacks(t) {
		for _, preset := range []string{"paging", "id-case"} {
			t.Run(name+" with "+preset, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, build())
				_, err := s.server.Faults().Add(fault.Rule{Preset: preset})
				must(t, err)
				_, err = s.process(0, false, s.stack.create)
				must(t, err)
				if d := differences(s.whole, s.dump()); d != "" {
					t.Errorf("created:\n%s", d)
				}
				again, err := s.process(0, false, s.stack.create)
				must(t, err)
				if len(again.writes) != 0 {
					t.Errorf("a run that had nothing to do wrote: %v", again.writes)
				}
				must(t, s.end("destroying"))
			})
		}
	}
}

// TestFailuresOnTheWayConverge loses answers, refuses and resets while the stack is made and taken down.
func TestFailuresOnTheWayConverge(t *testing.T) {
	for name, build := range stacks(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, build())
			for seed, preset := range []string{"lost-reply", "reset", "conflict", "server-error"} {
				_, err := s.server.Faults().Add(fault.Rule{Preset: preset, Plane: fault.ARM, Chance: 0.05, Seed: uint64(seed + 1), Count: 6})
				must(t, err)
			}
			_, err := s.process(0, false, s.stack.create)
			must(t, err)
			if d := differences(s.whole, s.dump()); d != "" {
				t.Errorf("created:\n%s", d)
			}
			must(t, s.end("destroying"))
		})
	}
}

// TestPreservedGroupIsEmptied: a group of our own stays when that is asked for, with nothing of ours in it.
func TestPreservedGroupIsEmptied(t *testing.T) {
	u := infraStack(nil, infra.DestroyOptions{PreserveResourceGroup: true})
	w := newWorld(t)
	var before map[string]string
	for _, step := range []func(context.Context, *azure.Session) error{u.prepare, u.create, u.destroy} {
		if before == nil {
			_, err := w.process(0, false, step)
			must(t, err)
			before = w.dump()
			continue
		}
		_, err := w.process(0, false, step)
		must(t, err)
	}
	var left []string
	for key := range w.dump() {
		if before[key] == "" {
			left = append(left, key)
		}
	}
	if len(left) != 1 || !strings.EqualFold(left[0], "arm "+w.group(node.MainGroup(cluster, infraID))) {
		t.Errorf("left: %v, want the main group alone", left)
	}
}

// TestVolumesStayWhenAsked: the disk of a volume that the hosted cluster has not removed goes with the main group, which is told, or stays
// with it; then everything else goes.
func TestVolumesStayWhenAsked(t *testing.T) {
	for keep, want := range map[bool]string{true: "stays for what it has of volumes: pvc-1", false: "goes what it has of volumes: pvc-1"} {
		var said []string
		u := infraStack(nil, infra.DestroyOptions{KeepVolumes: keep, Warn: func(sentence string) { said = append(said, sentence) }})
		w := newWorld(t)
		group := w.group(node.MainGroup(cluster, infraID))
		disk := group + "/providers/Microsoft.Compute/disks/pvc-1"
		before := map[string]string{}
		volume := func(ctx context.Context, s *azure.Session) error {
			_, err := s.Put(ctx, disk, "2023-10-02", azure.Resource{Location: "eastus", Tags: map[string]string{"kubernetes.io-created-for-pv-name": "pvc-1"},
				SKU: map[string]any{"name": "Premium_LRS"}, Properties: map[string]any{"diskSizeGB": 1, "creationData": map[string]any{"createOption": "Empty"}}})
			return err
		}
		for i, step := range []func(context.Context, *azure.Session) error{u.prepare, u.create, volume, u.destroy} {
			_, err := w.process(0, false, step)
			must(t, err)
			if i == 0 {
				before = w.dump()
			}
		}
		var left []string
		for key := range w.dump() {
			if before[key] == "" {
				left = append(left, strings.ToLower(key))
			}
		}
		slices.Sort(left)
		var stays []string
		if keep {
			stays = []string{strings.ToLower("arm " + group), strings.ToLower("arm " + disk)}
		}
		if !slices.Equal(left, stays) {
			t.Errorf("keep %v: left %v, want %v", keep, left, stays)
		}
		if len(said) != 1 || !strings.Contains(said[0], want) {
			t.Errorf("keep %v: said %q", keep, said)
		}
	}
}
