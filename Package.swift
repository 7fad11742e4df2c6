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
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let asyncHTTP: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

/// What a provider client needs that posts to hosts.
let outbound: [Target.Dependency] = ["Outbound", "HTTP2Client", nioSSL]

/// A folder of `Sources/Providers`: the client, a target and a product of its own, with what is said of its platforms, the adapter and the
/// simulator, which are parts of `BelfryService`, `BelfryProviders` and `BelfrySimulators`.
struct Provider {
    let name: String
    /// Dependencies of the client.
    let needs: [Target.Dependency]
    /// Targets whose types callers of the client meet.
    var interface = ["Outbound", "HTTP2Client"]
    /// Files, which begin with the name of the provider.
    var client = ["Client"]
    var platform = ["Platform"]
    var adapter = ["Provider"]
    var simulator = ["Simulator"]

    var target: Target {
        part(
            name, of: "Sources/Providers/\(name)", dependencies: needs, files: files(client),
            others: files(platform + adapter + simulator))
    }

    func files(_ parts: [String], in folder: String = "") -> [String] { parts.map { "\(folder)\(name)\($0).swift" } }
}

let providers = [
    Provider(
        name: "APNs", needs: ["HTTP2Client", "KeyFiles", nioCore, nioSSL, logging, crypto, x509, asn1], interface: [],
        client: ["Client", "Credentials", "Message", "Answer", "Channels"],
        adapter: ["Provider", "PlatformCredentials", "BroadcastChannels"],
        simulator: ["Simulator", "SimulatorConnection", "SimulatorRequest", "SimulatorChannels"]),
    Provider(
        name: "FCM",
        needs: ["HTTP2Client", "KeyFiles", "Outbound", nioCore, nioPosix, nioSSL, logging, cryptoExtras],
        client: ["Client", "ExternalAccount", "Message", "OtherSystems", "Audience", "Answer"],
        simulator: ["Simulator", "SimulatorMessage", "SimulatorIdentities"]),
    Provider(
        name: "WebPush", needs: outbound + ["KeyFiles", "MessageEncryption", nioCore, nioPosix, nioHTTP1, crypto],
        client: ["Client", "Message", "VAPID"], simulator: ["Simulator", "SimulatorMessage"]),
    Provider(name: "HMS", needs: outbound + ["KeyFiles", cryptoExtras], client: ["Client", "Message"]),
    Provider(name: "WNS", needs: outbound + [nioHTTP1]),
    Provider(name: "MPNS", needs: outbound + [nioHTTP1]),
    Provider(name: "Webhook", needs: outbound + ["KeyFiles", crypto]),
    Provider(name: "ADM", needs: outbound),
    Provider(name: "PAP", needs: outbound),
    Provider(name: "GCM", needs: outbound),
]
let clients = providers.map { Target.Dependency(stringLiteral: $0.name) }

func module(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

/// A target that shares its folder with others.
func part(
    _ name: String, of path: String, dependencies: [Target.Dependency], files: [String], others: [String]
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: path, exclude: others, sources: files, swiftSettings: settings)
}

/// The files of all providers that are such parts.
func files(_ parts: (Provider) -> [String], in folder: String = "") -> [String] {
    providers.flatMap { $0.files(parts($0), in: "\(folder)\($0.name)/") }
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
        .library(name: "PostgreSQL", targets: ["PostgreSQL"]),
        .library(name: "MessageEncryption", targets: ["MessageEncryption"]),
    ] + providers.map { .library(name: $0.name, targets: [$0.name] + $0.interface) },
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
        // The dashboard's style sheet, script and pictures as bytes.
        .target(name: "CDashboard"),

        // Layer 1: clients a stranger can use alone, and what they are made of.
        module("DNS", ["CAres", nioCore]),
        module("Tunnel", [nioCore, nioPosix]),
        module("HTTP2Client", ["CNghttp2", "Tunnel", nioCore, nioPosix, nioTLS, nioSSL, logging]),
        module("KeyFiles", [nioSSL, crypto]),
        module(
            "Outbound",
            ["DNS", "HTTP2Client", "KeyFiles", "Tunnel", nioCore, nioPosix, nioHTTP1, nioSSL, logging]),
        module("PostgreSQL", ["CPostgreSQL"]),
        // Apps and back ends have it too, so it is in their package.
        .target(
            name: "MessageEncryption", dependencies: [crypto, nioSSL], path: "BelfryKit/Sources/MessageEncryption",
            swiftSettings: settings),

        // Layer 2: the adapters. The service, which is below, is of layer 1.
        part(
            "BelfryProviders", of: "Sources/Providers",
            dependencies: [
                "BelfryService", "DNS", "HTTP2Client", "Tunnel", "Outbound", "KeyFiles", nioCore, nioPosix, nioSSL,
                logging,
            ] + clients,
            files: ["Shared"] + files(\.adapter),
            others: ["Simulators"] + files { $0.client + $0.platform + $0.simulator }),

        // Layers 2 and 3: what speaks Apple's binary protocol, and the server.
        module(
            "BelfryGateway",
            [
                "BelfryService", "CNghttp2", nioCore, nioPosix, nioTLS, nioSSL, logging, metrics, crypto, cryptoExtras,
                x509,
                asn1, lifecycle,
            ]),
        module(
            "BelfryServer",
            [
                "BelfryService", "BelfryProviders", "BelfryGateway", "HTTP2Client", "KeyFiles", "Outbound", "Tunnel",
                nioCore, nioPosix, nioHTTP1, nioSSL, httpTypes, nioHTTPTypes, hummingbird, logging, metrics,
                coreMetrics, crypto, lifecycle,
                .product(name: "HummingbirdCore", package: "hummingbird"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]),

        // Beside the server.
        part(
            "BelfrySimulators", of: "Sources/Providers",
            dependencies: [
                "CNghttp2", nioCore, nioPosix, nioHTTP1, nioTLS, nioSSL, crypto, cryptoExtras, x509, asn1,
            ],
            files: ["Simulators"] + files(\.simulator),
            others: ["Shared"] + files { $0.client + $0.platform + $0.adapter }),
        .target(
            name: "BelfryTesting", dependencies: ["BelfryService", logging], path: "Tests/BelfryTesting",
            swiftSettings: settings),

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
                "KeyFiles", "MessageEncryption", "Outbound", "DNS", "HTTP2Client", "WebPush", "WNS", "MPNS", "ADM",
                "PAP", "Webhook", nioCore, nioPosix, nioHTTP1, crypto,
            ]),
        tests("FCMTests", ["FCM", "HTTP2Client", "Outbound", cryptoExtras]),
        tests("GCMTests", ["GCM", "Outbound", nioHTTP1]),
        tests("HMSTests", ["HMS", "KeyFiles", "Outbound", cryptoExtras]),
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
        tests(
            "BelfryServiceTests",
            [
                "BelfryService", "BelfryTesting", "KeyFiles", "PostgreSQL", "PostgresRig", nioCore, nioPosix, httpTypes,
                hummingbird,
                .product(name: "HummingbirdTesting", package: "hummingbird"), logging, crypto, cryptoExtras, x509, asn1,
                lifecycle, grdb, sqlite,
            ], resources: [.copy("Recorded/Examples")]),
        // A PostgreSQL of the tests' own, which those of several targets use.
        .target(
            name: "PostgresRig", dependencies: ["BelfryTesting"], path: "Tests/PostgresRig", swiftSettings: settings),
        tests("PostgreSQLTests", ["PostgreSQL", "PostgresRig"]),
        tests(
            "BelfryGatewayTests",
            ["BelfryGateway", "BelfryService", "BelfryTesting", nioCore, nioTLS, nioSSL, nioEmbedded]),
        tests(
            "BelfryServerTests",
            [
                "BelfryService", "PostgreSQL", "BelfryProviders",
                "BelfryServer", "Tunnel", "BelfrySimulators", "BelfryTesting", "PostgresRig", nioCore, nioPosix,
                nioHTTP1, nioEmbedded, nioSSL, httpTypes, nioHTTPTypes, asyncHTTP, logging, coreMetrics, grdb, crypto,
                "MessageEncryption",
            ]),
        // Knows the program from outside alone, and shares no code with it but the way to start it.
        tests("HostileTests", ["PostgresRig", "BelfryTesting", "BelfryService", grdb, crypto]),
    ] + providers.map(\.target)
)

// The service, a folder for each feature: its nouns, rules, tables, services, routes and pages. What a provider says of its
// type of platform is in the provider's folder, so the target's folder is that of all targets.
let platforms = files(\.platform, in: "Providers/")
let ofProviders =
    ["Providers/Shared", "Providers/Simulators"]
    + files({ $0.client + $0.adapter + $0.simulator }, in: "Providers/")
let otherTargets = package.targets.filter { $0.path == nil && $0.type != .test }.map(\.name)
package.targets += [
    part(
        "BelfryService", of: "Sources",
        dependencies: [
            "KeyFiles", "PostgreSQL", "CContract", "CDashboard", "CQrencode", "CWebSDK", grdb,
            sqlite, hummingbird, nioCore, nioPosix, httpTypes, logging,
            metrics, crypto, cryptoExtras, x509, asn1, lifecycle,
        ],
        files: ["BelfryService"] + platforms, others: otherTargets + ofProviders + ["belfry"]),
    .executableTarget(
        name: "belfry",
        dependencies: [
            "BelfryServer", "BelfryGateway", "BelfryProviders", "BelfrySimulators", "BelfryService", "HTTP2Client",
            "KeyFiles", "Outbound", "CMalloc", nioCore, nioPosix, nioHTTP1, nioSSL, logging, metrics,
            .product(name: "ArgumentParser", package: "swift-argument-parser"),
        ],
        swiftSettings: settings),
]

if fuzzing != nil {
    package.targets.append(.target(name: "Allocations", path: "Fuzzers/Allocations"))
    package.targets.append(
        .executableTarget(
            name: "Fuzzer",
            dependencies: [
                "Allocations",
                "BelfryServer", "BelfryGateway", "BelfryService", "BelfryTesting", "APNs", "KeyFiles",
                "MessageEncryption", "Outbound",
                "WebPush", "WNS",
                "MPNS", "ADM", "PAP", "Webhook", "FCM", "GCM", "HMS", "Tunnel", nioCore, nioHTTP1, nioTLS, nioEmbedded,
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
        "CNghttp2", "CPostgreSQL", "PostgreSQL", "BelfryService", "Tunnel", "HTTP2Client",
        "BelfrySimulators", "BelfryTesting", "PostgresRig", "BelfryServiceTests", "HTTP2ClientTests",
    ]
    package.targets.removeAll { !modules.contains($0.name) }
    package.products.removeAll { $0.name != "HTTP2Client" }
}

/// Names of test targets, separated by commas: only these are built.
if let only = Context.environment["BELFRY_TESTS"]?.split(separator: ",") {
    package.targets.removeAll { $0.type == .test && !only.contains(Substring($0.name)) }
}
