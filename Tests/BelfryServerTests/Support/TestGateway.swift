import BelfryService
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// The real program with the gateway open, and old senders that have its certificate.
struct TestGateway: Sendable {
    let installation: TestInstallation
    let settings: [String: String]
    private let trust: String
    private let certificate: String
    private let key: String

    static let passphrase = "correct horse"

    var scratch: Scratch { installation.scratch }
    var simulator: APNsSimulator { installation.simulator }

    /// The credential is made by the command, and taken apart by openssl as an operator would.
    ///
    /// - Parameter database: a PostgreSQL; nil for a file.
    static func with(database: String? = nil, _ body: (TestGateway) async throws -> Void) async throws {
        try await TestInstallation.with(
            database: database, simulate: { $0.listening.ledgerDetail = .payloads }
        ) { installation in
            let scratch = installation.scratch
            let pair = try await OpenSSL(scratch: scratch).pair("gateway")
            let word = try scratch.write(passphrase + "\n", to: "passphrase")
            let p12 = scratch.file("sender.p12")
            let made = try await installation.run(
                "gateway", "credential", "create", "--platform", installation.platform, "--out", p12,
                "--passphrase-file", word, "--json")
            #expect(made.status == 0, "\(made.err)")
            let (certificate, key) = (scratch.file("sender.pem"), scratch.file("sender.key"))
            for (part, out) in [("-nokeys", certificate), ("-nocerts", key)] {
                try await OpenSSL(scratch: scratch).run([
                    "pkcs12", "-in", p12, "-nodes", part, "-passin", "file:\(word)", "-out", out,
                ])
            }
            let settings = [
                "BELFRY_GATEWAY_PORT": "0", "BELFRY_GATEWAY_FEEDBACK_PORT": "0",
                "BELFRY_GATEWAY_TLS_CERTIFICATE": pair.certificate, "BELFRY_GATEWAY_TLS_KEY": pair.key,
            ]
            try await body(
                TestGateway(
                    installation: installation, settings: settings, trust: pair.certificate, certificate: certificate,
                    key: key))
        }
    }

    func serve(_ more: [String: String] = [:]) async throws -> (program: Program, ports: Ports) {
        let program = try await installation.serve(settings.merging(more) { _, new in new })
        do {
            return (program, try await Ports(program))
        } catch {
            program.endAtOnce()
            throw error
        }
    }

    /// The ports on which a program listens.
    struct Ports: Sendable {
        let gateway: Int
        let feedback: Int
        let http: String

        init(_ program: Program) async throws {
            http = try await program.addresses().http
            let lines = program.logged.split(separator: "\n").compactMap { try? JSONValue(json: $0.utf8) }
            let serving = try #require(lines.first { $0["message"]?.stringValue == "serving" })
            func port(_ name: String) throws -> Int {
                try #require(serving[name]?.stringValue?.split(separator: ":").last.flatMap { Int($0) })
            }
            (gateway, feedback) = (try port("gateway"), try port("feedback"))
        }
    }

    /// - Parameter certificate: another than the one that the gateway knows.
    func send(
        _ role: String, to port: Int, _ arguments: [String] = [], as stranger: (certificate: String, key: String)? = nil
    ) async throws -> JSONValue {
        let identity = stranger ?? (certificate, key)
        return try await ForeignClient.run(
            "apns_binary.py",
            [
                role, "--port", "\(port)", "--ca", trust, "--cert", identity.certificate, "--key", identity.key,
            ] + arguments, in: scratch)
    }

    struct PostAnswer: Sendable {
        /// Such as `HTTP/2 200`.
        let status: String
        let id: String?
        let body: String
    }

    /// Posts as a provider of HTTP/2 does, with curl.
    ///
    /// - Parameter isHead: asks for the headers alone in place of that.
    func post(
        _ token: String, to port: Int, _ headers: [String] = [], isHead: Bool = false,
        as stranger: (certificate: String, key: String)? = nil
    ) async throws -> PostAnswer {
        let identity = stranger ?? (certificate, key)
        let (head, body) = (scratch.file("head-\(UUID().uuidString)"), scratch.file("body-\(UUID().uuidString)"))
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "curl", "--silent", "--http2", "--cacert", trust, "--cert", identity.certificate, "--key", identity.key,
                "--max-time", "30", "--dump-header", head, "--output", body,
            ] + (isHead ? ["--head"] : ["--data-binary", #"{"aps":{"alert":"hi"}}"#])
            + headers.flatMap { ["--header", $0] } + ["https://localhost:\(port)/3/device/\(token)"]
        try process.run()
        try await eventually("curl ends") { !process.isRunning }
        let lines = ((try? String(contentsOfFile: head, encoding: .utf8)) ?? "").split(whereSeparator: \.isNewline)
        let id = lines.first { $0.hasPrefix("apns-id: ") }?.dropFirst("apns-id: ".count)
        return PostAnswer(
            status: lines.first.map { String($0).trimmingCharacters(in: .whitespaces) }
                ?? "curl ended with \(process.terminationStatus)",
            id: id.map { String($0).trimmingCharacters(in: .whitespaces) },
            body: (try? String(contentsOfFile: body, encoding: .utf8)) ?? "")
    }

    /// The token that `apns_binary.py stream` gives to a number.
    static func token(_ number: Int, prefix: String = "t") -> [UInt8] {
        let digits = withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
        return [UInt8](repeating: Array(prefix.utf8)[0], count: 28) + digits
    }

    /// The numbers whose devices were notified at least once.
    func told(_ numbers: ClosedRange<Int>) -> Set<Int> {
        Set(numbers.filter { (simulator.ledger.token(Self.token($0))?.told ?? 0) > 0 })
    }
}
