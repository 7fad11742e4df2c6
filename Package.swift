// swift-tools-version: 6.2
import PackageDescription

// What each target holds: docs/Architecture.md. Who may import whom stands here: `ImportTests` holds the imports to it.

/// The fuzzer is built too: `replay` gives it what is kept, `coverage` builds our code to report its coverage to libFuzzer.
let fuzzing = Context.environment["BELFRY_FUZZING"]

/// Set by Scripts/count: the program whose instructions are counted is built.
let isCounting = Context.environment["BELFRY_COUNTING"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        // A call stays on its caller's executor: a request of the API is handled without a hop for each function.
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (fuzzing == "coverage" ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTPTypes: Target.Dependency = .product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let asyncHTTP: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

/// What a provider client needs that posts to hosts.
let outbound: [Target.Dependency] = ["Outbound", "HTTP2Client", nioSSL]

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: settings)
}

let package = Package(
    name: "belfry",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "belfry", targets: ["belfry"]),
        .library(name: "HTTP2Client", targets: ["HTTP2Client", "Tunnel"]),
        .library(name: "Tunnel", targets: ["Tunnel"]),
        .library(name: "APNs", targets: ["APNs"]),
        .library(name: "WebPush", targets: ["WebPush", "Outbound", "HTTP2Client"]),
        .library(name: "WNS", targets: ["WNS", "Outbound", "HTTP2Client"]),
        .library(name: "MPNS", targets: ["MPNS", "Outbound", "HTTP2Client"]),
        .library(name: "ADM", targets: ["ADM", "Outbound", "HTTP2Client"]),
        .library(name: "PAP", targets: ["PAP", "Outbound", "HTTP2Client"]),
        .library(name: "Webhook", targets: ["Webhook", "Outbound", "HTTP2Client"]),
        .library(name: "FCM", targets: ["FCM", "Outbound"]),
        .library(name: "GCM", targets: ["GCM", "Outbound", "HTTP2Client"]),
        .library(name: "HMS", targets: ["HMS", "Outbound", "HTTP2Client"]),
        .library(name: "PostgreSQL", targets: ["PostgreSQL"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.20.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.5.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.0"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.0"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-system.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0"),
        .package(url: "https://github.com/groue/GRDB.swift.git", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.0"),
        .package(url: "https://github.com/hummingbird-project/swift-mustache.git", from: "2.1.0"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"),
    ],
    targets: [
        // Layer 0: system libraries.
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),

        .systemLibrary(name: "CAres", pkgConfig: "libcares", providers: [.apt(["libc-ares-dev"])]),

        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        .systemLibrary(name: "CQrencode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),

        // How the C library shares out memory, which its module for Swift leaves out.
        .systemLibrary(name: "CMalloc"),

        // The contract of the API as bytes, which C can embed and Swift cannot.
        .target(name: "CContract"),

        // The SDK for web pages, likewise.
        .target(name: "CWebSDK"),
        // The dashboard's templates, style sheet and script as bytes.
        .target(name: "CDashboard"),

        // Layer 1: clients a stranger can use alone, and what they are made of.
        module("DNS", ["CAres", nioCore]),
        module("Tunnel", [nioCore, nioPosix]),
        module("HTTP2Client", ["CNghttp2", "Tunnel", nioCore, nioPosix, nioTLS, nioSSL, logging]),
        module("KeyFiles", [nioSSL, crypto]),
        module("APNs", ["HTTP2Client", "KeyFiles", nioCore, nioSSL, logging, crypto, x509, asn1]),
        module(
            "Outbound",
            ["DNS", "HTTP2Client", "KeyFiles", "Tunnel", nioCore, nioPosix, nioHTTP1, nioSSL, logging]),
        module("WebPush", outbound + ["KeyFiles", nioCore, nioPosix, nioHTTP1, crypto]),
        module("WNS", outbound + [nioHTTP1]),
        module("MPNS", outbound + [nioHTTP1]),
        module("ADM", outbound),
        module("PAP", outbound),
        module("Webhook", outbound + [crypto]),
        module("FCM", ["HTTP2Client", "KeyFiles", "Outbound", nioCore, nioSSL, logging, cryptoExtras]),
        module("GCM", outbound),
        module("HMS", outbound + ["KeyFiles", cryptoExtras]),
        module("PostgreSQL", ["CPostgreSQL"]),

        // Layer 2: the service, a folder for each feature: its nouns, rules, services and tables.
        module(
            "BelfryService",
            ["PostgreSQL", logging, grdb, .product(name: "GRDBSQLite", package: "GRDB.swift")]),
        module(
            "BelfryProviders",
            [
                "BelfryService", "DNS", "HTTP2Client", "Tunnel", "APNs", "Outbound", "WebPush", "WNS", "MPNS", "ADM",
                "PAP", "Webhook", "FCM", "GCM", "HMS", "KeyFiles", nioCore, nioPosix, nioSSL, logging,
            ]),

        // Layer 3: the flows and the HTTP APIs.
        module("BelfryDelivery", ["BelfryService", logging, metrics, lifecycle]),
        module(
            "BelfryAPI",
            [
                "BelfryService", "CContract", "CWebSDK", nioCore, httpTypes, hummingbird, logging, metrics, crypto,
                x509,
                asn1,
            ]),

        module(
            "BelfryGateway",
            [
                "BelfryService", "CNghttp2", nioCore, nioPosix, nioTLS, nioSSL, logging, metrics, crypto, cryptoExtras,
                x509,
                asn1, lifecycle,
            ]),
        module(
            "BelfryDashboard",
            [
                "BelfryService", "BelfryAPI", "CDashboard", "CQrencode", nioCore, nioPosix, httpTypes, hummingbird,
                mustache,
                logging, crypto, cryptoExtras,
            ]),

        // Layer 4: wires the layers below into a server.
        module(
            "BelfryServer",
            [
                "BelfryService", "BelfryProviders", "BelfryDelivery", "BelfryAPI", "BelfryGateway",
                "BelfryDashboard", "HTTP2Client", "KeyFiles", "Outbound", "Tunnel",
                nioCore, nioPosix, nioHTTP1, nioSSL, httpTypes, nioHTTPTypes, hummingbird, logging, metrics,
                coreMetrics, crypto, lifecycle,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),

        // Layer 5.
        .executableTarget(
            name: "belfry",
            dependencies: [
                "BelfryServer", "BelfryAPI", "BelfryGateway", "BelfryProviders", "BelfrySimulators", "BelfryService",
                "KeyFiles", "Outbound", "CMalloc",
                nioCore, nioPosix, nioHTTP1, nioSSL, asyncHTTP, logging, metrics,
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),

        // Beside the server.
        module(
            "BelfrySimulators",
            [
                "CNghttp2", nioCore, nioPosix, nioHTTP1, nioTLS, nioSSL, crypto,
                cryptoExtras, x509, asn1,
            ]),
        module("BelfryTesting", ["BelfryService", logging]),

        tests("DNSTests", ["DNS", nioCore, nioPosix]),
        tests("TunnelTests", ["Tunnel", nioCore, nioEmbedded]),
        tests(
            "HTTP2ClientTests",
            ["HTTP2Client", "Tunnel", "CNghttp2", nioCore, nioPosix, nioEmbedded, nioSSL, logging]),
        tests("KeyFilesTests", ["KeyFiles", crypto, nioSSL]),
        tests("APNsTests", ["APNs", "HTTP2Client", "BelfrySimulators", nioPosix, crypto, logging]),
        tests(
            "OutboundTests",
            [
                "Outbound", "DNS", "HTTP2Client", "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook", nioCore, nioPosix,
                nioHTTP1, crypto,
            ]),
        tests("FCMTests", ["FCM", "HTTP2Client", cryptoExtras]),
        tests("GCMTests", ["GCM", "Outbound", nioHTTP1]),
        tests("HMSTests", ["HMS", "Outbound", cryptoExtras]),
        tests(
            "BelfryProvidersTests",
            [
                "BelfryProviders", "BelfryService", "APNs", "FCM", "GCM", "HMS", "HTTP2Client", "Tunnel", "Outbound",
                "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook", "BelfrySimulators", "BelfryTesting", nioPosix,
                nioHTTP1, logging,
            ]),
        tests(
            "BelfrySimulatorsTests",
            ["BelfrySimulators", "BelfryService", "BelfryTesting", "CNghttp2", nioCore, nioPosix, nioSSL, crypto]),
        tests("ArchitectureTests", []),
        tests("BelfryCoreTests", ["BelfryService", "BelfryTesting"]),
        tests(
            "BelfryStoreTests",
            ["BelfryService", "PostgreSQL", "PostgresRig", "BelfryTesting", logging, grdb]),
        // A PostgreSQL of the tests' own, which those of several targets use.
        .target(
            name: "PostgresRig", dependencies: ["BelfryTesting"], path: "Tests/PostgresRig", swiftSettings: settings),
        tests("PostgreSQLTests", ["PostgreSQL", "PostgresRig"]),
        tests("BelfryDeliveryTests", ["BelfryService", "BelfryDelivery", "BelfryTesting", logging, lifecycle]),
        tests(
            "BelfryGatewayTests",
            ["BelfryGateway", "BelfryService", "BelfryTesting", nioCore, nioTLS, nioSSL, nioEmbedded]),
        tests(
            "BelfryAPITests",
            [
                "BelfryService", "BelfryAPI", "BelfryTesting", nioCore, nioPosix, httpTypes, hummingbird,
                .product(name: "HummingbirdTesting", package: "hummingbird"), logging, crypto, x509, asn1,
            ], resources: [.copy("Recorded/Examples")]),
        tests(
            "BelfryDashboardTests",
            [
                "BelfryService", "BelfryAPI", "BelfryDashboard", "BelfryTesting", nioCore, httpTypes, hummingbird,
                .product(name: "HummingbirdTesting", package: "hummingbird"), logging, crypto, cryptoExtras, mustache,
            ]),
        tests(
            "BelfryServerTests",
            [
                "BelfryService", "PostgreSQL", "BelfryProviders", "BelfryDelivery", "BelfryAPI",
                "BelfryServer", "Tunnel", "BelfrySimulators", "BelfryTesting", "PostgresRig", nioCore, nioPosix,
                nioHTTP1, nioEmbedded, nioSSL, httpTypes, nioHTTPTypes, asyncHTTP, logging, coreMetrics, grdb,
            ]),
        // Knows the program from outside alone, and shares no code with it but the way to start it.
        tests("HostileTests", ["PostgresRig", "BelfryTesting", "BelfryService", grdb, crypto]),
    ]
)

if fuzzing != nil {
    package.targets.append(.target(name: "Allocations", path: "Fuzzers/Allocations"))
    package.targets.append(
        .executableTarget(
            name: "Fuzzer",
            dependencies: [
                "Allocations",
                "BelfryServer", "BelfryAPI", "BelfryGateway", "BelfryService", "BelfryTesting", "APNs", "KeyFiles",
                "Outbound",
                "WebPush", "WNS",
                "MPNS", "ADM", "PAP", "Webhook", "FCM", "GCM", "HMS", "Tunnel", nioCore, nioHTTP1, nioEmbedded,
                httpTypes, hummingbird, logging, crypto,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "Configuration", package: "swift-configuration"),
            ],
            path: "Fuzzers", exclude: ["Corpus", "Allocations"], swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]))
}

if isCounting {
    package.targets.append(.target(name: "Callgrind", path: "Counts/Callgrind"))
    package.targets.append(
        .executableTarget(
            name: "Counts", dependencies: ["Callgrind", "BelfryService", logging], path: "Counts/Program",
            swiftSettings: settings))
}

/// Set by `make tsan`: only the targets that share state between threads, and their tests, are built.
if Context.environment["BELFRY_SANITIZING"] != nil {
    let modules: Set = [
        "CNghttp2", "CPostgreSQL", "PostgreSQL", "BelfryService", "Tunnel", "HTTP2Client", "BelfryDelivery",
        "BelfrySimulators", "BelfryTesting",
        "BelfryCoreTests", "HTTP2ClientTests", "BelfryDeliveryTests",
    ]
    package.targets.removeAll { !modules.contains($0.name) }
    package.products.removeAll { $0.name != "HTTP2Client" }
}

/// Names of test targets, separated by commas: only these are built.
if let only = Context.environment["BELFRY_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { $0.type == .test && !only.contains(Substring($0.name)) }
}
