import Foundation
import NIOCore

/// One push to many devices that says the name of its user to each and counts its badge up, beside the same push without either.
struct FillingRows {
    let environment: BenchmarkEnvironment

    private static let topic = "filled"
    private static let firstDevice = 2_000_000_000

    private struct Sample {
        let rate: Double
        let cpuPerThousand: Double
    }

    private var count: Int { environment.options.devices / 5 }

    func measure() async throws -> [Row] {
        let (server, _) = try await environment.serverWithCrowd()
        try await furnish(server)
        let sender = try await Sender(server)
        let text = String(repeating: "x", count: 100)
        let plain = #"{"body":"\#(text)"}"#
        let filled =
            #"{"template":true,"body":"Hi {{ user.name | default: 'you' }}, \#(text)","custom":{"ios":{"badge":"+1"}}}"#
        let counted = #"{"body":"\#(text)","badge":"+1"}"#
        var samples: [String: [Sample]] = [:]
        for message in [plain, filled] { _ = try await push(message, sender) }
        for _ in 0..<environment.options.rounds {
            for message in [plain, filled, counted] {
                samples[message, default: []].append(try await push(message, sender))
            }
        }
        return [
            row(
                "push that names its user and counts its badge up, to \(count.grouped) devices", filled, plain, samples,
                0.6),
            row("push that counts its badge up", counted, plain, samples, nil),
        ]
    }

    /// Devices of one user each, and the users with a name.
    private func furnish(_ server: Server) async throws {
        note("registering \(count.grouped) devices with users")
        let app = server.identity.app
        let register: @Sendable (Int, inout ByteBuffer) -> Void = { number, buffer in
            let body =
                #"{"registration_token":"\#(Devices.hex(number))","os":"ios","tags":["\#(Self.topic)"],"custom_user_id":"u\#(number)"}"#
            Self.write("POST", "/v1/registration", "Basic \(app)", body, to: &buffer)
        }
        let numbers = Self.firstDevice..<Self.firstDevice + count
        _ = try await HTTPLoad(port: server.port, connections: 64, write: register).run(numbers)
        let key = try server.adminKey
        let users = "/admin/v1/apps/\(server.identity.app_uuid)/users"
        let name: @Sendable (Int, inout ByteBuffer) -> Void = { number, buffer in
            Self.write(
                "PATCH", "\(users)/u\(number)", "Bearer \(key)",
                #"{"attributes":{"name":"Anna \#(number)","visits":3}}"#,
                to: &buffer)
        }
        _ = try await HTTPLoad(port: server.port, connections: 64, write: name).run(numbers)
        try await Task.sleep(for: .seconds(3))
    }

    private static func write(
        _ method: String, _ path: String, _ authorization: String, _ body: String, to buffer: inout ByteBuffer
    ) {
        buffer.writeString(
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(authorization)\r\n"
                + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    private func push(_ message: String, _ sender: Sender) async throws -> Sample {
        let server = sender.server
        try await environment.simulator.forget()
        let before = try await server.answered()
        let cpu = server.child.meter.cpuMilliseconds
        let id = try await sender.push(message, toTopic: Self.topic).receipt
        while try await server.answered() < before + count { try await Task.sleep(for: .milliseconds(20)) }
        let used = server.child.meter.cpuMilliseconds - cpu
        let receipt = try await server.receipt(id)
        guard receipt.state == "settled", receipt.counts == ["accepted": count] else {
            throw BenchmarkFault("a push to \(count) devices ended as \(receipt)")
        }
        return Sample(rate: Double(count) / (try receipt.seconds()), cpuPerThousand: used / Double(count) * 1_000)
    }

    private func row(
        _ what: String, _ ours: String, _ reference: String, _ samples: [String: [Sample]], _ target: Double?
    ) -> Row {
        let (own, other) = (samples[ours] ?? [], samples[reference] ?? [])
        let ratio = zip(own, other).map { $0.rate / $1.rate }.median
        return Row(
            what: what, ours: own.map(\.rate).median.perSecond,
            reference: "without \(other.map(\.rate).median.perSecond)", ratio: ratio.fixed(2),
            target: target.map { "≥ \($0)" } ?? "told", isReached: target.map { ratio >= $0 },
            cpu: "\(own.map(\.cpuPerThousand).median.fixed(1)), \(other.map(\.cpuPerThousand).median.fixed(1))")
    }
}
