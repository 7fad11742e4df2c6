// swift-tools-version: 6.2
import PackageDescription

// A manifest of its own, so that an app resolves none of the server's dependencies. It depends on Foundation and CryptoKit, for which Linux has
// a package.

#if os(Linux)
let packages: [Package.Dependency] = [.package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.0")]
let crypto: [Target.Dependency] = [.product(name: "Crypto", package: "swift-crypto")]
#else
let packages: [Package.Dependency] = []
let crypto: [Target.Dependency] = []
#endif

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "BelfryKit",
    platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: [
        .library(name: "BelfryKit", targets: ["BelfryKit"]),
        .library(name: "BelfryAdmin", targets: ["BelfryAdmin"]),
    ],
    dependencies: packages,
    targets: [
        .target(name: "MessageEncryption", dependencies: crypto, swiftSettings: settings),
        .target(
            name: "BelfryKit", dependencies: ["MessageEncryption"], resources: [.process("PrivacyInfo.xcprivacy")],
            swiftSettings: settings),
        .target(name: "BelfryAdmin", dependencies: ["MessageEncryption"], swiftSettings: settings),
        .testTarget(
            name: "BelfryKitTests", dependencies: ["BelfryKit", "BelfryAdmin", "MessageEncryption"] + crypto,
            swiftSettings: settings),
    ]
)
