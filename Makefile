# One entry to everything. `make` prints what there is.
.DEFAULT_GOAL := help
.PHONY: help run release install uninstall deb docs sdk kit kotlin senders synapse peers documents fixtures upgrade quick test check shelf format lint bench count soak simulate fuzz contract browser tsan clean

# With the standard library inside: the program runs where no Swift is, and its calls are shorter.
# No dynamic symbols, equal functions once: docs/decisions/0038.
RELEASE := --configuration release --scratch-path .build-release --static-swift-stdlib \
	-Xlinker --no-export-dynamic -Xlinker --icf=safe
# C of packages with optimization: a password would else take some seconds in every test that logs in.
DEBUG := --scratch-path .build -Xcc -O2
LIBRARIES := HTTP2Client Tunnel Outbound PostgreSQL APNs FCM GCM HMS WebPush WNS MPNS ADM PAP Webhook
SEEDS ?= 10000
PREFIX ?= /usr/local

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Set up, build, and show the main job: belfry demo
	@Scripts/setup run
	swift build $(RELEASE) --product belfry
	.build-release/release/belfry demo $(ARGS)

release: ## Build a release into .build-dist: stripped binary, Debian package, checksums, SBOM, notes
	@Scripts/setup deb
	swift build $(RELEASE) --product belfry
	@Scripts/end-to-end .build-release/release/belfry
	@Scripts/release .build-release/release/belfry

install: ## Build and put belfry into PREFIX/bin, /usr/local by default; its debug symbols into /usr/lib/debug
	@Scripts/setup run
	swift build $(RELEASE) --product belfry
	Scripts/install-stripped .build-release/release/belfry $(DESTDIR)$(PREFIX)/bin/belfry \
		$(DESTDIR)/usr/lib/debug$(PREFIX)/bin/belfry.debug

uninstall: ## Remove what `make install` put into PREFIX; data and keys stay: docs/Uninstalling.md
	rm -f $(DESTDIR)$(PREFIX)/bin/belfry $(DESTDIR)/usr/lib/debug$(PREFIX)/bin/belfry.debug

deb: ## Build a Debian package, and try it in a clean Debian where the machine can
	@Scripts/setup deb
	swift build $(RELEASE) --product belfry
	@Scripts/deb-test "$$(Scripts/deb .build-release/release/belfry)"

docs: ## Build the pages of the libraries into .build-docs
	@Scripts/setup run
	swift package $(DEBUG) --allow-writing-to-directory .build-docs generate-documentation \
		$(LIBRARIES:%=--target %) --enable-experimental-combined-documentation --output-path .build-docs

sdk: ## Real browsers get real pushes: belfry.js in headless Firefox and Chromium; ARGS="word …" runs those tests
	@Scripts/setup sdk
	swift build $(DEBUG) --product belfry
	@Scripts/sdk-browser .build/debug/belfry $(ARGS)

kit: ## BelfryKit on Linux: 500 random lives of an app on either database, and the types of its part for Apple
	@Scripts/setup kit
	swift build $(DEBUG) --product belfry
	@Scripts/kit .build/debug/belfry

kotlin: ## BelfryAndroid on the JVM: its core against the server, and the types of its part for Android
	@Scripts/setup kotlin
	swift build $(DEBUG) --product belfry
	@Scripts/kotlin .build/debug/belfry

senders: ## Run the samples of docs/Senders.md, and a Python client that openapi-generator makes of the contract
	@Scripts/setup senders
	swift build $(DEBUG) --product belfry
	@Scripts/senders .build/debug/belfry

synapse: ## The real Synapse pushes to the gateway of Matrix
	@Scripts/setup test
	swift build $(DEBUG) --product belfry
	@Scripts/synapse .build/debug/belfry

peers: ## Apprise and Alertmanager publish, and the recipe for a broker feeds NATS
	@Scripts/setup peers
	swift build $(DEBUG) --product belfry
	@Scripts/peers .build/debug/belfry

documents: ## Run every command that README, the documents, the demo and the dashboard print; ARGS="docs/Pushing.md …" runs those
	@Scripts/setup test
	swift build $(DEBUG) --product belfry
	@Scripts/documents .build/debug/belfry $(ARGS)

fixtures: ## Make the databases of this version that later ones are tried on, with rows in every table
	@Scripts/setup test
	swift build $(DEBUG) --product belfry
	@Scripts/fixtures make .build/debug/belfry

upgrade: ## Upgrade the last release under load, on either database, and go back; OLD=binary NEW=binary takes those
	@Scripts/setup test
	@Scripts/upgrade

quick: ## What to run on every change: rules, stores in memory and SQLite, a few simulations
	@Scripts/setup run
	swift build $(DEBUG) --build-tests
	SEEDS=20 STORES=sqlite swift test $(DEBUG) --skip-build --experimental-maximum-parallelization-width 4 \
		--filter 'BelfryServiceTests|ArchitectureTests' \
		--skip 'BelfryServiceTests\.(Postgres|Nodes|SharedUse)'

test: ## Set up and run all tests
	@Scripts/setup test
	swift build $(DEBUG) --build-tests
	@Scripts/test

check: ## Everything that CI does
	@Scripts/check

shelf: ## Check packaging/: Prometheus rules, the Grafana dashboard, Kubernetes manifests, the Compose file
	@Scripts/setup shelf
	@Scripts/shelf

format: ## Format all Swift code in place
	swift format --in-place --recursive --parallel Package.swift Sources Tests Fuzzers Counts/Program Benchmarks/Package.swift Benchmarks/Sources

lint: ## Check the format of all Swift code
	swift format lint --strict --recursive --parallel Package.swift Sources Tests Fuzzers Counts/Program Benchmarks/Package.swift Benchmarks/Sources

bench: ## Measure: one table, ratios within one run
	@Scripts/setup bench
	swift build $(RELEASE) --product belfry
	cd Benchmarks && swift build --configuration release --scratch-path ../.build-bench --static-swift-stdlib
	.build-bench/release/BelfryBenchmarks $(ARGS)

count: ## Count instructions and hold them to Counts/figures; KEEP=1 writes the figures anew
	@Scripts/setup test
	@Scripts/count

soak: ## Half an hour of mixed load with faults: does anything grow? ARGS="--minutes n"
	@Scripts/setup bench
	swift build $(RELEASE) --product belfry
	cd Benchmarks && swift build --configuration release --scratch-path ../.build-bench --static-swift-stdlib
	.build-bench/release/BelfryBenchmarks soak $(ARGS)

simulate: ## Thousands of seeded deliveries; SEED=n runs one, SEEDS=n that many
	@Scripts/setup test
	SEEDS=$(SEEDS) SEED=$(SEED) swift test $(DEBUG) --filter BelfryServiceTests.SimulationTests

fuzz: ## Feed the parsers with garbage; SECONDS_EACH=n for each of them, KEEP=1 to keep what covers more
	@Scripts/setup test
	@Scripts/fuzz

contract: ## Hold the server to api/openapi.yaml; ARGS go to Schemathesis, such as --seed=N
	@Scripts/setup contract
	swift build $(RELEASE) --product belfry
	@Scripts/contract .build-release/release/belfry $(ARGS)

browser: ## Use the dashboard in real browsers, against a simulated provider; ARGS="part …" runs those parts
	@Scripts/setup browser
	swift build $(DEBUG) --product belfry
	@Scripts/browser .build/debug/belfry $(ARGS)

tsan: ## The service and HTTP2Client under the thread sanitizer
	@Scripts/setup test
	BELFRY_SANITIZING=1 SEEDS=50 TSAN_OPTIONS=suppressions=$(CURDIR)/Scripts/tsan-suppressions swift test --scratch-path .build-tsan --sanitize thread \
		--skip 'Postgres|Nodes|SharedUse' --experimental-maximum-parallelization-width 6

clean: ## Remove everything that was built
	rm -rf .build .build-check .build-release .build-bench .build-tsan .build-fuzz .build-contract .build-oracle .build-browser .build-deb .build-docs .build-sdk .build-kit .build-kotlin .build-senders .build-synapse .build-peers .build-shelf .build-dist .build-upgrade
