import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Broadcast channels by command: on the server's machine, and on a server elsewhere.
extension ServerTests {
    @Suite struct ChannelCommandTests {}
}

extension ServerTests.ChannelCommandTests {
    private struct Channel: Decodable { let channel_id: String }

    @Test func `a channel is made elsewhere, seen here, and gone once deleted`() async throws {
        try await Estate.with { estate in
            let key = APNsSimulator.IssuedKey()
            var management = APNsChannelsConfiguration()
            management.keys = [key.known]
            let apple = try await APNsChannelsSimulator.start(management)
            let result = await Result {
                let platform = try await Self.platform(key, apple, of: estate)
                let server = try await estate.serve()
                defer { server.endAtOnce() }
                let elsewhere = [
                    "--server", try await server.addresses().http, "--key-file", estate.data + "/admin.key",
                ]
                let made: Channel = try await Program.run(
                    ["channel", "create", "--platform", platform, "--storage", "latest", "--json"] + elsewhere,
                    in: estate.scratch
                ).decoded()
                for place in [elsewhere, ["--data-directory", estate.data]] {
                    let on = ["--platform", platform] + place
                    let list = try await Program.run(["channel", "list"] + on, in: estate.scratch)
                    #expect(list.out == made.channel_id + "\n", "\(list.err)")
                    let shown = try await Program.run(["channel", "show", made.channel_id] + on, in: estate.scratch)
                    #expect(shown.out.contains("latest"), "\(shown.err)")
                }
                let deletion = ["channel", "delete", made.channel_id, "--platform", platform] + elsewhere
                #expect(try await Program.run(deletion, in: estate.scratch).status == 0)
                let again = try await Program.run(deletion, in: estate.scratch)
                #expect(again.status != 0 && again.err.contains("no such channel"), "\(again.err)")
                try await server.end(SIGTERM)
            }
            try await apple.shutdown()
            try result.get()
        }
    }

    /// Makes a platform whose channels the simulator keeps; returns its UUID.
    static func platform(
        _ key: APNsSimulator.IssuedKey, _ apple: APNsChannelsSimulator, of estate: Estate
    ) async throws -> String {
        let fields = [
            "apns_key=@\(try estate.scratch.write(key.p8, to: "channels.p8"))", "key_id=\(key.keyID)",
            "team_id=\(key.teamID)", "topic=\(House.topic)", "channels_endpoint=\(apple.url)",
            "trust_root=@\(try estate.scratch.write(apple.trustRootPEM, to: "channels.pem"))",
        ]
        let arguments = [
            "platform", "create", "--json", "--app", estate.application, "--type", "ios-broadcast", "--mode",
            "development", "--name", "Matches",
        ]
        let created = try await estate.run(arguments + fields.flatMap { ["--credential", $0] })
        return try Estate.CreatedPlatform(created).platform_uuid
    }
}
