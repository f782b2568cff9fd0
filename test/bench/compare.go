package main

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hypershift-on-azure/hypershift/test/bench/limits"
)

// compare interleaves hosted clusters, the control plane that a person would write, and the hosted cluster's own parts applied without an
// operator.
func compare(ctx context.Context, c client.Client, l *limits.Limits, rounds int, work string) error {
	b := &bench{Client: c, work: work, name: "bench"}
	if err := b.render(ctx); err != nil {
		return fmt.Errorf("render the hosted cluster: %w", err)
	}
	var hosted, bare, copied []times
	for range rounds {
		h, saved, err := b.hosted(ctx)
		if err != nil {
			return fmt.Errorf("hosted cluster: %w", err)
		}
		images, err := imagesOf(saved)
		if err != nil {
			return err
		}
		written, err := b.written(images)
		if err != nil {
			return fmt.Errorf("write a control plane: %w", err)
		}
		p, err := b.bare(ctx, written)
		if err != nil {
			return fmt.Errorf("hand-written control plane: %w", err)
		}
		o, err := b.bare(ctx, saved)
		if err != nil {
			return fmt.Errorf("own parts without the operator: %w", err)
		}
		fmt.Printf("round: hosted %5.1fs / %5.1fs, hand-written %5.1fs / %5.1fs, own parts %5.1fs / %5.1fs (API server / all)\n",
			h.apiServer, h.all, p.apiServer, p.all, o.apiServer, o.all)
		hosted, bare, copied = append(hosted, h), append(bare, p), append(copied, o)
	}
	if err := b.destroyInfra(ctx); err != nil {
		return err
	}
	report(l, "HostedCluster -> API server available / hand-written", mostOfBareServer, hosted, bare, copied, func(t times) float64 { return t.apiServer })
	report(l, "HostedCluster -> Available / hand-written", mostOfBareAll, hosted, bare, copied, func(t times) float64 { return t.all })
	breakdown(hosted)
	return nil
}

// smallPools measures node pools of the demo.
func smallPools(ctx context.Context, c client.Client, l *limits.Limits, rounds int, work string) error {
	b := &bench{Client: c, work: work, name: "bench"}
	pools, single := make([]poolTimes, rounds), make([]poolTimes, rounds)
	for i := range pools {
		var err error
		if pools[i], err = b.nodePool(ctx, poolSize); err != nil {
			return fmt.Errorf("node pool: %w", err)
		}
		if single[i], err = b.nodePool(ctx, 1); err != nil {
			return fmt.Errorf("node pool of one: %w", err)
		}
	}
	ofMachine := func(t poolTimes) float64 { return t.machine }
	l.Hold("NodePool applied -> 2 Machines Running, s", median(pools, func(t poolTimes) float64 { return t.all }), mostPool, "")
	l.Hold("virtual machine created -> Machine Running, s", median(single, ofMachine), mostMachine,
		fmt.Sprintf(", %.2f with a second one beside it", median(pools, ofMachine)))
	return nil
}

// report holds the ratio to the hand-written control plane, and tells the one to the hosted cluster's own parts.
func report(l *limits.Limits, what string, most float64, hosted, bare, copied []times, pick func(times) float64) {
	h, w, o := median(hosted, pick), median(bare, pick), median(copied, pick)
	l.Hold(what, h/w, most, fmt.Sprintf(" %.1fs to %.1fs; own parts without the operator %.1fs, ratio %.2f", h, w, o, h/o))
}
