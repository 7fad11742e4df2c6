// swift-tools-version: 6.2
import PackageDescription

// The targets and who may import whom: docs/Architecture.md. `ImportTests` holds the imports to it.

/// Set by Scripts/fuzz: our code is built to report its coverage to libFuzzer.
let isFuzzing = Context.environment["BELFRY_FUZZING"] != nil

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        // A call stays on its caller's executor: a request of the API is handled without a hop for each function.
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (isFuzzing ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
    .product(name: "NIOSSL", package: "swift-nio-ssl"),
]
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let asyncHTTP: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

/// What a provider client needs that speaks plain HTTP.
let outbound: [Target.Dependency] = nio + ["Outbound", .product(name: "NIOHTTP1", package: "swift-nio")]

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
        .library(name: "WebPush", targets: ["WebPush", "Outbound"]),
        .library(name: "WNS", targets: ["WNS", "Outbound"]),
        .library(name: "MPNS", targets: ["MPNS", "Outbound"]),
        .library(name: "ADM", targets: ["ADM", "Outbound"]),
        .library(name: "PAP", targets: ["PAP", "Outbound"]),
        .library(name: "Webhook", targets: ["Webhook", "Outbound"]),
        .library(name: "FCM", targets: ["FCM", "Outbound"]),
        .library(name: "GCM", targets: ["GCM", "Outbound"]),
        .library(name: "HMS", targets: ["HMS", "Outbound"]),
        .library(name: "PostgreSQL", targets: ["PostgreSQL"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.20.0"),
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
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"),
    ],
    targets: [
        // Layer 0: system libraries.
        .systemLibrary(name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),

        .systemLibrary(name: "CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // The contract of the API as bytes, which C can embed and Swift cannot.
        .target(name: "CContract"),

        // Layer 1: the nouns, the rules and the ports; and clients a stranger can use alone.
        module("BelfryCore"),
        module("Tunnel", nio),
        module("HTTP2Client", nio + ["CNghttp2", "Tunnel", logging]),
        module("APNs", nio + ["HTTP2Client", logging, crypto, x509, asn1]),
        module("Outbound", nio + [asyncHTTP, .product(name: "NIOHTTP1", package: "swift-nio")]),
        module("WebPush", outbound + [crypto]),
        module("WNS", outbound),
        module("MPNS", outbound),
        module("ADM", outbound),
        module("PAP", outbound),
        module("Webhook", outbound + [crypto]),
        module("FCM", outbound + ["HTTP2Client", logging, crypto, cryptoExtras]),
        module("GCM", outbound),
        module("HMS", outbound + [crypto, cryptoExtras]),
        module("PostgreSQL", ["CPostgreSQL"]),

        // Layer 2: what fills the ports.
        module(
            "BelfryStore",
            [
                "BelfryCore", "PostgreSQL", logging,
                .product(name: "GRDB", package: "GRDB.swift"), .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ]),
        module(
            "BelfryProviders",
            nio + [
                "BelfryCore", "HTTP2Client", "Tunnel", asyncHTTP, logging,
                "APNs",
                "Outbound", "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook",
                "FCM",
                "GCM",
                "HMS",
            ]),

        // Layer 3: the flows and the HTTP APIs.
        module("BelfryDelivery", ["BelfryCore", logging, metrics, lifecycle]),
        module("BelfryAPI", ["BelfryCore", "CContract", hummingbird, logging, metrics, crypto]),

        // Layer 4: the only target that imports all others.
        module(
            "BelfryServer",
            nio + [
                "BelfryCore", "BelfryStore", "BelfryProviders", "BelfryDelivery",
                "BelfryAPI", "Tunnel",
                hummingbird, asyncHTTP, logging, metrics, crypto, lifecycle,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),

        // Layer 5.
        .executableTarget(
            name: "belfry",
            dependencies: nio + [
                "BelfryServer", "BelfryAPI", "BelfryProviders", "BelfrySimulators", "BelfryCore",
                logging, metrics,
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                asyncHTTP,
            ],
            swiftSettings: settings),

        // Beside the server.
        module(
            "BelfrySimulators",
            nio + [
                "CNghttp2", logging, crypto, x509,
                .product(name: "CryptoExtras", package: "swift-crypto"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOTLS", package: "swift-nio"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
            ]),
        module("BelfryTesting", ["BelfryCore", logging]),

        tests("TunnelTests", nio + ["Tunnel", .product(name: "NIOEmbedded", package: "swift-nio")]),
        tests(
            "HTTP2ClientTests",
            nio + [
                "HTTP2Client", "Tunnel", "BelfrySimulators", "CNghttp2", logging,
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ]),
        tests("APNsTests", nio + ["APNs", "BelfrySimulators", crypto, x509, logging]),
        tests(
            "OutboundTests",
            outbound + [
                "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook", "BelfrySimulators", asyncHTTP, crypto, logging,
            ]),
        tests("FCMTests", outbound + ["FCM", "HTTP2Client", crypto, cryptoExtras]),
        tests("GCMTests", outbound + ["GCM"]),
        tests("HMSTests", outbound + ["HMS", crypto, cryptoExtras]),
        tests(
            "BelfryProvidersTests",
            outbound + [
                "BelfryProviders", "BelfryCore", "APNs", "FCM", "GCM", "HMS", "HTTP2Client", "Tunnel",
                "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook", "BelfrySimulators", "BelfryTesting", asyncHTTP,
                logging,
            ]),
        tests("BelfrySimulatorsTests", nio + ["BelfrySimulators", "BelfryTesting", "CNghttp2", crypto]),
        tests("ArchitectureTests", []),
        tests("BelfryCoreTests", ["BelfryCore", "BelfryTesting"]),
        tests(
            "BelfryStoreTests",
            [
                "BelfryCore", "BelfryStore", "PostgreSQL", "PostgresRig", "BelfryTesting",
                logging,
                .product(name: "GRDB", package: "GRDB.swift"),
            ]),
        // A PostgreSQL of the tests' own, which those of several targets use.
        .target(
            name: "PostgresRig", dependencies: ["BelfryTesting"], path: "Tests/PostgresRig", swiftSettings: settings),
        tests("PostgreSQLTests", ["PostgreSQL", "PostgresRig"]),
        tests("BelfryDeliveryTests", ["BelfryCore", "BelfryDelivery", "BelfryTesting", logging, lifecycle]),
        tests(
            "BelfryAPITests",
            [
                "BelfryCore", "BelfryAPI", "BelfryStore", "BelfryTesting", logging,
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ], resources: [.copy("Recorded/Examples")]),
        tests(
            "BelfryServerTests",
            nio + [
                "BelfryCore", "BelfryStore", "PostgreSQL", "BelfryProviders",
                "BelfryDelivery", "BelfryAPI", "BelfryServer", "Tunnel", "BelfrySimulators", "BelfryTesting",
                "PostgresRig", logging,
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                asyncHTTP,
            ]),
        // Knows the program from outside alone, and shares no code with it but the way to start it.
        tests("HostileTests", ["PostgresRig", "BelfryTesting", .product(name: "GRDB", package: "GRDB.swift")]),
    ]
)

if isFuzzing {
    package.targets.append(.target(name: "Allocations", path: "Fuzzers/Allocations"))
    package.targets.append(
        .executableTarget(
            name: "Fuzzer",
            dependencies: outbound + [
                "Allocations",
                "BelfryServer", "BelfryAPI", "BelfryCore", "BelfryTesting", "APNs", "WebPush", "WNS", "MPNS", "ADM",
                "PAP", "Webhook", "FCM", "GCM", "HMS", "Tunnel", hummingbird, logging, crypto,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "Configuration", package: "swift-configuration"),
            ],
            path: "Fuzzers", exclude: ["Corpus", "Allocations"], swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]))
}

/// Set by `make tsan`: only the targets that share state between threads, and their tests, are built.
if Context.environment["BELFRY_SANITIZING"] != nil {
    let modules: Set = [
        "CNghttp2", "BelfryCore", "Tunnel", "HTTP2Client", "BelfryDelivery", "BelfrySimulators", "BelfryTesting",
        "BelfryCoreTests", "HTTP2ClientTests", "BelfryDeliveryTests",
    ]
    package.targets.removeAll { !modules.contains($0.name) }
    package.products.removeAll { $0.name != "HTTP2Client" }
}
