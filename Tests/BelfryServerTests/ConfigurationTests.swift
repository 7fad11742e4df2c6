import BelfryServer
import BelfryService
import Foundation
import Testing

/// Faults of a configuration: `check` and `serve` report all of them, in words.
extension CommandTests {
    @Suite struct ConfigurationTests {}
}

extension CommandTests.ConfigurationTests {
    /// A configuration with faults, and words that tell each of them.
    struct Faulty: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Makes what it needs in a scratch directory, and returns a file of settings and the words.
        let make: @Sendable (Scratch) async throws -> (file: String, words: [String])
    }

    private static let faulty = [
        Faulty(testDescription: "unknown keys of the file") { _ in
            (
                #"{"management": {"prot": 9090}, "htttp": {"port": 8080}, "log": "json"}"#,
                [
                    "htttp.port is not a setting of docs/Configuration.md; the nearest is http.port",
                    "log is not a setting of docs/Configuration.md; the nearest is ",
                    "management.prot is not a setting of docs/Configuration.md; the nearest is management.port",
                ]
            )
        },
        Faulty(testDescription: "JSON that ends too early") { _ in
            (
                "{\n  \"http\": {\n    \"port\": 8080,\n  }\n}\n",
                ["is not valid JSON: expected a key in quotes at line 4, column 3"]
            )
        },
        Faulty(testDescription: "a list of leaked passwords that is not there") { _ in
            (
                #"{"dashboard.passwords.leaked.file": "/nowhere/list"}"#,
                ["dashboard.passwords.leaked.file is /nowhere/list, which cannot be read"]
            )
        },
        Faulty(testDescription: "a list of leaked passwords that is a folder") { _ in
            (
                #"{"dashboard.passwords.leaked.file": "/"}"#,
                ["dashboard.passwords.leaked.file is /, which cannot be read"]
            )
        },
        Faulty(testDescription: "a list instead of an object") { _ in ("[]", ["has to be an object, it is an array"]) },
        Faulty(testDescription: "a setting that is given twice") { _ in
            (
                #"{"http": {"port": 8080}, "http.port": 8443, "log.level": "info", "log.level": "debug"}"#,
                ["http.port is given twice", "log.level is given twice"]
            )
        },
        Faulty(testDescription: "a list of numbers") { _ in
            (
                #"{"http": {"trusted": {"proxies": [10, 11]}}}"#,
                ["http.trusted.proxies is a list of something else than texts"]
            )
        },
        Faulty(testDescription: "single sign-on without an issuer, and one that is no address") { _ in
            (
                #"""
                {"dashboard": {"password.login": false, "public.url": "belfry.example", "sso.issuers": "corp, Big_Corp, last, third, none",
                 "sso.corp": {"issuer": "http://127.0.0.1:9400", "client.id": "a", "roles": "groups=ops:king"},
                 "sso.last": {"issuer": "https://id.example"},
                 "sso.third": {"issuer": "https://id.example", "client.id": "a", "trust.root.file": "/nowhere/ca.pem"}}}
                """#,
                [
                    "dashboard.sso.issuers has `Big_Corp`, a name has 1 to 32 letters",
                    "dashboard.sso.corp.issuer is `http://127.0.0.1:9400`, it has to be an https:// address",
                    "dashboard.sso.corp.roles gives the role `king`, it has to be one of: operator, tenant-admin",
                    "dashboard.sso.last.client.id is not set", "dashboard.sso.none.client.id is not set",
                    "dashboard.sso.none.issuer is ``, it has to be an https:// address",
                    "dashboard.sso.third.trust.root.file cannot be used: /nowhere/ca.pem is missing",
                    "dashboard.password.login is false, and dashboard.sso.issuers is empty",
                    "dashboard.public.url is `belfry.example`, it has to begin with https://",
                ]
            )
        },
        Faulty(testDescription: "public URLs that cannot be served") { _ in
            (
                #"""
                {"public.url": "https://push.example.org/v1/push", "dashboard.public.url": "https://push.example.org/a//b",
                 "carma.public.url": "https://user@push.example.org"}
                """#,
                [
                    "public.url is `https://push.example.org/v1/push`, it may have no path that begins with /v1",
                    "dashboard.public.url is `https://push.example.org/a//b`, it may have a path of letters",
                    "carma.public.url is `https://…@push.example.org`, it has to have a host, and no user",
                ]
            )
        },
        Faulty(testDescription: "URLs of other servers that cannot be called") { scratch in
            let password = try scratch.write("sixteen bytes...", to: "password")
            return (
                #"""
                {"acrobits.relay.url": "https://u:pw@relay.example", "mirror.url": "https://",
                 "broker": {"user": "platform", "password.file": "\#(password)", "api.url": "not a url"}}
                """#,
                [
                    "acrobits.relay.url is `https://…@relay.example`, it has to have a host, and no user",
                    "mirror.url is `https://`, it has to have a host",
                    "broker.api.url is `not a url`, it has to begin with https://",
                ]
            )
        },
        Faulty(testDescription: "an empty data directory") { _ in
            (#"{"data.directory": ""}"#, ["data.directory is empty, it has to be a path"])
        },
        Faulty(testDescription: "names of the server that no caller could mean") { _ in
            (
                #"{"http.hosts": "a.example:443, https://b.example, c d", "public.url": "https://d:70000"}"#,
                [
                    "http.hosts has `https://b.example`, it takes names such as push.example.org",
                    "http.hosts has `c d`, it takes names",
                    "public.url is `https://d:70000`, it has to have a port in 1",
                ]
            )
        },
        Faulty(testDescription: "one port for three listeners") { _ in
            (
                #"{"http.host": "*", "http.port": 18181, "management.port": 18181, "dashboard": {"host": "::", "port": 18181}}"#,
                [
                    "http.port and management.port are both 18181", "http.port and dashboard.port are both 18181",
                    "management.port and dashboard.port are both 18181",
                ]
            )
        },
        Faulty(testDescription: "one port by two names of an address") { _ in
            (
                #"{"http.host": "::ffff:127.0.0.1", "http.port": 18181, "management.port": 18181}"#,
                ["http.port and management.port are both 18181"]
            )
        },
        Faulty(testDescription: "public URLs without a host") { _ in
            (
                #"{"public.url": "https://:443"}"#, ["public.url is `https://:443`, it has to have a host such as push"]
            )
        },
        Faulty(testDescription: "a public URL by both of its names") { _ in
            (
                #"{"public.url": "https://a.example/push", "dashboard.public.url": "https://b.example"}"#,
                ["public.url and dashboard.public.url differ"]
            )
        },
        Faulty(testDescription: "a data directory below a file") { scratch in
            let file = try scratch.write("", to: "file")
            return (
                #"{"data": {"directory": "\#(file)/data"}}"#,
                ["data.directory: \(URL(fileURLWithPath: file).standardizedFileURL.path) is not a directory"]
            )
        },
        Faulty(testDescription: "hosts that are not this machine's") { _ in
            (
                #"{"http": {"host": "nohost.invalid"}, "management": {"host": "192.0.2.1"}}"#,
                [
                    "http.host: `nohost.invalid` has no address",
                    "management.host: `192.0.2.1` is not an address of this machine",
                ]
            )
        },
        Faulty(testDescription: "a misspelt name, before what follows from it") { scratch in
            let openssl = OpenSSL(scratch: scratch)
            let (certificate, key) = try await openssl.pair("one")
            return (
                #"{"http": {"tls": {"certficate": "\#(certificate)", "key": "\#(key)"}}}"#,
                [
                    "✗ http.tls.certficate is not a setting of docs/Configuration.md; the nearest is http.tls.certificate",
                    "http.tls.certificate and http.tls.key go together",
                ]
            )
        },
        Faulty(testDescription: "a key of another certificate, and all that is wrong beside it") { scratch in
            let openssl = OpenSSL(scratch: scratch)
            let (certificate, _) = try await openssl.pair("one")
            let key = try await openssl.key("other", curve: "P-256")
            return (
                """
                {"http": {"port": 70000, "tls": {"certificate": "\(certificate)", "key": "\(key)"}}, "log": {"level": "loud"},
                 "delivery": {"lease": {"seconds": "soon"}}, "shutdown": {"delay": {"seconds": 40}}, "http.prot": 1}
                """,
                [
                    "http.port is `70000`", "log.level is `loud`", "delivery.lease.seconds is `soon`",
                    "shutdown.delay.seconds has to be less than shutdown.timeout.seconds", "http.prot is not a setting",
                    "http.tls: ",
                ]
            )
        },
    ]

    @Test(arguments: faulty)
    func `check names all faults, and serve refuses them`(_ faulty: Faulty) async throws {
        try await Scratch.with { scratch in
            let (text, words) = try await faulty.make(scratch)
            let file = try scratch.write(text, to: "belfry.json")
            let data = ["BELFRY_DATA_DIRECTORY": scratch.file("data")]
            let environment = text.contains("directory") ? [:] : data
            let check = try await Program.run(["check", "--config", file], environment, in: scratch)
            #expect(check.status == 1)
            for words in words { #expect(check.err.contains(words), "\(check.err)") }
            #expect(check.err.split(separator: "\n").count == words.count, "nothing is told twice: \(check.err)")
            if words.first?.hasPrefix("✗") == true { #expect(check.err.hasPrefix(words[0]), "\(check.err)") }
            let serve = try await Program.run(["serve", "--config", file], environment, in: scratch)
            #expect(serve.status != 0)
            #expect(!FileManager.default.fileExists(atPath: scratch.file("data/belfry.sqlite")))
        }
    }

    @Test func `nested and dotted keys mean the same, lists included`() async throws {
        try await Scratch.with { scratch in
            let nested = try scratch.write(
                #"{"http": {"port": 1234, "trusted": {"proxies": ["10.0.0.0/8", "::1"]}}, "database": {"migrate": false}}"#,
                to: "nested.json")
            let text = #"{"http.port": 1234, "http.trusted.proxies": "10.0.0.0/8, ::1", "database.migrate": false}"#
            let flat = try scratch.write(text, to: "flat.json")
            // PowerShell writes UTF-16.
            let wide = scratch.file("wide.json")
            try #require(text.data(using: .utf16)).write(to: URL(filePath: wide))
            for file in [nested, flat, wide] {
                let configuration = try await ServerConfiguration.load(file: file, environment: [:])
                #expect(configuration.http.port == 1234)
                #expect(!configuration.storage.migrates)
            }
        }
    }

    @Test func `a taken port is named with its settings, nothing else`() async throws {
        try await Scratch.with { scratch in
            let first = try Program.start(
                ["serve", "--data-directory", scratch.file("one")],
                ["BELFRY_HTTP_PORT": "0", "BELFRY_MANAGEMENT_PORT": "0", "BELFRY_LOG_FORMAT": "json"],
                log: scratch.file("log"))
            defer { first.endAtOnce() }
            let port = try #require(URL(string: try await first.addresses().http)?.port)
            let second = try await Program.run(
                ["serve", "--data-directory", scratch.file("two"), "--port", "\(port)", "--management-port", "0"],
                in: scratch)
            #expect(second.status != 0)
            #expect(
                second.err.contains(
                    "cannot listen on 127.0.0.1:\(port) (http.host, http.port): the port is in use already"),
                "\(second.err)")
            for noise in ["not ready", "bind(", "Cancellation"] {
                #expect(!second.err.contains(noise), "\(second.err)")
            }
            try await first.end(SIGTERM)
        }
    }
}

// MARK: - The demo

extension CommandTests.ConfigurationTests {
    @Test func `the demo uses no configuration and only its own database`() async throws {
        try await TestInstallation.with { installation in
            let file = try installation.scratch.write(
                #"{"data": {"directory": "\#(installation.data)"}}"#, to: "production.json")
            let environment = [
                "BELFRY_CONFIG_FILE": file, "BELFRY_DATA_DIRECTORY": installation.data,
                "TMPDIR": installation.scratch.path,
            ]
            let before = try await installation.run("app", "list", "--json").out
            let demo = ["demo", "--once", "--devices", "100", "--port", "0", "--management-port", "0"]
            let ended = try await Program.run(demo, environment, in: installation.scratch)
            #expect(ended.status == 0, "\(ended.err)")
            #expect(try await installation.run("app", "list", "--json").out == before)
            let left = try FileManager.default.contentsOfDirectory(atPath: installation.scratch.path)
            #expect(!left.contains { $0.hasPrefix("belfry-demo") })
            let refused = try await Program.run(
                demo + ["--data-directory", installation.data], in: installation.scratch)
            #expect(refused.status != 0)
            #expect(refused.err.contains("holds a database already"), "\(refused.err)")
        }
    }

    @Test func `a push names recipients, and everyone needs two requests`() async throws {
        try await TestInstallation.with { installation in
            let push = ["push", "--app", installation.application, "--body", "Hello"]
            let unnamed = try await installation.run(push)
            #expect(unnamed.status != 0 && unnamed.err.contains("give exactly one of --everyone"), "\(unnamed.err)")
            let unasked = try await installation.run(push + ["--everyone"])
            #expect(unasked.status != 0 && unasked.err.contains("--yes"), "\(unasked.err)")
            let sent = try await installation.run(push + ["--everyone", "--yes"])
            #expect(sent.status == 0 && sent.out.contains("receipt_id"), "\(sent.err)")
            let later = try await installation.run(push + ["--topic", "town", "--send-at", "2199-01-31T09:00:00Z"])
            #expect(later.status == 0 && later.out.contains("schedule_id"), "\(later.err)")
            let custom = try await installation.run(
                push + ["--user", "emma", "--custom", #"{"ios":{"badge":1}}"#, "--urgency", "loud"])
            #expect(custom.status != 0 && custom.err.contains("urgency"), "\(custom.err)")
        }
    }
}

extension CommandTests.ConfigurationTests {
    @Test func `every setting shows value and source, except secrets`() async throws {
        let configuration = try await ServerConfiguration.load(
            flags: ["http.port": "8443"],
            environment: [
                "BELFRY_HTTP_HOST": "0.0.0.0", "BELFRY_HTTP_PORT": "1",
                "BELFRY_DATABASE_URL": "postgres://a:hunter2@h/d",
                "BELFRY_PROXY_APNS_URL": "http://hunter2@h:1", "push_security_verifyCustomUserId": "true",
            ])
        let reports = Dictionary(uniqueKeysWithValues: configuration.reports.map { ($0.key, $0) })
        #expect(reports["http.port"] == SettingReport(key: "http.port", value: "8443", source: .flag))
        #expect(reports["http.host"] == SettingReport(key: "http.host", value: "0.0.0.0", source: .environment))
        #expect(reports["log.level"] == SettingReport(key: "log.level", value: "info", source: .default))
        #expect(reports.values.contains { $0.source == .oldName && $0.value == "true" })
        for key in ["database.url", "proxy.apns.url"] {
            #expect(reports[key]?.isSecret == true && reports[key]?.source == .environment, "\(key)")
        }
        #expect(!"\(reports)".contains("hunter2"))
        #expect(reports.count > 100)
    }
}

extension CommandTests.ConfigurationTests {
    @Test func `a service's variables are skipped and empty ones unset`() async throws {
        let injected = [
            "BELFRY_PORT": "tcp://10.0.0.7:8080", "BELFRY_SERVICE_HOST": "10.0.0.7", "BELFRY_SERVICE_PORT": "8080",
            "BELFRY_SERVICE_PORT_HTTP": "8080", "BELFRY_PORT_8080_TCP": "tcp://10.0.0.7:8080",
            "BELFRY_PORT_8080_TCP_PROTO": "tcp", "BELFRY_PORT_8080_TCP_PORT": "8080",
            "BELFRY_PORT_8080_TCP_ADDR": "10.0.0.7", "BELFRY_HTTP_PORT": "tcp://10.0.0.8:8080",
            "BELFRY_MANAGEMENT_SERVICE_HOST": "10.0.0.9",
        ]
        let empty = ["BELFRY_MANAGEMENT_PORT": "", "BELFRY_DATABASE_URL": "", "BELFRY_MISSPELT": ""]
        let configuration = try await ServerConfiguration.load(
            environment: injected.merging(empty) { first, _ in first }, unknownVariables: .refused)
        #expect(configuration.injectedVariables == injected.keys.sorted())
        #expect(configuration.http.port == 8_080 && configuration.management.port == 9_090)
        for (name, value) in [("BELFRY_PROT", "1"), ("BELFRY_HTTP_PORT", "tcp"), ("BELFRY_PORT", "8080")] {
            await #expect(throws: ConfigurationFaults.self) {
                try await ServerConfiguration.load(environment: [name: value])
            }
        }
    }

    @Test func `an IPv6 address stands in brackets in a URL`() async throws {
        let configuration = try await ServerConfiguration.load(environment: [
            "BELFRY_HTTP_HOST": "::1", "BELFRY_GENERO_HOST": "[::1]", "BELFRY_GENERO_PORT": "1",
            "BELFRY_GENERO_APP": UUID().uuidString, "BELFRY_GATEWAY_HOST": "*", "BELFRY_GATEWAY_PORT": "2",
            "BELFRY_GATEWAY_TLS_CERTIFICATE": "a", "BELFRY_GATEWAY_TLS_KEY": "b",
            "BELFRY_HTTP_HOSTS": "Push.example.org:443, a.example., 2001:DB8::1, [2001:db8::2]",
        ])
        #expect(configuration.genero?.listener.host == "::1" && configuration.gateway?.host == "0.0.0.0")
        #expect(
            configuration.carma.address.hosts == ["push.example.org", "a.example", "2001:db8::1", "2001:db8::2"])
        #expect(
            configuration.http.url == "http://[::1]:8080" && configuration.management.url == "http://127.0.0.1:9090")
    }
}
