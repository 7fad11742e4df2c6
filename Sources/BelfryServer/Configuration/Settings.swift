import BelfryService
import Configuration
import Foundation
package import FoundationEssentials

/// Reads settings one by one and collects the faults, so that all are reported together.
///
/// A value comes from the first of: flags, `BELFRY_*` environment, the file, an old `push_*` name, the default.
final class Settings {
    private let reader: ConfigReader
    private let oldNames: [String: String]
    private(set) var faults: [String] = []
    private(set) var known: Set<String> = []
    private let given: [(source: SettingReport.Source, keys: Set<String>)]
    private let file: ConfigurationFile?
    private var read: [String: SettingReport] = [:]
    private var knownOldNames: Set<String> = []
    /// The old name of each setting that has one.
    private var settingOldNames: [String: String] = [:]

    /// Old names that were given and belong to no setting.
    var strayOldNames: [String] { oldNames.keys.filter { !knownOldNames.contains($0) }.sorted() }

    /// - Parameters:
    ///   - flags: the keys that flags were given for.
    ///   - file: the file that was read, if there is one.
    init(
        _ reader: ConfigReader, environment: [String: String], flags: [String] = [], file: ConfigurationFile? = nil
    ) {
        self.reader = reader
        self.file = file
        oldNames = environment.filter { LegacySettings.isOld($0.key) && !$0.value.isEmpty }
        given = [
            (.flag, Set(flags)), (.environment, Set(environment.filter { !$0.value.isEmpty }.keys)),
            (.file, Set((file?.values ?? [:]).keys)),
        ]
    }

    /// Every setting that was read, with what it is and where that comes from.
    var reports: [SettingReport] { read.values.sorted { $0.key < $1.key } }

    func string(_ key: String, default fallback: String, oldName: String? = nil) -> String {
        raw(key, oldName, default: fallback) ?? fallback
    }

    func optionalString(_ key: String) -> String? { raw(key, nil) }

    /// A text that may contain a password; it must not reach the access log of the reader, nor a fault.
    func secret(_ key: String) -> String? {
        known.insert(key)
        let value = reader.string(forKey: ConfigKey(key), isSecret: true)
        note(key, value, nil, nil, isSecret: true)
        return value
    }

    private func note(
        _ key: String, _ value: String?, _ oldName: String?, _ fallback: String?, isSecret: Bool = false
    ) {
        let variable = Self.variable(key)
        let source =
            given.first { $0.keys.contains($0.source == .environment ? variable : key) }?.source
            ?? (oldName.flatMap { oldNames[$0] } == nil ? .default : .oldName)
        // A setting that another one falls back to is read with and without its default.
        if value == nil, fallback == nil, read[key] != nil { return }
        read[key] = SettingReport(
            key: key, value: value ?? fallback, source: source,
            isSecret: isSecret || Self.isSecret(key, value ?? ""))
    }

    /// A password is in a file of its own, but for URLs, which may have one.
    private static func isSecret(_ key: String, _ value: String) -> Bool {
        key == "database.url" || (value.contains("://") && value.contains("@"))
    }

    private static func variable(_ key: String) -> String { "BELFRY_" + key.uppercased().replacing(".", with: "_") }

    /// Registers the old names of settings, whether they are read or not.
    func know(oldNames names: String...) { knownOldNames.formUnion(names) }

    /// The value of an old name in the environment; nil when it is empty.
    func oldValue(_ name: String) -> String? { oldNames[name] }

    /// Words separated by commas; none is empty.
    func words(_ key: String) -> [String] {
        (raw(key, nil, default: "") ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { !$0.isEmpty }
    }

    func int(_ key: String, default fallback: Int, in range: ClosedRange<Int>, oldName: String? = nil) -> Int {
        guard let text = raw(key, oldName, default: String(fallback)) else { return fallback }
        guard let value = Int(text), range.contains(value) else {
            return fault(
                key, "is `\(text.quotable)`, it has to be a whole number in \(range.lowerBound)...\(range.upperBound)",
                fallback)
        }
        return value
    }

    func bool(_ key: String, default fallback: Bool, oldName: String? = nil) -> Bool {
        guard let text = raw(key, oldName, default: String(fallback)) else { return fallback }
        switch text.lowercased() {
        case "true", "yes", "on", "1": return true
        case "false", "no", "off", "0": return false
        default: return fault(key, "is `\(text.quotable)`, it has to be true or false", fallback)
        }
    }

    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ key: String, default fallback: Choice) -> Choice {
        guard let text = raw(key, nil, default: fallback.rawValue) else { return fallback }
        guard let value = Choice(rawValue: text.lowercased()) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            return fault(key, "is `\(text.quotable)`, it has to be one of: \(choices)", fallback)
        }
        return value
    }

    func seconds(_ key: String, default fallback: Int, in range: ClosedRange<Int>, oldName: String? = nil) -> Duration {
        .seconds(int(key, default: fallback, in: range, oldName: oldName))
    }

    func days(_ key: String, default fallback: Int, in range: ClosedRange<Int>) -> Duration {
        .seconds(int(key, default: fallback, in: range) * 86_400)
    }

    /// Names each `BELFRY_*` variable that is not a setting, which usually is a typing error, with the most similar
    /// setting.
    ///
    /// - Parameter others: variables that are read elsewhere.
    func unknownVariables(in environment: [String: String], besides others: [String]) -> [String] {
        let names = Set(known.map(Self.variable) + others)
        return Self.strangers(in: environment.keys.filter { $0.hasPrefix("BELFRY_") }, known: names)
    }

    /// Names each key of the file that no setting has, with the setting it is nearest to.
    func unknownKeys(in file: ConfigurationFile) -> [String] {
        Self.strangers(in: Array(file.values.keys), known: known).map { "\($0), in \(file.path)" }
    }

    private static func strangers(in names: [String], known: Set<String>) -> [String] {
        names.filter { !known.contains($0) }.sorted().map { stranger in
            let nearest = known.sorted().min { $0.edits(to: stranger) < $1.edits(to: stranger) }
            let advice = nearest.map { "; the nearest is \($0)" } ?? ""
            return "\(stranger) is not a setting of docs/Configuration.md\(advice)"
        }
    }

    /// The faults, each with the file or the variable that has the setting which it begins with.
    var locatedFaults: [String] {
        faults.map { fault in
            let key = String(fault.prefix { $0 != " " && $0 != ":" })
            switch read[key]?.source {
            case .file: return file.map { fault.hasSuffix($0.path) ? fault : "\(fault), in \($0.path)" } ?? fault
            case .environment: return "\(fault), in \(Self.variable(key))"
            case .oldName: return "\(fault), in \(settingOldNames[key] ?? "")"
            default: return fault
            }
        }
    }

    /// Adds a fault in a combination of settings that are valid individually; once, wherever it is found.
    func note(_ fault: String) {
        if !faults.contains(fault) { faults.append(fault) }
    }

    /// The content of a file that a setting names; nil, and a fault, where it cannot be read.
    func contents(_ key: String, _ path: String) -> Data? {
        do throws(FileFault) {
            return try path.absolutePath.contents().inUTF8
        } catch {
            return fault(key, "cannot be used: \(error)", nil)
        }
    }

    func fault<Value>(_ key: String, _ problem: String, _ fallback: Value) -> Value {
        note("\(key) \(problem)")
        return fallback
    }

    private func raw(_ key: String, _ oldName: String?, default fallback: String? = nil) -> String? {
        known.insert(key)
        if let oldName {
            know(oldNames: oldName)
            settingOldNames[key] = oldName
        }
        let value = reader.string(forKey: ConfigKey(key)) ?? oldName.flatMap { oldNames[$0] }
        note(key, value, oldName, fallback)
        return value
    }
}

/// All faults of a configuration, a line each.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package let lines: [String]

    package init(lines: [String]) { self.lines = lines }

    package var description: String { lines.joined(separator: "\n") }
}

/// The settings of the PCF Push Notification Service, as its operators have them in the environment.
package enum LegacySettings {
    /// Settings of PCF that do not begin with `push_`.
    private static let others: Set = ["crypto_applicationKey", "liquibase_runMigrations"]

    static func isOld(_ name: String) -> Bool { name.hasPrefix("push_") || others.contains(name) }

    /// Why a setting of PCF means nothing here.
    package static func reason(for name: String) -> String {
        switch name {
        case "crypto_applicationKey":
            "credentials are sealed with the key ring, which is made at the first start"
        case "push_apns_logDeviceTokens", "push_gcm_logDeviceTokens": "tokens are never logged"
        case "push_security_trustAllCerts": "the certificates of providers are always verified"
        default: "there is nothing like it"
        }
    }
}

extension ServerAddress {
    /// Reads the address of the main listener: `public.url`, by default the host that the caller names, if it can be believed; and
    /// `http.hosts`, by default none, names by which clients reach the server beside those of this machine.
    init(_ settings: Settings) {
        self.init(
            publicURL: settings.publicURL(),
            hosts: Set(settings.words("http.hosts").compactMap(settings.hostName)),
            isSecure: settings.optionalString("http.tls.certificate") != nil)
    }
}

extension Carma.Options {
    init(_ settings: Settings) {
        self.init(address: ServerAddress(settings))
        address.publicURL = settings.publicURL("carma.public.url") ?? address.publicURL
    }
}

extension Broker.Options {
    /// `broker.user`, `broker.password.file`, and `broker.api.url`, the address for bound applications. All of them, or
    /// none.
    init?(_ settings: Settings) {
        let user = settings.optionalString("broker.user")
        let file = settings.optionalString("broker.password.file")
        let isNamed = settings.optionalString("broker.api.url")?.isEmpty == false
        guard user != nil || file != nil || isNamed else { return nil }
        guard let user, let file, isNamed else {
            settings.note("broker.user, broker.password.file and broker.api.url go together, some of them are not set")
            return nil
        }
        guard let apiURL = settings.publicURL("broker.api.url"),
            let data = settings.contents("broker.password.file", file)
        else { return nil }
        let password = String(decoding: data, as: UTF8.self).filter { !$0.isNewline }
        guard password.utf8.count >= Self.passwordBytesMin else {
            settings.note("broker.password.file holds less than \(Self.passwordBytesMin) bytes")
            return nil
        }
        self.init(user: user, password: password, apiURL: apiURL)
    }

    /// The fewest bytes of a password. A shorter one might be guessed.
    private static let passwordBytesMin = 16
}

extension Settings {
    /// The name in an entry of `http.hosts`, without a port; nil, and a fault, for one that no caller could mean.
    fileprivate func hostName(_ entry: String) -> String? {
        ServerAddress.name(in: entry) ?? NetworkAddress(entry).map { _ in entry.lowercased() }
            ?? fault("http.hosts", "has `\(entry.quotable)`, it takes names such as push.example.org", nil)
    }

    /// `public.url`, or by its older name `dashboard.public.url`: where browsers and devices reach this server, with the path that a proxy
    /// serves it below, if any. nil where neither is set.
    func publicURL() -> String? {
        let (key, older) = ("public.url", "dashboard.public.url")
        let (url, olderURL) = (publicURL(key), publicURL(older))
        if let url, let olderURL, url != olderURL {
            note("\(key) and \(older) differ, and are one setting: keep \(key)")
        }
        return url ?? olderURL
    }

    /// A URL without a slash at its end.
    ///
    /// - Parameter isOwn: whether it leads here. No route of this server may begin with its path then, which could not be told from a
    ///   proxy's.
    func publicURL(_ key: String, isOwn: Bool = true) -> String? {
        guard let given = optionalString(key), !given.isEmpty else { return nil }
        func wrong(_ problem: String) -> String? { fault(key, "is `\(given.quotable)`, it \(problem)", nil) }
        guard given.hasPrefix("https://") || given.hasPrefix("http://") else {
            return wrong("has to begin with https:// or http://")
        }
        let url = given.hasSuffix("/") ? String(given.dropLast()) : given
        let parts = url.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        guard let host = parts.first, !host.isEmpty, !host.utf8.contains(where: Self.isNoneOfAHost) else {
            return wrong("has to have a host, and no user, query or fragment")
        }
        guard ServerAddress.name(in: String(host)) != nil else {
            return wrong("has to have a host such as push.example.org")
        }
        if let colon = host.lastIndex(of: ":"), host.last != "]" {
            guard let port = UInt16(host[colon...].dropFirst()), port > 0 else {
                return wrong("has to have a port in 1...65535, or none")
            }
        }
        let path = parts.dropFirst()
        guard path.allSatisfy({ !$0.isEmpty && $0 != "." && $0 != ".." && $0.utf8.allSatisfy(Self.isOfAPath) }) else {
            return wrong(
                "may have a path of letters, digits, '-', '.', '_' and '~' between single slashes, and nothing behind it"
            )
        }
        if isOwn, let first = path.first, Self.ownPaths.contains(String(first)) {
            return wrong("may have no path that begins with /\(first): this server has pages of its own there")
        }
        return url
    }

    private static func isNoneOfAHost(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte >= 0x7F || "@?#\\".utf8.contains(byte)
    }

    /// Source: RFC 3986 §2.3, unreserved characters.
    private static func isOfAPath(_ byte: UInt8) -> Bool {
        (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A) || (0x30...0x39 ~= byte) || "-._~".utf8.contains(byte)
    }

    /// The first parts of the paths that are served.
    static let ownPaths: Set = [
        "acrobits", "admin", "broker", "carma", "dashboard", "genero", "health", "healthcheck", "openapi.yaml", "pnm2",
        "rest",
        "sdk", "v1", "v2", "web",
    ]
}

/// The listeners that speak Apple's binary protocol.
package struct GatewayConfiguration: Sendable {
    /// `gateway.host`, default `127.0.0.1`.
    package var host: String
    /// `gateway.port`, 0...65535; 0 takes any free one. nil without the gateway.
    package var port: Int?
    /// `gateway.feedback.port`, likewise, of the feedback service.
    package var feedbackPort: Int?
    /// `gateway.tls.certificate` and `gateway.tls.key`, paths; `gateway.tls.version.max`, `1.2` or `1.3`, default `1.3`.
    package var tls: TLSFiles

    /// nil while there is no port.
    init?(_ settings: Settings) {
        host = ListenerConfiguration.plain(settings.string("gateway.host", default: "127.0.0.1"))
        port = settings.port("gateway.port")
        feedbackPort = settings.port("gateway.feedback.port")
        let certificate = settings.optionalString("gateway.tls.certificate")
        let key = settings.optionalString("gateway.tls.key")
        let versionMax = settings.choice("gateway.tls.version.max", default: TLSFiles.VersionMax.tls13)
        guard port != nil || feedbackPort != nil else { return nil }
        guard let certificate, let key else {
            settings.note("gateway.port and gateway.feedback.port need gateway.tls.certificate and gateway.tls.key")
            return nil
        }
        tls = TLSFiles(
            certificate: certificate.absolutePath, key: key.absolutePath, versionMax: versionMax,
            asksForCertificates: true)
    }
}

/// The listener for apps of Genero that have a host and a port built in, and no key.
package struct GeneroConfiguration: Sendable {
    /// `genero.host`, default `127.0.0.1`, and `genero.port`, 0...65535; 0 takes any free one.
    package var listener: ListenerConfiguration
    /// `genero.app`: the UUID of the application.
    package var application: UUID

    /// nil while there is no port.
    init?(_ settings: Settings) {
        let host = ListenerConfiguration.plain(settings.string("genero.host", default: "127.0.0.1"))
        let port = settings.port("genero.port")
        let text = settings.optionalString("genero.app")
        guard port != nil || text != nil else { return nil }
        guard let port, let application = text.flatMap({ UUID(uuidString: $0) }) else {
            settings.note("genero.port and genero.app go together, and genero.app is the UUID of an application")
            return nil
        }
        listener = ListenerConfiguration(host: host, port: port)
        self.application = application
    }
}

extension Settings {
    /// nil where it is not set.
    fileprivate func port(_ key: String) -> Int? {
        optionalString(key) == nil ? nil : int(key, default: 0, in: 0...65_535)
    }
}
