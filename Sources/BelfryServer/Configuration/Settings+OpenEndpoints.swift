import BelfryService
package import FoundationEssentials

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
        host = settings.string("gateway.host", default: "127.0.0.1")
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
        let host = settings.string("genero.host", default: "127.0.0.1")
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
