package import BelfryService
import Glibc

/// An address to listen on.
package struct ListenerConfiguration: Sendable {
    /// `<prefix>.host`, default `127.0.0.1`.
    package var host: String
    /// `<prefix>.port`, 0...65535; 0 takes any free one.
    package var port: Int
    /// `<prefix>.tls.certificate` and `<prefix>.tls.key`, paths; without both the listener speaks plain HTTP.
    /// `<prefix>.tls.version.max`, `1.2` or `1.3`, default `1.3`.
    package var tls: TLSFiles?

    /// The URL as clients write it; port 0 stands for one that the system draws.
    package var url: String { "\(tls == nil ? "http" : "https")://\(Self.inURL(host)):\(port)" }

    /// An IPv6 address stands in brackets. Source: RFC 3986 §3.2.2.
    static func inURL(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// The host as URLs have it: an IPv6 address without brackets, an IPv4 address with all its parts, `0.0.0.0` for a star.
    static func plain(_ host: String) -> String {
        if host == "*" { return "0.0.0.0" }
        if host.hasPrefix("["), host.hasSuffix("]"), host.contains(":") { return String(host.dropFirst().dropLast()) }
        var address = in_addr()
        guard inet_aton(host, &address) != 0 else { return host }
        return String(cString: inet_ntoa(address))
    }

    /// The URL for clients on this machine.
    package var localURL: String { Self.local(url) }

    /// The URL of a listener for clients on this machine: a host that stands for all addresses is none to connect to.
    static func local(_ url: String) -> String {
        url.replacing("//0.0.0.0:", with: "//localhost:").replacing("//[::]:", with: "//localhost:")
    }

    /// - Parameter tls: nil for plain HTTP.
    init(host: String, port: Int, tls: TLSFiles? = nil) {
        self.host = host
        self.port = port
        self.tls = tls
    }

    init(_ settings: Settings, prefix: String, port fallback: Int) {
        host = Self.plain(settings.string("\(prefix).host", default: "127.0.0.1"))
        port = settings.int("\(prefix).port", default: fallback, in: 0...65_535)
        let certificate = settings.optionalString("\(prefix).tls.certificate")
        let key = settings.optionalString("\(prefix).tls.key")
        let versionMax = settings.choice("\(prefix).tls.version.max", default: TLSFiles.VersionMax.tls13)
        switch (certificate, key) {
        case (let certificate?, let key?):
            tls = TLSFiles(certificate: certificate.absolutePath, key: key.absolutePath, versionMax: versionMax)
        case (nil, nil): break
        default: settings.note("\(prefix).tls.certificate and \(prefix).tls.key go together, only one of them is set")
        }
    }
}

/// The limits on a listener's connections.
package struct ConnectionConfiguration: Sendable {
    /// `http.connections.max`, 1...1,000,000, default 10,000.
    package var totalMax: Int
    /// `http.connections.address.max`, 1...1,000,000, default 5,000: from one address.
    package var perAddressMax: Int
    /// `http.unread.mib`, 1...65,536, default 256: responses that clients have not read, for all connections together.
    package var unreadBytesMax: Int

    init(_ settings: Settings) {
        totalMax = settings.int("http.connections.max", default: 10_000, in: 1...1_000_000)
        perAddressMax = settings.int("http.connections.address.max", default: 5_000, in: 1...1_000_000)
        unreadBytesMax = settings.int("http.unread.mib", default: 256, in: 1...65_536) << 20
    }
}

/// The limits on the head of a request.
package struct HeadConfiguration: Sendable {
    /// `http.headers.bytes.max`, 1,024...1,048,576, default 32,768: the request line and all headers.
    package var bytesMax: Int
    /// `http.headers.max`, 10...1,000, default 100.
    package var countMax: Int

    init(_ settings: Settings) {
        bytesMax = settings.int("http.headers.bytes.max", default: 32_768, in: 1_024...1_048_576)
        countMax = settings.int("http.headers.max", default: 100, in: 10...1_000)
    }
}

/// The time limits of a connection, whatever its client does.
package struct TimeoutConfiguration: Sendable {
    /// `http.idle.seconds`, 1...3,600, default 75: without a request, or with an incomplete head.
    package var idle: Duration
    /// `http.request.seconds`, 1...600, default 30: from a request's head to the last byte of its response.
    package var request: Duration

    init(_ settings: Settings) {
        idle = settings.seconds("http.idle.seconds", default: 75, in: 1...3_600)
        request = settings.seconds("http.request.seconds", default: 30, in: 1...600)
    }
}

extension RequestLimiter.Options {
    /// `http.trusted.proxies`: addresses and blocks, separated by commas; default none.
    /// `limit.<kind>.per.second`, 0...1,000,000, where 0 is no limit; `limit.<kind>.burst`, 1...1,000,000.
    init(_ settings: Settings) {
        self.init(
            limits: [
                .devices: settings.rateLimit("limit.devices", perSecond: 0, burst: 10_000),
                .sender: settings.rateLimit("limit.senders", perSecond: 1_000, burst: 10_000),
                .admin: settings.rateLimit("limit.admin", perSecond: 100, burst: 1_000),
                .browsers: settings.rateLimit("limit.browsers", perSecond: 5, burst: 100),
            ].compactMapValues(\.self),
            proxies: TrustedProxies(settings.blocks("http.trusted.proxies")))
    }
}

extension Settings {
    fileprivate func rateLimit(_ key: String, perSecond: Int, burst: Int) -> RateLimit? {
        let perSecond = int("\(key).per.second", default: perSecond, in: 0...1_000_000)
        let burst = int("\(key).burst", default: burst, in: 1...1_000_000)
        return perSecond > 0 ? RateLimit(perSecond: perSecond, burst: burst) : nil
    }

    fileprivate func blocks(_ key: String) -> [NetworkBlock] {
        words(key).compactMap { text in
            if let block = NetworkBlock(text) { return block }
            return fault(key, "has `\(text.quotable)`, it has to be addresses or blocks such as 10.0.0.0/8", nil)
        }
    }
}

/// The dashboard.
package struct DashboardConfiguration: Sendable {
    /// `dashboard.enabled`, default true.
    package var isEnabled: Bool
    /// `dashboard.port`, 0...65535, and `dashboard.host`: a listener of its own, with the certificate of the main one; nil serves it
    /// on the main port.
    package var listener: ListenerConfiguration?
    /// `dashboard.session.idle.minutes`, 5...10,080, default 480, and `dashboard.session.hours`, 1...8,760, default 168.
    package var lifetime: SessionLifetime
    /// `dashboard.sso.issuers`: names, and for each the settings `dashboard.sso.<name>.…`.
    package var issuers: [Issuer]
    /// `dashboard.password.login`, default true.
    package var takesPasswords: Bool
    /// `public.url`, default the host that the browser names, if it can be believed; see `ServerAddress`.
    package var publicURL: String? { address.publicURL }
    package private(set) var address: ServerAddress
    /// `dashboard.passwords.leaked.file`, default none: passwords that are refused.
    package var leakedPasswords: LeakedPasswords?
    /// `dashboard.map.tiles`, the address of a server of map tiles, and `dashboard.map.attribution`, whose map it is; nil, the default,
    /// draws maps on an outline of the world.
    package var mapTiles: MapTiles?

    init(_ settings: Settings) {
        isEnabled = settings.bool("dashboard.enabled", default: true)
        let hasPort = settings.optionalString("dashboard.port") != nil
        let listener = ListenerConfiguration(settings, prefix: "dashboard", port: 0)
        self.listener = isEnabled && hasPort ? listener : nil
        lifetime = SessionLifetime(
            idle: settings.seconds("dashboard.session.idle.minutes", default: 480, in: 5...10_080) * 60,
            absolute: settings.seconds("dashboard.session.hours", default: 168, in: 1...8_760) * 3_600)
        issuers = settings.issuers()
        takesPasswords = settings.bool("dashboard.password.login", default: true)
        if !takesPasswords && issuers.isEmpty {
            settings.note(
                "dashboard.password.login is false, and dashboard.sso.issuers is empty: nobody could log in")
        }
        address = ServerAddress(settings)
        mapTiles = Self.tiles(settings)
        let key = "dashboard.passwords.leaked.file"
        guard let path = settings.optionalString(key), !path.isEmpty else { return }
        do { leakedPasswords = try LeakedPasswords(path: path.absolutePath) } catch {
            leakedPasswords = settings.fault(key, error.problem, nil)
        }
    }

    /// - Parameter isSecure: whether the dashboard's listener speaks TLS.
    func serverAddress(isSecure: Bool) -> ServerAddress {
        var address = address
        address.isSecure = isSecure
        return address
    }

    private static func tiles(_ settings: Settings) -> MapTiles? {
        let attribution = settings.string("dashboard.map.attribution", default: "")
        guard let template = settings.optionalString("dashboard.map.tiles"), !template.isEmpty else { return nil }
        guard let tiles = MapTiles(template: template, attribution: attribution) else {
            return settings.fault(
                "dashboard.map.tiles",
                "is `\(template.quotable)`, it has to be an https URL with {z}, {x} and {y}, such as https://tile.example.org/{z}/{x}/{y}.png",
                nil)
        }
        return tiles
    }
}
