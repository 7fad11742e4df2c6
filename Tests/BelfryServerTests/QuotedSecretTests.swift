import BelfryServer
import Foundation
import Testing

/// No error repeats a secret, whichever library words it.
extension CommandTests {
    @Suite struct QuotedSecretTests {}
}

extension CommandTests.QuotedSecretTests {
    private func expectSilence(_ ended: Program.Ended, _ comment: String) {
        for part in ["swo0rd", "fi5h"] {
            #expect(!ended.err.contains(part) && !ended.out.contains(part), "\(comment): \(ended)")
        }
    }

    @Test(arguments: ["@", "/", "#", ":", "?", "%", "%%", "/@", "@/", ":@", "?x=", "&", "[", " ", "\n"])
    func `a database's password is not repeated however it is written`(character: String) async throws {
        try await Scratch.with { scratch in
            for rest in ["127.0.0.1:1/belfry", "nowhere.invalid/belfry?sslmode=no", "/belfry?host=/nowhere"] {
                let settings = ["BELFRY_DATABASE_URL": "postgres://belfry:swo0rd\(character)fi5h@\(rest)"]
                for command in ["check", "serve", "migrate"] {
                    let ended = try await Program.run(
                        [command, "--data-directory", scratch.file("data")], settings, in: scratch)
                    #expect(ended.status != 0)
                    expectSilence(ended, "\(command) \(character) \(rest)")
                }
            }
        }
    }

    @Test(arguments: [
        "BELFRY_PROXY_DEFAULT_URL", "BELFRY_PROXY_APNS_URL", "BELFRY_HTTP_TRUSTED_PROXIES", "BELFRY_MIRROR_URL",
        "BELFRY_ACROBITS_RELAY_URL", "BELFRY_CARMA_PUBLIC_URL", "BELFRY_DASHBOARD_PUBLIC_URL",
        "BELFRY_DASHBOARD_MAP_TILES", "BELFRY_PROVIDERS_DNS_SERVERS", "BELFRY_PROVIDERS_ADDRESSES_ALLOW",
        "BELFRY_HTTP_PORT", "BELFRY_HTTP_HOST", "BELFRY_LOG_LEVEL", "BELFRY_LOG_FORMAT", "BELFRY_DATABASE_MIGRATE",
        "BELFRY_MIRROR_APPS", "BELFRY_DASHBOARD_SSO_ISSUERS",
    ])
    func `no setting's fault repeats a URL's password`(variable: String) async throws {
        try await Scratch.with { scratch in
            for value in ["ftp://me:swo0rd@fi5h@host:1", "me:swo0rd/fi5h@host", "ftp://me:swo0rd#fi5h"] {
                let ended = try await Program.run(
                    ["check", "--data-directory", scratch.file("data")], [variable: value], in: scratch)
                expectSilence(ended, "\(variable)=\(value)")
            }
        }
    }

    @Test func `a broken admin key is refused without being repeated`() async throws {
        try await Scratch.with { scratch in
            for key in ["bfy_swo0rd\nfi5h", "bfy_swo0rd fi5h", "swo0rdüfi5h", "bfy_swo0rd_fi5h\n"] {
                let file = try scratch.write(key, to: "key")
                for (arguments, settings) in [
                    (["app", "list", "--server", "http://127.0.0.1:1"], ["BELFRY_ADMIN_KEY": key]),
                    (["app", "list", "--server", "http://127.0.0.1:1", "--key-file", file], [:]),
                    (["app", "list", "--server", "http://me:swo0rd@127.0.0.1:1", "--key-file", file], [:]),
                ] {
                    let ended = try await Program.run(arguments, settings, in: scratch)
                    #expect(ended.status != 0)
                    expectSilence(ended, "\(arguments)")
                }
            }
        }
    }

    @Test func `an unknown parameter of the database's URL is named`() async throws {
        try await Scratch.with { scratch in
            let ended = try await Program.run(
                ["check", "--data-directory", scratch.file("data")],
                ["BELFRY_DATABASE_URL": "postgres://u:swo0rd@h/x?pgbouncer=true&sslmode=require"], in: scratch)
            #expect(ended.status == 1 && ended.err.contains("database.url has the parameter `pgbouncer`"), "\(ended)")
            expectSilence(ended, "pgbouncer")
        }
    }
}
