import BelfryProviders
import BelfryServer
import Foundation
import Testing
import Tunnel

/// Settings of proxies, by today's names and by those of the PCF Push Notification Service.
@Suite struct ProxySettingsTests {
    private func plan(_ flags: [String: String] = [:], environment: [String: String] = [:]) async throws -> ProxyPlan {
        try await ServerConfiguration.load(flags: flags, environment: environment).providers.proxies
    }

    private func faults(
        _ flags: [String: String] = [:], environment: [String: String] = [:]
    ) async throws -> [String] {
        do {
            _ = try await plan(flags, environment: environment)
            return []
        } catch let error as ConfigurationFaults {
            return error.lines
        }
    }

    @Test func `without settings everybody is reached directly`() async throws {
        let plan = try await plan()
        #expect(ProviderFamily.allCases.allSatisfy { plan[$0] == nil })
    }

    @Test func `a family has its own proxy, the default, or none`() async throws {
        let plan = try await plan(
            ["proxy.default.url": "http://one.example:3128", "proxy.webhook.url": "none"],
            environment: ["BELFRY_PROXY_APNS_URL": "socks5://me:secret@two.example:1080"])
        #expect(plan[.apns].map { "\($0)" } == "socks5://two.example:1080")
        #expect(plan[.apns]?.login == ProxyLogin(user: "me", password: "secret"))
        #expect(plan[.fcm].map { "\($0)" } == "http://one.example:3128")
        #expect(plan[.webhook] == nil)
    }

    @Test(arguments: ["geheim", "geheim\n", "geheim\r\n", "\u{FEFF}geheim\n"])
    func `a password comes from a file`(text: String) async throws {
        try await Scratch.with { scratch in
            let plan = try await plan([
                "proxy.fcm.url": "http://me@one.example:3128",
                "proxy.fcm.password.file": try scratch.write(text, to: "password"),
            ])
            #expect(plan[.fcm]?.login == ProxyLogin(user: "me", password: "geheim"))
        }
    }

    @Test func `both stand side by side in a file`() async throws {
        try await Scratch.with { scratch in
            let password = try scratch.write("geheim", to: "password")
            let text = #"{"proxy":{"default":{"url":"socks5://me@a.example:1","password":{"file":"\#(password)"}}}}"#
            let file = try scratch.write(text, to: "belfry.json")
            let plan = try await ServerConfiguration.load(file: file, environment: [:]).providers.proxies
            #expect(plan[.mpns]?.login == ProxyLogin(user: "me", password: "geheim"))
        }
    }

    @Test func `proxy names go today's first, then PCF's SOCKS, then HTTP`() async throws {
        var environment = [
            "push_apns_socksProxyHost": "a.example", "push_apns_socksProxyPort": "1080",
            "push_fcm_httpProxyHost": "b.example", "push_fcm_httpProxyPort": "3128",
            "push_gcm_httpProxyHost": "b.example", "push_gcm_httpProxyPort": "3128",
            "push_gcm_socksProxyHost": "c.example", "push_gcm_socksProxyPort": "1081",
            "push_apns_httpProxyHost": "ignored.example", "push_apns_httpProxyPort": "1",
        ]
        let old = try await plan(environment: environment)
        #expect(old[.apns].map { "\($0)" } == "socks5://a.example:1080")
        #expect(old[.fcm].map { "\($0)" } == "http://b.example:3128")
        #expect(old[.gcm].map { "\($0)" } == "socks5://c.example:1081")
        #expect(old[.webpush] == nil)
        environment["push_fcm_httpProxyHost"] = nil
        let older = try await plan(environment: environment)
        #expect(older[.fcm].map { "\($0)" } == "socks5://c.example:1081", "before there were names of FCM")
        environment["push_fcm_httpProxyHost"] = "b.example"
        environment["BELFRY_PROXY_DEFAULT_URL"] = "http://d.example:80"
        environment["BELFRY_PROXY_FCM_URL"] = "none"
        let new = try await plan(environment: environment)
        #expect(new[.apns].map { "\($0)" } == "socks5://a.example:1080")
        #expect(new[.fcm] == nil)
        #expect(new[.webpush].map { "\($0)" } == "http://d.example:80")
    }

    @Test func `names of PCF that mean nothing here are told`() async throws {
        let environment = [
            "push_baidu_httpProxyHost": "a.example", "push_security_trustAllCerts": "true",
            "push_fcm_httpProxyHost": "b.example", "push_fcm_httpProxyPort": "3128",
            "push_security_verifyCustomUserId": "true", "BELFRY_PROXY_FCM_URL": "none",
        ]
        let configuration = try await ServerConfiguration.load(environment: environment)
        #expect(configuration.strayOldNames == ["push_baidu_httpProxyHost", "push_security_trustAllCerts"])
    }

    @Test func `Android receipts and migrations accept PCF's names too`() async throws {
        let standard = try await ServerConfiguration.load(environment: [:])
        #expect(standard.providers.sendsAndroidReceiptID && standard.storage.migrates)
        let environment = [
            "push_gcm_sendReceipt": "false", "liquibase_runMigrations": "false",
            "crypto_applicationKey": "0123456789abcdef",
        ]
        let old = try await ServerConfiguration.load(environment: environment)
        #expect(!old.providers.sendsAndroidReceiptID && !old.storage.migrates)
        #expect(old.strayOldNames == ["crypto_applicationKey"])
        #expect(LegacySettings.reason(for: "crypto_applicationKey").contains("key ring"))
    }

    @Test func `all faults are named at once, without passwords`() async throws {
        try await Scratch.with { scratch in
            let empty = try scratch.write("\n", to: "empty")
            let faults = try await faults(
                [
                    "proxy.default.url": "https://proxy.example:3128", "proxy.apns.url": "socks5://anna:geheim@proxy",
                    "proxy.fcm.url": "http://anna:geheim@proxy.example:3128", "proxy.fcm.password.file": empty,
                    "proxy.hms.password.file": empty, "proxy.wns.url": "http://anna@proxy.example:3128",
                    "proxy.wns.password.file": scratch.file("missing"), "proxy.adm.url": "none",
                    "proxy.adm.password.file": empty,
                ],
                environment: [
                    "push_gcm_socksProxyHost": "proxy.example", "BELFRY_PROXY_BAIDU_URL": "none",
                ])
            #expect(
                faults == [
                    "BELFRY_PROXY_BAIDU_URL is not a setting of docs/Configuration.md; the nearest is BELFRY_PROXY_ADM_URL",
                    "proxy.default.url cannot be used: it has to begin with http:// or socks5://",
                    "proxy.apns.url cannot be used: its port is missing",
                    "proxy.fcm.password.file cannot be used: \(empty) is empty",
                    "push_gcm_socksProxyHost and push_gcm_socksProxyPort cannot be used: its port has to be in 1...65535",
                    "proxy.hms.password.file is set, and there is no proxy at proxy.hms.url",
                    "proxy.wns.password.file cannot be used: \(scratch.file("missing")) is missing",
                    "proxy.adm.password.file is set, and there is no proxy at proxy.adm.url",
                ])
            #expect(!faults.joined().contains("geheim"))
        }
    }
}
