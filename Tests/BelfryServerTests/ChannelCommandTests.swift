import BelfryServer
import BelfrySimulators
import BelfryTesting
import Foundation
import Testing

/// Broadcast channels by command: on the server's machine, and on a server elsewhere.
extension CommandTests {
    @Suite struct ChannelCommandTests {}
}

extension CommandTests.ChannelCommandTests {
    private struct Channel: Decodable { let channel_id: String }

    @Test func `a channel made elsewhere is seen, then gone when deleted`() async throws {
        try await TestInstallation.with { installation in
            let key = APNsSimulator.IssuedKey()
            var management = APNsChannelsConfiguration()
            management.keys = [key.known]
            let apple = try await APNsChannelsSimulator.start(management)
            let result = await Result {
                let platform = try await Self.platform(key, apple, of: installation)
                let server = try await installation.serve()
                defer { server.endAtOnce() }
                let elsewhere = [
                    "--server", try await server.addresses().http, "--key-file", installation.data + "/admin.key",
                ]
                let made: Channel = try await Program.run(
                    ["channel", "create", "--platform", platform, "--storage", "latest", "--json"] + elsewhere,
                    in: installation.scratch
                ).decoded()
                for place in [elsewhere, ["--data-directory", installation.data]] {
                    let on = ["--platform", platform] + place
                    let list = try await Program.run(["channel", "list"] + on, in: installation.scratch)
                    #expect(list.out == made.channel_id + "\n", "\(list.err)")
                    let shown = try await Program.run(
                        ["channel", "show", made.channel_id] + on, in: installation.scratch)
                    #expect(shown.out.contains("latest"), "\(shown.err)")
                }
                let deletion = ["channel", "delete", made.channel_id, "--platform", platform] + elsewhere
                #expect(try await Program.run(deletion, in: installation.scratch).status == 0)
                let again = try await Program.run(deletion, in: installation.scratch)
                #expect(again.status != 0 && again.err.contains("no such channel"), "\(again.err)")
                try await server.end(SIGTERM)
            }
            try await apple.shutdown()
            try result.get()
        }
    }

    /// Makes a platform whose channels the simulator keeps; returns its UUID.
    static func platform(
        _ key: APNsSimulator.IssuedKey, _ apple: APNsChannelsSimulator, of installation: TestInstallation
    ) async throws -> String {
        let fields = [
            "apns_key=@\(try installation.scratch.write(key.p8, to: "channels.p8"))", "key_id=\(key.keyID)",
            "team_id=\(key.teamID)", "topic=\(TestServer.topic)", "channels_endpoint=\(apple.url)",
            "trust_root=@\(try installation.scratch.write(apple.trustRootPEM, to: "channels.pem"))",
        ]
        let arguments = [
            "platform", "create", "--json", "--app", installation.application, "--type", "ios-broadcast", "--mode",
            "development", "--name", "Matches",
        ]
        let created = try await installation.run(arguments + fields.flatMap { ["--credential", $0] })
        return try TestInstallation.CreatedPlatform(created).platform_uuid
    }
}
