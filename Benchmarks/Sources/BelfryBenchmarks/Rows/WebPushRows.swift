import Crypto
import Foundation

/// Messages to browsers, encrypted and signed on one core, beside pywebpush with the same payload.
struct WebPushRows {
    let environment: BenchmarkEnvironment

    func measure() async throws -> [Row] {
        let pywebpush = PyWebPush(directory: environment.directory)
        try await pywebpush.install()
        var signed: [Effort] = []
        var remembered: [Effort] = []
        var agreed: [Effort] = []
        var theirs: [Effort] = []
        for _ in 0..<environment.options.rounds {
            signed.append(try await ours(["--services", "\(messages)"]))
            remembered.append(try await ours(["--services", "4"]))
            agreed.append(try await ours(["--services", "1", "--agrees-only"]))
            theirs.append(try await pywebpush.measure(messages: messages / 5))
        }
        return [
            row("Web Push, each message encrypted and signed, one core", signed, theirs, target: 10),
            row("the same for four push services: a token is signed once", remembered, theirs, target: nil),
            row("no more than the key agreement that RFC 8291 asks for", agreed, theirs, target: nil),
        ]
    }

    /// CPU in milliseconds of the two multiplications on the curve for each of 1,000 messages.
    func agreementAlone() async throws -> Double {
        try await ours(["--services", "1", "--agrees-only"]).cpuPerThousand
    }

    private var messages: Int { environment.options.quick ? 10_000 : 40_000 }

    private func ours(_ options: [String]) async throws -> Effort {
        let ended = try await Child.run(
            [CommandLine.arguments[0], "web-push", "--messages", "\(messages)"] + options,
            log: "\(environment.directory)/web-push")
        return try Effort(told: ended.output)
    }

    /// Messages for each second of CPU: one thread works, whatever else the machine does.
    private func row(_ what: String, _ ours: [Effort], _ theirs: [Effort], target: Double?) -> Row {
        let ratio = zip(ours, theirs).map { $1.cpuPerThousand / $0.cpuPerThousand }.median
        let (ourCPU, theirCPU) = (ours.map(\.cpuPerThousand).median, theirs.map(\.cpuPerThousand).median)
        return Row(
            what: what, ours: (1_000_000 / ourCPU).perSecond,
            reference: "pywebpush \((1_000_000 / theirCPU).perSecond)",
            ratio: ratio.fixed(1), target: target.map { "≥ \($0.whole)" } ?? "told",
            isReached: target.map { ratio >= $0 }, cpu: "\(ourCPU.fixed(0)), \(theirCPU.fixed(0))")
    }
}

/// pywebpush from PyPI, which Scripts/webpush-oracle installs.
struct PyWebPush: Sendable {
    let directory: String

    private static let script = "Scripts/webpush-oracle"

    func install() async throws { _ = try await Child.run([Self.script, "setup"], log: "\(directory)/oracle-setup") }

    func measure(messages: Int) async throws -> Effort {
        let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false).publicKey.x963Representation
        let request = [
            "do": "measure", "messages": "\(messages)", "plaintext": Workload.payload, "p256dh": Self.base64URL(key),
            "auth": Self.base64URL(Data((0..<16).map { _ in UInt8.random(in: .min ... .max) })),
            "subject": "mailto:bench@example.org",
        ]
        let file = "\(directory)/oracle-request"
        try (JSONEncoder().encode(request) + Data("\n".utf8)).write(to: URL(fileURLWithPath: file))
        let ended = try await Child.run(
            ["sh", "-c", "exec \(Self.script) < '\(file)'"], log: "\(directory)/oracle")
        return try Effort(told: ended.output)
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
