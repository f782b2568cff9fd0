# Everything a person or CI types. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help

# A changed tree gets a version of its own, so that no cluster keeps an image of the same name with other content.
VERSION ?= $(shell git describe --tags --always 2>/dev/null || echo v0.1.0-dev)$(shell \
	git diff --quiet HEAD 2>/dev/null || git diff HEAD 2>/dev/null | sha256sum | cut -c1-8 | sed 's/^/-/')
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
PKG     := github.com/hypershift-on-azure/hypershift
# As the operator's: published beside it, by the sandbox too.
EXTERNAL_DNS_IMAGE ?= quay.io/hypershift/external-dns:v0.18.0
LDFLAGS := -s -w -X $(PKG)/internal/version.Version=$(VERSION) -X $(PKG)/internal/version.Commit=$(COMMIT) -X $(PKG)/internal/version.ExternalDNSImage=$(EXTERNAL_DNS_IMAGE)
GOBUILD := CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)'

export GOFLAGS += -mod=readonly

.PHONY: help
help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build hypershift, hypershift-operator, control-plane-operator, etcd-helper and the checkers of twins into bin/
	@mkdir -p bin
	$(GOBUILD) -o bin/ ./cmd/...

.PHONY: build-cli
build-cli: ## build only the command line
	@mkdir -p bin
	$(GOBUILD) -o bin/ ./cmd/hypershift

.PHONY: images
images: build-cli ## publish the operators' images in REGISTRY, such as myregistry.azurecr.io/team
	bin/hypershift images publish --to "$(REGISTRY)" $(IMAGES_FLAGS)

.PHONY: release-build
release-build: ## build the command line's release into dist/: archives for Linux and macOS, images, bills of materials, checksums; VERSION names it
	@go run -ldflags '$(LDFLAGS)' ./hack/release --ldflags '$(LDFLAGS)' --dist dist

.PHONY: parts
parts: build-cli ## compile the sandbox's third-party parts into the build cache (slow once)
	bin/hypershift sandbox parts

.PHONY: demo
demo: ## build what is missing, bring the sandbox up, run the three phases
	hack/demo.sh

.PHONY: rehearse
rehearse: ## type the whole guide in a sandbox as slow as Azure, and print what real Azure may refuse
	hack/rehearse.sh

.PHONY: demo-down
demo-down: ## destroy the demo and the sandbox, leaving nothing but the build cache
	hack/demo-down.sh

.PHONY: test
test: ## the short tier: unit, API-server-backed and embedded-Azure tests, and the demo
	hack/test.sh

.PHONY: test-long
test-long: ## the long tier: race detector, random lives, stacks stopped at every call, the scripts of both tiers, conformance and the browser, fuzzing
	hack/test-long.sh

.PHONY: e2e
e2e: build ## only the whole-program scripts
	go test ./test/e2e -count=1 -timeout 60m -v

.PHONY: conformance
conformance: ## run Kubernetes' own conformance tests on the demo's hosted cluster; CONFORMANCE_FLAGS=--short runs 20 of them
	hack/conformance.sh $(CONFORMANCE_FLAGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (default 60s)
	hack/fuzz.sh

.PHONY: bench
bench: ## measure the figures of docs/benchmarks.md; one that misses its limit fails; PART=phase1|people|survival|operator|pools is one part
	hack/bench.sh $(PART)

.PHONY: generate
generate: ## regenerate deepcopy functions, CRDs, the client, the dashboard and docs/reference
	hack/generate.sh

.PHONY: docs
docs: ## write the documentation as web pages into dist/site; a dead link fails
	go run ./hack/site

.PHONY: verify
verify: ## check that generated files are current and modules tidy
	hack/verify.sh

.PHONY: vulnerabilities
vulnerabilities: ## look for known vulnerabilities that the programs reach; GOVULNDB names a copy of the database
	hack/vulnerabilities.sh

.PHONY: debian-lock
debian-lock: ## pin the Debian packages of images and machines anew, in parts/build/debian.lock
	go run ./hack/debianlock

.PHONY: licences
licences: ## list the licences of the modules in docs/reference/licences.md; one that is not accepted fails
	go run ./hack/licences

.PHONY: lint
lint: ## golangci-lint with the import directions as rules, shellcheck
	hack/lint.sh
