import BelfryServer
import BelfryService
import BelfryTesting
import Foundation
import Logging
import Testing

/// Dual runs: an old server gets every change of devices here, whatever faults it has meanwhile.
extension ServerTests {
    @Suite struct MirrorTests {}
}

extension ServerTests.MirrorTests {
    private static func token(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 64 - digits.count) + digits
    }

    /// The aliases that the old server received for each device, in order; a `DELETE` has none and is left out.
    private static func told(_ old: OldPCFServer) -> [String: [String]] {
        var told: [String: [String]] = [:]
        for change in old.changes {
            guard let body = try? JSONSerialization.jsonObject(with: Data(change.body.utf8)) as? [String: Any],
                let token = body["registration_token"] as? String, let alias = body["device_alias"] as? String
            else { continue }
            told[token, default: []].append(alias)
        }
        return told
    }

    private func settings(_ old: OldPCFServer, _ moved: MovedIn) -> [String: String] {
        ["BELFRY_MIRROR_URL": old.url, "BELFRY_MIRROR_SECRETS_FILE": moved.secretsFile]
    }

    @Test func `callers ignore a dead old server, which catches up later`() async throws {
        try await TestInstallation.with { installation in
            // A port that no other test is given while nothing listens at it.
            let port = try Loopback.freePort()
            let (moved, old) = try await OldPCFServer.with(devices: 4, port: port) { old in
                (try await MovedIn(to: installation, from: old), old)
            }
            let server = try await installation.serve(settings(old, moved))
            defer { server.endAtOnce() }
            let platform = old.platforms[0]
            let app = Caller(
                base: try await server.addresses().http, user: platform.uuid, secret: platform.secret)
            var uuids: [String] = []
            for number in 0..<6 {
                let answer = try await app.send(
                    "POST", "/v1/registration",
                    #"{"registration_token":"\#(Self.token(2_000 + number))","device_alias":"round 0"}"#)
                #expect(answer.status == 200, "\(answer.body)")
                uuids.append(try JSONDecoder().decode(Registered.self, from: Data(answer.body.utf8)).device_uuid)
            }
            for round in 1..<3 {
                for (number, uuid) in uuids.enumerated() {
                    let answer = try await app.send(
                        "PUT", "/v1/registration/\(uuid)",
                        #"{"registration_token":"\#(Self.token(2_000 + number))","device_alias":"round \#(round)"}"#)
                    #expect(answer.status == 200, "\(answer.body)")
                }
            }
            #expect(try await app.send("DELETE", "/v1/registration/\(uuids[0])").status == 204)
            #expect(old.changes.isEmpty)
            try await OldPCFServer.with(devices: 4, port: port) { up in
                try await eventually("the old server has heard all") {
                    let told = Self.told(up)
                    return (0..<6).allSatisfy { told[Self.token(2_000 + $0)]?.last == "round 2" }
                        && up.changes.contains { $0.method == "DELETE" }
                }
                let all = ["round 0", "round 1", "round 2"]
                for aliases in Self.told(up).values { #expect(aliases == all) }
            }
            try await server.end(SIGTERM)
        }
    }

    @Test func `no log holds a secret of the old server`() async throws {
        try await Scratch.with { scratch in
            let secrets = try scratch.write("\(UUID()) old-server-secret", to: "secrets")
            let loaded = try ServerConfiguration.inspect(environment: [
                "BELFRY_MIRROR_URL": "https://127.0.0.1:1", "BELFRY_MIRROR_SECRETS_FILE": secrets,
            ])
            #expect(loaded.faults == [] && loaded.configuration.mirror != nil)
            try await TestServer.open(configure: { $0.mirror = loaded.configuration.mirror }) { server in
                let lines = server.log.lines(atLeast: .trace)
                #expect(lines.contains { $0.contains("MirrorWorker") })
                #expect(!lines.contains { $0.contains("old-server-secret") })
            }
        }
    }

    @Test func `an old server hears all device changes in order`() async throws {
        try await OldPCFServer.with(devices: 20) { old in
            try await TestInstallation.with { installation in
                let moved = try await MovedIn(to: installation, from: old)
                let report = try await Program.run(
                    moved.arguments + ["--data-directory", installation.data], in: installation.scratch)
                #expect(report.status == 0, "\(report.err)")
                var server = try await installation.serve(settings(old, moved))
                defer { server.endAtOnce() }
                var base = try await server.addresses().http
                let platform = old.platforms[0]
                var uuids: [Int: String] = [:]
                for (round, fault) in [OldPCFServer.Fault.none, .status(401), .hangs, .now(503)].enumerated() {
                    old.fault = fault
                    let app = Caller(base: base, user: platform.uuid, secret: platform.secret)
                    for number in 0..<12 {
                        let body =
                            #"{"registration_token":"\#(Self.token(1_000 + number))","device_alias":"round \#(round)","tags":{"subscribe":["r\#(round)"],"unsubscribe":[]}}"#
                        let answer: Caller.TestAnswer
                        if let uuid = uuids[number] {
                            answer = try await app.send("PUT", "/v1/registration/\(uuid)", body)
                        } else {
                            answer = try await app.send(
                                "POST", "/v1/registration",
                                #"{"registration_token":"\#(Self.token(1_000 + number))","device_alias":"round \#(round)","tags":[]}"#
                            )
                        }
                        #expect(answer.status == 200, "\(answer.body)")
                        let device = try JSONDecoder().decode(Registered.self, from: Data(answer.body.utf8))
                        uuids[number] = device.device_uuid
                    }
                    if round == 2 {
                        // What waits survives the process.
                        try await server.end(SIGKILL)
                        server = try await installation.serve(settings(old, moved))
                        base = try await server.addresses().http
                    }
                }
                let app = Caller(base: base, user: platform.uuid, secret: platform.secret)
                #expect(try await app.send("DELETE", "/v1/registration/\(platform.device(3).uuid)").status == 204)
                old.fault = .none
                let all = (0..<4).map { "round \($0)" }
                try await eventually("the old server has heard all") {
                    let told = Self.told(old)
                    return (0..<12).allSatisfy { number in told[Self.token(1_000 + number)]?.last == all.last }
                        && old.changes.contains { $0.method == "DELETE" && $0.path.hasSuffix(platform.device(3).uuid) }
                }
                for (token, aliases) in Self.told(old) {
                    var once: [String] = []
                    for alias in aliases where once.last != alias { once.append(alias) }
                    #expect(once == all, "\(token)")
                }
            }
        }
    }

    @Test func `a change that becomes a registration lists its tags`() async throws {
        try await OldPCFServer.with(devices: 2) { old in
            try await TestInstallation.with { installation in
                let moved = try await MovedIn(to: installation, from: old)
                let server = try await installation.serve(settings(old, moved))
                defer { server.endAtOnce() }
                let platform = old.platforms[0]
                let app = Caller(
                    base: try await server.addresses().http, user: platform.uuid, secret: platform.secret)
                let answer = try await app.send(
                    "PUT", "/v1/registration/\(UUID().uuidString)",
                    #"{"registration_token":"\#(Self.token(1))","tags":{"unsubscribe":["a"]}}"#)
                #expect(answer.status == 200, "\(answer.body)")
                try await eventually("the old server has heard it") { !old.changes.isEmpty }
                let change = try #require(old.changes.first)
                #expect(change.method == "POST" && change.body.contains(#""tags":[]"#), "\(change)")
                try await server.end(SIGTERM)
            }
        }
    }
}

/// The part of a registration that a test needs.
private struct Registered: Decodable {
    let device_uuid: String
}
