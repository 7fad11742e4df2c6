import BelfryTesting
import Foundation
import Testing

/// Row 5: connections at the gateway over HTTP/2, each with requests that never end.
extension HostileTests {
    @Suite struct GatewayFloodTests {
        /// The report of `Tests/Clients/gateway_flood.py`.
        private struct Flood {
            let open: Int
            let closed: Int
            /// Streams that were reset, by the error of HTTP/2.
            let resets: [String: Int]
        }

        @Test(arguments: Bounds.engines(turn: 5), [[], ["--streams", "1", "--size", "1"]])
        func `a certificate that nobody entered is refused in the handshake`(
            engine: Engine, arguments: [String]
        ) async throws {
            try await Self.with(engine) { server, port in
                let stranger = try Self.pair("stranger", server)
                // The first connections take what all need.
                _ = try Self.flood(port, stranger, ["--connections", "5"], server) { _ in }
                let before = try server.process.residentBytes
                _ = try Self.flood(port, stranger, ["--connections", "200"] + arguments, server) { flood in
                    #expect(flood.open == 0 && flood.closed == 200)
                    let gained = try server.process.residentBytes - before
                    #expect(gained <= Bounds.bytesOfNoise, "\(gained) bytes are taken")
                }
            }
        }

        @Test(arguments: Bounds.engines(turn: 6))
        func `a known sender holds its share and others are served`(engine: Engine) async throws {
            try await Self.with(engine) { server, port in
                let application = try server.application()
                let key = try Self.run(
                    "openssl ecparam -genkey -name prime256v1 -noout | openssl pkcs8 -topk8 -nocrypt", server)
                let credentials =
                    #"{"topic":"org.example","key_id":"ABCDEFGHIJ","team_id":"ABCDEFGHIJ","apns_key":\#(HostileJSON.string(key))}"#
                    .replacing("\n", with: "\\n")
                let platform = try server.platform(of: application, type: "ios", credentials: credentials)
                let sender = try Self.pair("sender", server)
                let fingerprint = try Self.run(
                    "openssl x509 -in \(sender).pem -noout -fingerprint -sha256 | cut -d= -f2", server)
                let made = try server.send(
                    "POST", "/admin/v1/platforms/\(platform.uuid)/gateway-credentials",
                    #"{"fingerprint":"\#(fingerprint.trimmingCharacters(in: .whitespacesAndNewlines))"}"#,
                    as: server.asOperator)
                #expect(made.status == 201, "\(made.text)")
                let before = try server.process.residentBytes
                let asking: @Sendable (Int, Int) -> String = { _, _ in HTTPText.request("GET", "/healthcheck") }
                let quiet = try await Neighbours.beside(server, least: 200, asking: asking) {}.neighbours
                let (_, neighbours) = try await Neighbours.beside(server, asking: asking) {
                    try Self.flood(port, sender, ["--connections", "20"], server) { flood in
                        // Of each address a quarter of 64 MiB, 2 KiB more for each stream; the rest is refused.
                        let streams = 20 * 500 - flood.resets.values.reduce(0, +)
                        #expect(streams <= 16 << 20 / 9_048 + 20, "\(streams) streams are held")
                        #expect(flood.resets["7"] ?? 0 > 5_000, "\(flood.resets)")
                        let gained = try server.process.residentBytes - before
                        #expect(gained <= 64 << 20 + Bounds.bytesOfNoise, "\(gained) bytes are taken")
                    }
                }
                #expect(neighbours.refused.isEmpty, "\(neighbours.refused)")
                if Bounds.judgesTimes {
                    #expect(neighbours.p99 <= Bounds.bystanderWait(quiet.p99), "\(neighbours.p99), quiet \(quiet.p99)")
                }
            }
        }

        private static func with(
            _ engine: Engine, _ attack: @escaping @Sendable (TestServer, UInt16) async throws -> Void
        ) async throws {
            // The certificate has to be there when the server starts.
            let folder = NSTemporaryDirectory() + "/gateway-\(UUID().uuidString)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let files = try pair("gateway", in: folder)
            let settings = [
                "gateway.port": "0", "gateway.tls.certificate": "\(files).pem", "gateway.tls.key": "\(files).key",
            ]
            try await TestServer.with(engine, settings) { server in
                let port = try waitUntil("the gateway listens") {
                    server.process.logged.split(separator: "\n").lazy.compactMap { line -> UInt16? in
                        line.range(of: #"\bgateway"?[=:]"?tls://[^ ",]*:\d+"#, options: .regularExpression)
                            .flatMap { line[$0].split(separator: ":").last.flatMap { UInt16($0) } }
                    }.first
                }
                try await attack(server, port)
            }
        }

        /// Runs the client until it knows what became of its connections, and `look` while it holds them.
        private static func flood(
            _ port: UInt16, _ identity: String, _ arguments: [String], _ server: TestServer,
            _ look: (Flood) throws -> Void
        ) throws -> Bool {
            let output = server.folder + "/flood-\(UUID().uuidString)"
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Clients/gateway_flood.py").path
            let client = try spawn(
                ["/usr/bin/env", "python3", script, "--port", "\(port)", "--cert", "\(identity).pem"]
                    + ["--key", "\(identity).key"] + arguments, output: output)
            defer {
                kill(client, SIGKILL)
                var status: Int32 = 0
                waitpid(client, &status, 0)
            }
            let flood: Flood = try waitUntil("the flood is there", seconds: 180) {
                let said = (try? String(contentsOfFile: output, encoding: .utf8)) ?? ""
                guard said.hasSuffix("\n"),
                    let found = try? JSONSerialization.jsonObject(with: Data(said.utf8)) as? [String: Any],
                    let open = found["open"] as? Int, let closed = found["closed"] as? Int,
                    let resets = found["resets"] as? [String: Int]
                else { return nil }
                return Flood(open: open, closed: closed, resets: resets)
            }
            try look(flood)
            return true
        }

        /// A certificate that signs itself, `.pem`, and its key, `.key`.
        private static func pair(_ name: String, _ server: TestServer) throws -> String {
            try pair(name, in: server.folder)
        }

        private static func pair(_ name: String, in folder: String) throws -> String {
            let files = "\(folder)/\(name)"
            _ = try run(
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 30 "
                    + "-keyout \(files).key -out \(files).pem 2> /dev/null", in: folder)
            return files
        }

        private static func run(_ script: String, _ server: TestServer) throws -> String {
            try run(script, in: server.folder)
        }

        /// Runs a shell script and returns its output.
        private static func run(_ script: String, in folder: String) throws -> String {
            let output = folder + "/run-\(UUID().uuidString)"
            let process = try spawn(["/bin/sh", "-c", script], output: output)
            var status: Int32 = 0
            waitpid(process, &status, 0)
            let text = try String(contentsOfFile: output, encoding: .utf8)
            guard status == 0 else { throw BelfryProcess.Failure(description: "\(script): \(text)") }
            return text
        }
    }
}
