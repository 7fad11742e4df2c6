// swift-tools-version: 6.2
import PackageDescription

// A manifest of its own, so that an app resolves none of the server's dependencies. It depends on Foundation and nothing else.

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
    targets: [
        .target(name: "BelfryKit", resources: [.process("PrivacyInfo.xcprivacy")], swiftSettings: settings),
        .target(name: "BelfryAdmin", swiftSettings: settings),
        .testTarget(name: "BelfryKitTests", dependencies: ["BelfryKit", "BelfryAdmin"], swiftSettings: settings),
    ]
)
