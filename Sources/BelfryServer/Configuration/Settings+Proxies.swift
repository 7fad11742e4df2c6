import BelfryProviders
import FoundationEssentials
import Tunnel

extension ProxyPlan {
    /// `proxy.default.url`, and `proxy.<family>.url` for each ``ProviderFamily``: `http://user@host:port`,
    /// `socks5://user@host:port`, or `none`; and beside each a `….password.file`.
    init(_ settings: Settings) {
        self.init(standard: settings.way("default") ?? .direct)
        for family in ProviderFamily.allCases {
            let old = Self.oldNames(of: family)
            for (_, name) in old { settings.know(oldNames: "\(name)Host", "\(name)Port") }
            own[family] = settings.way(family.rawValue) ?? settings.oldWay(old)
        }
    }

    /// The settings of PCF, where SOCKS took precedence over HTTP: `push_apns_socksProxyHost`,
    /// `push_{gcm,fcm}_{socks,http}ProxyHost`, each with its port. Source: PCF Push Notification Service, operator's
    /// guide.
    private static func oldNames(of family: ProviderFamily) -> [(kind: Proxy.Kind, name: String)] {
        switch family {
        case .apns: [(.socks5, "push_apns_socksProxy")]
        case .gcm: [(.socks5, "push_gcm_socksProxy"), (.http, "push_gcm_httpProxy")]
        // The older versions of PCF spoke to Google through these alone.
        case .fcm: [(.socks5, "push_fcm_socksProxy"), (.http, "push_fcm_httpProxy")] + oldNames(of: .gcm)
        default: []
        }
    }
}

extension Settings {
    /// The longest password of any proxy, with room for the end of the line.
    private static let passwordBytesMax = 1_024

    /// nil when nothing is set.
    fileprivate func way(_ name: String) -> ProxyPlan.Way? {
        let (key, file) = ("proxy.\(name).url", "proxy.\(name).password.file")
        let (url, passwordFile) = (secret(key), optionalString(file))
        guard let url, url.lowercased() != "none" else {
            if passwordFile != nil { note("\(file) is set, and there is no proxy at \(key)") }
            return url.map { _ in .direct }
        }
        do {
            return .through(try Proxy(url: url, password: try passwordFile.map(Self.password)))
        } catch let error as ProxyFault {
            // The URL may contain a password, so it is not repeated.
            note("\(key) cannot be used: \(error)")
        } catch {
            note("\(file) cannot be used: \(error)")
        }
        return nil
    }

    private static func password(in file: String) throws -> String {
        let file = file.absolutePath
        let bytes = try file.contents().inUTF8
        guard bytes.count <= passwordBytesMax, let text = String(bytes: bytes, encoding: .utf8) else {
            throw ConfigurationFaults(lines: ["\(file) holds more than \(passwordBytesMax) bytes, or no text"])
        }
        let password = text.hasSuffix("\r\n") || text.hasSuffix("\n") ? String(text.dropLast()) : text
        guard !password.isEmpty else { throw ConfigurationFaults(lines: ["\(file) is empty"]) }
        return password
    }

    /// The first of the old names that was given.
    fileprivate func oldWay(_ names: [(kind: Proxy.Kind, name: String)]) -> ProxyPlan.Way? {
        for (kind, name) in names {
            guard let host = oldValue("\(name)Host") else { continue }
            do throws(ProxyFault) {
                return .through(try Proxy(kind, host: host, port: Int(oldValue("\(name)Port") ?? "") ?? 0))
            } catch {
                note("\(name)Host and \(name)Port cannot be used: \(error)")
            }
        }
        return nil
    }
}
