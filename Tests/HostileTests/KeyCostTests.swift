import Foundation
import Testing

/// Keys whose file says how much work they are.
extension HostileTests {
    @Suite struct KeyCostTests {
        /// Bags and the code of authentication, one of them, many of them, in lists within lists, with a key of another length.
        @Test(arguments: [
            HostileP12.bags([HostileP12.bag(iterations: 50_000_000)]),
            HostileP12.bags([HostileP12.bag(iterations: 1)], mac: 50_000_000),
            HostileP12.bags((0..<100).map { _ in HostileP12.bag(iterations: 900_000) }),
            HostileP12.bags([HostileP12.nested(HostileP12.nested(HostileP12.bag(iterations: 50_000_000)))]),
            HostileP12.bags([HostileP12.bag(iterations: 900_000, keyLength: 1 << 30)]),
            HostileP12.bags((0..<400).map { _ in HostileP12.bag(iterations: 1) }),
        ])
        func `an expensive p12 is refused at reading cost`(file: [UInt8]) async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let (hostile, flat) = (Self.platform(file), Self.platform([UInt8](repeating: 0x30, count: file.count)))
                let path = "/admin/v1/apps/\(application.uuid)/platforms"
                let ratio = try CostRatio.measured(server) {
                    let answer = try server.send("POST", path, hostile, as: server.asOperator)
                    #expect(answer.status == 400 && answer.text.contains("apns_certificate"), "\(answer.text)")
                } flat: {
                    _ = try server.send("POST", path, flat, as: server.asOperator)
                }
                #expect(ratio.isBounded, "\(ratio)")
            }
        }

        @Test func `a key with millions of iterations is refused unopened`() async throws {
            let key = """
                -----BEGIN ENCRYPTED PRIVATE KEY-----
                \(Data(HostileP12.encryptedKey(iterations: 50_000_000)).base64EncodedString())
                -----END ENCRYPTED PRIVATE KEY-----
                """
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let path = "/admin/v1/apps/\(application.uuid)/platforms"
                let body = try JSONSerialization.data(withJSONObject: [
                    "type": "ios", "mode": "development", "name": "x",
                    "credentials": ["topic": "a.b", "apns_key": key, "key_id": "ABCDEFGHIJ", "team_id": "ABCDEFGHIJ"],
                ])
                let cost = try server.process.cpu {
                    let answer = try server.send(
                        "POST", path, String(decoding: body, as: UTF8.self), as: server.asOperator)
                    #expect(answer.status == 400 && answer.text.contains("take the passphrase off"), "\(answer.text)")
                }
                #expect(cost < .seconds(1), "\(cost)")
            }
        }

        /// The most that a file may cost is taken once; a reader pays nothing of it.
        @Test func `reading a platform opens nothing that it has stored`() async throws {
            let file = try HostileP12.sound(iterations: 700_000)
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let reader = try server.readOnlyKey(of: application)
                let answer = try server.send(
                    "POST", "/admin/v1/apps/\(application.uuid)/platforms", Self.platform(file), as: server.asOperator)
                #expect(answer.status == 201, "\(answer.text)")
                let plain = try server.platform(of: application)
                let (costly, cheap) = (try answer.string("platform_uuid"), plain.uuid)
                func read(_ platform: String) throws {
                    for _ in 0..<20 {
                        let answer = try server.send("GET", "/admin/v1/platforms/\(platform)", as: reader)
                        #expect(answer.status == 200, "\(answer.text)")
                    }
                }
                let ratio = try CostRatio.measured(server) {
                    try read(costly)
                } flat: {
                    try read(cheap)
                }
                #expect(ratio.isBounded, "\(ratio)")
                let shown = try server.send("GET", "/admin/v1/platforms/\(costly)", as: reader)
                #expect(shown.text.contains("com.example.app"), "\(shown.text)")
            }
        }

        /// Two files of one tenant wait at most; what else the tenant sends is refused, and its neighbours are served.
        @Test func `a tenant that has many files opened holds nobody up`() async throws {
            let body = Self.platform(try HostileP12.sound(iterations: 700_000))
            try await TestServer.with(.sqlite, ["limit.admin.per.second": "0"]) { server in
                let (application, other) = (try server.application(), try server.application("Florist"))
                let path = "/admin/v1/apps/\(application.uuid)/platforms"
                let (statuses, neighbours) = try await Neighbours.beside(server) { _, _ in
                    HTTPText.request("GET", "/admin/v1/apps/\(other.uuid)", nil, as: server.asOperator, [])
                } attack: {
                    try await withThrowingTaskGroup(of: Int.self) { group in
                        for _ in 0..<12 {
                            group.addTask { try server.send("POST", path, body, as: server.asOperator).status }
                        }
                        return try await group.reduce(into: [Int]()) { $0.append($1) }
                    }
                }
                #expect(statuses.contains(201), "\(statuses)")
                #expect(statuses.allSatisfy { [201, 429].contains($0) }, "\(statuses)")
                #expect(neighbours.refused.isEmpty && neighbours.served > 0, "\(neighbours.statuses)")
            }
        }

        static func platform(_ p12: [UInt8]) -> String {
            #"{"type":"ios","mode":"development","name":"x","credentials":{"topic":"com.example.app","passphrase":"x","#
                + #""apns_certificate":"\#(Data(p12).base64EncodedString())"}}"#
        }
    }
}

/// PKCS#12 files made by hand, byte by byte, and by openssl.
enum HostileP12 {
    static func bags(_ bags: [[UInt8]], mac: Int = 1) -> [UInt8] {
        let safe = value(0x30, bags.flatMap(\.self))
        let list = value(0x30, value(0x30, oid(1, 7, 1) + value(0xA0, value(4, safe))))
        let hash = value(0x30, value(0x30, value(6, [0x2B, 0x0E, 3, 2, 0x1A]) + [5, 0]) + value(4, zeros(20)))
        let code = value(0x30, hash + value(4, [1, 2, 3, 4, 5, 6, 7, 8]) + number(mac))
        return value(0x30, value(2, [3]) + value(0x30, oid(1, 7, 1) + value(0xA0, value(4, list))) + code)
    }

    static func bag(iterations: Int, keyLength: Int? = nil) -> [UInt8] {
        value(
            0x30, oid(1, 12, 10, 1, 2) + value(0xA0, encryptedKey(iterations: iterations, keyLength: keyLength)))
    }

    static func nested(_ bag: [UInt8]) -> [UInt8] {
        value(0x30, oid(1, 12, 10, 1, 6) + value(0xA0, value(0x30, bag)))
    }

    /// Encrypted by PBES2 with AES.
    static func encryptedKey(iterations: Int, keyLength: Int? = nil) -> [UInt8] {
        let derivation = value(
            0x30, value(4, [1, 2, 3, 4, 5, 6, 7, 8]) + number(iterations) + (keyLength.map(number) ?? []))
        let scheme = value(0x30, value(6, [0x60, 0x86, 0x48, 0x01, 0x65, 3, 4, 1, 42]) + value(4, zeros(16)))
        let parameters = value(0x30, value(0x30, oid(1, 5, 12) + derivation) + scheme)
        return value(0x30, value(0x30, oid(1, 5, 13) + parameters) + value(4, zeros(32)))
    }

    /// A file that opens with the passphrase `x`.
    static func sound(iterations: Int) throws -> [UInt8] {
        let folder = FileManager.default.temporaryDirectory.appending(path: "p12-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (key, certificate, file) = (
            folder.appending(path: "key").path, folder.appending(path: "pem").path, folder.appending(path: "p12").path
        )
        try openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "10", "-subj",
            "/UID=com.example.app/CN=x", "-keyout", key, "-out", certificate,
        ])
        try openssl([
            "pkcs12", "-export", "-in", certificate, "-inkey", key, "-out", file, "-passout", "pass:x", "-iter",
            String(iterations),
        ])
        return Array(try Data(contentsOf: URL(filePath: file)))
    }

    private static func openssl(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw BelfryProcess.Failure(description: "openssl \(arguments)") }
    }

    private static func value(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80 ? [UInt8(count)] : [0x83, UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        return [tag] + length + content
    }

    private static func oid(_ rest: UInt8...) -> [UInt8] { value(6, [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D] + rest) }

    private static func number(_ number: Int) -> [UInt8] {
        value(2, [0] + (0..<7).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
}
