import Foundation
import Testing

/// An application with the identity that it had on the old server.
struct MovedIn {
    let installation: TestInstallation
    let old: OldPCFServer
    let apiKeyFile: String
    let secretsFile: String

    init(to installation: TestInstallation, from old: OldPCFServer) async throws {
        self.installation = installation
        self.old = old
        let scratch = installation.scratch
        apiKeyFile = try scratch.write(OldPCFServer.apiKey + "\n", to: "api-key")
        let shared = try scratch.write(OldPCFServer.sharedSecret + "\n", to: "shared-secret")
        let created = try await installation.run(
            "app", "create", "--name", "News", "--uuid", OldPCFServer.application, "--api-key-file", apiKeyFile,
            "--shared-secret-file", shared)
        #expect(created.status == 0, "\(created.err)")
        #expect(!created.out.contains(OldPCFServer.apiKey), "a secret that was given is not shown")
        for platform in old.platforms {
            // No provider is needed for devices to move in; those of iOS take the credentials of the installation.
            let secret = try scratch.write(platform.secret, to: "secret-\(platform.os)")
            let ended = try await installation.run(
                [
                    "platform", "create", "--app", OldPCFServer.application, "--type",
                    platform.os == "ios" ? "ios" : platform.os, "--name", platform.os, "--uuid", platform.uuid,
                    "--secret-file", secret,
                ] + (platform.os == "ios" ? Self.apnsOptions(scratch) : []))
            #expect(ended.status == 0, "\(ended.err)")
        }
        secretsFile = try scratch.write(
            old.platforms.map { "\($0.uuid) \($0.secret)\n" }.joined(), to: "platform-secrets")
    }

    private static func apnsOptions(_ scratch: Scratch) -> [String] {
        [
            "--mode", "development", "--apns-key", scratch.file("key.p8"), "--key-id", "ABCDEFGHIJ", "--team-id",
            "ABCDEFGHIJ", "--topic", "com.example.news",
        ]
    }

    var arguments: [String] {
        [
            "import", "pcf", "--from", old.url, "--app-uuid", OldPCFServer.application, "--api-key-file",
            apiKeyFile, "--platform-secrets", secretsFile, "--verdicts", installation.scratch.file("verdicts.csv"),
            "--json",
        ]
    }

    var done: Int {
        struct State: Decodable { let rows: Int }
        let data = FileManager.default.contents(atPath: installation.scratch.file("verdicts.csv.state"))
        return data.flatMap { try? JSONDecoder().decode(State.self, from: $0) }?.rows ?? 0
    }

    func caller(_ user: String, _ secret: String, at base: String) -> Caller {
        Caller(base: base, user: user, secret: secret)
    }
}
