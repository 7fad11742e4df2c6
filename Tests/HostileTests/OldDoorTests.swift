import Foundation
import Testing

/// The doors of clients that were written for other servers: Carma, Genero and Acrobits. What they say in `docs/ThreatModel.md` holds
/// against who has their keys, and who has not.
extension HostileTests {
    @Suite struct OldDoorTests {
        private static func key(_ kind: String, of application: TestApplication, _ server: TestServer) throws -> String
        {
            let answer = try server.send(
                "POST", "/admin/v1/apps/\(application.uuid)/open-endpoints",
                #"{"kind":"\#(kind)","allowed":["127.0.0.0/8"]}"#, as: server.asOperator)
            return try #require(answer["key"] as? String, "\(answer.status) \(answer.text)")
        }

        private static func post(_ path: String, _ body: String, _ server: TestServer) throws -> HTTPAnswer {
            try server.send("POST", path, body, as: nil, ["Content-Type: application/json"])
        }

        private static let version = HTTPText.request("GET", "/v1/version")

        @Test(arguments: Bounds.engines(turn: 15))
        func `long, deep and endless messages take nothing, and register nothing`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let application = try server.application()
                _ = try server.platform(of: application, .android)
                let genero = "/genero/\(try Self.key("genero", of: application, server))/token_maintainer/register"
                let reporter = "/acrobits/\(try Self.key("acrobits-reporter", of: application, server))/"
                _ = try Self.key("acrobits-mediator", of: application, server)
                let doors = [genero, reporter, "/pnm2/send", "/pnm2"]
                let bodies = [
                    String(repeating: "[", count: 60_000), String(repeating: "x", count: 4 << 20),
                    #"{"registration_token":"\#(String(repeating: "t", count: 100_000))"}"#,
                    #"{"a":"# + String(repeating: #"{"a":"#, count: 20_000),
                ]
                for door in doors {
                    _ = try Self.post(door, "{}", server)
                    let gained = try server.process.bytesGained {
                        for body in bodies {
                            let answer = try Self.post(door, body, server)
                            // A door may answer everything with 200 and say what is wrong within.
                            #expect(answer.status < 500, "\(door): \(answer.status) \(answer.text.prefix(200))")
                        }
                    }
                    #expect(gained < Bounds.bytesOfNoise, "\(door): \(gained) bytes")
                }
                let devices = try server.send(
                    "GET", "/admin/v1/apps/\(application.uuid)/devices", as: server.asOperator)
                #expect(devices.text.contains(#""devices":[]"#), "\(devices.text.prefix(300))")
            }
        }

        @Test(arguments: Bounds.engines(turn: 16))
        func `a guesser of keys and passwords delays nobody`(engine: Engine) async throws {
            try await TestServer.with(engine) { server in
                let made = try server.send(
                    "POST", "/admin/v1/carma/accounts",
                    #"{"customer_id":42,"user":"anna","password":"correct horse"}"#, as: server.asOperator)
                let token = try #require(made["token"] as? String, "\(made.status) \(made.text)")
                let basic = "Basic " + Data("anna:wrong horse".utf8).base64EncodedString()
                let (statuses, neighbours) = try await Neighbours.beside(server, asking: { _, _ in Self.version }) {
                    try (0..<10).map { number in
                        let path =
                            number % 2 == 0
                            ? "/rest/42/apps/a/pushdevices" : "/genero/guess-\(number)/token_maintainer/register"
                        let answer = try server.send(
                            number % 2 == 0 ? "PUT" : "POST", path, "{}", as: number % 2 == 0 ? basic : nil)
                        // Genero's apps are told by a 200 that the server is busy.
                        return answer.text.contains("The server is busy") ? 503 : answer.status
                    }
                }
                #expect(statuses.allSatisfy { [401, 404, 429, 503].contains($0) }, "\(statuses)")
                #expect(neighbours.refused.isEmpty, "\(neighbours.refused)")
                // The right credentials go on meanwhile.
                let answer = try server.send(
                    "GET", "/rest/42/apps/a/pushdevices/nobody", nil, as: nil,
                    ["X-Carma-Authentication-Token: \(token)"])
                #expect(![401, 429, 503].contains(answer.status), "\(answer.status) \(answer.text)")
            }
        }

        @Test func `endless messages stay within the connection's memory`() async throws {
            try await TestServer.with(.sqlite) { server in
                let application = try server.application()
                let genero = "/genero/\(try Self.key("genero", of: application, server))/token_maintainer/register"
                let head = Array("POST \(genero) HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n{".utf8)
                var connections: [RawConnection] = []
                let gained = try server.process.bytesGained {
                    for _ in 0..<60 {
                        connections.append(try server.connect())
                        try connections.last?.sendWhatIsTaken(head, timeout: 50)
                    }
                    try server.process.waitUntilIdle()
                }
                #expect(gained < Bounds.bytesOfNoise + 60 * Bounds.bytesPerConnection, "\(gained) bytes")
                for _ in 0..<20 { #expect(try server.send("GET", "/v1/version").status == 200) }
                #expect(connections.count == 60)
            }
        }
    }
}
