// Package nftable replaces tables of nftables, each as a whole: a packet meets the former rules or the new ones, never a part of either.
package nftable

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"sigs.k8s.io/knftables"
)

// Table is what a table shall hold.
type Table struct {
	family knftables.Family
	name   string
	chains []knftables.Object
	others []knftables.Object
}

// New is a table without anything.
func New(family knftables.Family, name string) *Table { return &Table{family: family, name: name} }

// Hook is where the kernel asks a chain. What the chain does not decide is accepted.
type Hook struct {
	Type     knftables.BaseChainType
	At       knftables.BaseChainHook
	Priority knftables.BaseChainPriority
}

// Add puts objects into the table, in their order. Chains are made before all others, so that a rule may lead to a later one.
func (t *Table) Add(objects ...knftables.Object) {
	for _, o := range objects {
		if chain, ok := o.(*knftables.Chain); ok {
			t.chains = append(t.chains, chain)
		} else {
			t.others = append(t.others, o)
		}
	}
}

// Chain adds a chain that other chains lead to, with its rules.
func (t *Table) Chain(name string, rules ...string) {
	t.Add(&knftables.Chain{Name: name})
	t.Rules(name, rules...)
}

// Base adds a chain that the kernel asks, with its rules.
func (t *Table) Base(name string, at Hook, rules ...string) {
	t.Add(&knftables.Chain{Name: name, Type: &at.Type, Hook: &at.At, Priority: &at.Priority, Policy: knftables.PtrTo(knftables.AcceptPolicy)})
	t.Rules(name, rules...)
}

// Rules adds rules to a chain.
func (t *Table) Rules(chain string, rules ...string) {
	for _, rule := range rules {
		t.Add(&knftables.Rule{Chain: chain, Rule: rule})
	}
}

// String is what nft is given.
func (t *Table) String() string { return t.transaction(knftables.NewFake(t.family, t.name)).String() }

// transaction replaces the table. Adding it first makes it no error that there is none.
func (t *Table) transaction(nft knftables.Interface) *knftables.Transaction {
	tx := nft.NewTransaction()
	table := &knftables.Table{Family: t.family, Name: t.name}
	tx.Add(table)
	tx.Delete(table)
	tx.Add(table)
	for _, objects := range [][]knftables.Object{t.chains, t.others} {
		for _, o := range objects {
			tx.Add(o)
		}
	}
	return tx
}

// Loader loads the states of one table, always from threads in one network namespace. The zero value is ready.
type Loader struct {
	nft    knftables.Interface // made when it is needed first, which runs nft to see what it can do
	loaded string
}

// Replace makes the table what is given. It runs nothing for what was loaded last.
func (l *Loader) Replace(ctx context.Context, t *Table) error {
	text := t.String()
	if text == l.loaded {
		return nil
	}
	if l.nft == nil {
		nft, err := knftables.New(t.family, t.name)
		if err != nil {
			return fmt.Errorf("nft: %w", err)
		}
		l.nft = nft
	}
	if err := l.nft.Run(ctx, t.transaction(l.nft)); err != nil {
		return fmt.Errorf("nft does not take table %s %s: %s", t.family, t.name, said(err))
	}
	l.loaded = text
	return nil
}

// said is the first complaint of nft with the command that it is about, in one line.
func said(err error) string {
	complaint, rest, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	command, _, _ := strings.Cut(rest, "\n")
	if command = strings.TrimSpace(command); command == "" {
		return complaint
	}
	return complaint + ": " + command
}

// Remove removes tables, each given as "family name". It is no error that there is none, or no nft.
func Remove(ctx context.Context, tables ...string) error {
	if len(tables) == 0 {
		return nil
	}
	nft, err := knftables.New("", "")
	if errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("nft: %w", err)
	}
	var problems []error
	for _, table := range tables {
		family, name, _ := strings.Cut(table, " ")
		tx := nft.NewTransaction()
		tx.Add(&knftables.Table{Family: knftables.Family(family), Name: name})
		tx.Delete(&knftables.Table{Family: knftables.Family(family), Name: name})
		if err := nft.Run(ctx, tx); err != nil {
			problems = append(problems, fmt.Errorf("nft does not delete table %s: %s", table, said(err)))
		}
	}
	return errors.Join(problems...)
}
