import Foundation
import Testing

/// The table of docs/Architecture.md, "Who may import whom", held against the imports in Sources.
@Suite struct ImportTests {
    private static let foundation: Set = ["Foundation", "FoundationEssentials", "Synchronization", "Dispatch"]
    private static let nio: Set = [
        "NIOCore", "NIOPosix", "NIOSSL", "NIOTLS", "NIOConcurrencyHelpers", "NIOHTTP1", "NIOFoundationCompat",
    ]

    private static let outbound: Set = ["Outbound", "NIOCore", "NIOHTTP1", "NIOSSL"]

    private static let allowed: [String: Set<String>] = [
        "Tunnel": nio,
        "HTTP2Client": nio.union(["CNghttp2", "Tunnel", "Logging"]),
        "APNs": nio.union(["HTTP2Client", "Logging", "Crypto", "X509", "SwiftASN1", "CNIOBoringSSL"]),
        "Outbound": nio.union(["AsyncHTTPClient"]),
        "WebPush": outbound.union(["Crypto"]),
        "WNS": outbound,
        "MPNS": outbound,
        "ADM": outbound,
        "PAP": outbound,
        "Webhook": outbound.union(["Crypto"]),
        "FCM": outbound.union(["HTTP2Client", "Logging", "CryptoExtras"]),
        "GCM": outbound,
        "HMS": outbound.union(["CryptoExtras"]),
        "BelfryCore": [],
        "PostgreSQL": ["CPostgreSQL"],
        "BelfryStore": ["BelfryCore", "GRDB", "GRDBSQLite", "PostgreSQL", "Logging"],
        "BelfryProviders": nio.union([
            "BelfryCore", "HTTP2Client", "Tunnel", "AsyncHTTPClient", "Logging",
            "APNs",
            "Outbound", "WebPush", "WNS", "MPNS", "ADM", "PAP", "Webhook",
            "FCM",
            "GCM",
            "HMS",
        ]),
        "BelfryDelivery": ["BelfryCore", "Logging", "Metrics", "CoreMetrics", "ServiceLifecycle"],
        "BelfryAPI": nio.union([
            "BelfryCore", "CContract", "Hummingbird", "HTTPTypes", "Logging", "Metrics", "CoreMetrics", "Crypto",
        ]),
        "BelfryServer": nio.union([
            "BelfryCore", "BelfryStore", "BelfryProviders", "BelfryDelivery", "BelfryAPI",
            "Hummingbird",
            "HTTPTypes", "Logging", "Metrics", "CoreMetrics", "Crypto", "ServiceLifecycle", "Configuration",
            "SystemPackage", "UnixSignals", "AsyncHTTPClient", "Tunnel", "NIOHTTPTypes", "NIOHTTPTypesHTTP1",
            "HummingbirdCore",
        ]),
        "BelfrySimulators": nio.union(["CNghttp2", "Logging", "Crypto", "CryptoExtras", "X509", "SwiftASN1"]),
        "BelfryTesting": ["BelfryCore", "Logging"],
    ]

    @Test(arguments: allowed.keys.sorted())
    func `a target imports only what its layer allows`(target: String) throws {
        let allowed = try #require(Self.allowed[target]).union(Self.foundation)
        let files = try Self.swiftFiles(below: "Sources/\(target)")
        #expect(!files.isEmpty)
        for file in files {
            let strangers = try Self.imports(of: file).subtracting(allowed)
            #expect(strangers.isEmpty, "\(file.lastPathComponent) imports \(strangers.sorted())")
        }
    }

    @Test func `only the stores speak SQL`() throws {
        let statements = #/"""\s*(SELECT|INSERT|UPDATE|DELETE|CREATE)\b/#
        for target in Self.allowed.keys where !target.hasPrefix("BelfryStore") {
            for file in try Self.swiftFiles(below: "Sources/\(target)") {
                let text = try String(contentsOf: file, encoding: .utf8)
                #expect(text.firstMatch(of: statements) == nil, "\(file.lastPathComponent)")
            }
        }
    }

    private static func imports(of file: URL) throws -> Set<String> {
        let line = #/^(?:@testable |@preconcurrency )*(?:(?:public|package|internal|private) )?import (?:\w+ )?(\w+)/#
        let text = try String(contentsOf: file, encoding: .utf8)
        return Set(text.split(separator: "\n").compactMap { $0.firstMatch(of: line).map { String($0.1) } })
    }

    private static func swiftFiles(below folder: String) throws -> [URL] {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let files = FileManager.default.enumerator(at: root.appending(path: folder), includingPropertiesForKeys: nil)
        return (files?.allObjects as? [URL] ?? []).filter { $0.pathExtension == "swift" }
    }
}
