import Logging

/// The certificates of the listeners with TLS.
struct Certificates {
    let http: Certificate?
    let management: Certificate?
    let gateway: Certificate?
    /// The dashboard's own certificate, or else that of the main listener.
    let dashboard: Certificate?
    private let ownDashboard: Certificate?

    /// Throws `ConfigurationFaults` when a pair cannot be used.
    init(_ configuration: ServerConfiguration, obeysSignals: Bool, logger: Logger) throws {
        func certificate(_ listener: String, _ files: TLSFiles?) throws -> Certificate? {
            guard let files else { return nil }
            do {
                return try Certificate(
                    listener: listener, files: files, clock: SystemClock(), pause: configuration.certificatePause,
                    obeysSignals: obeysSignals, logger: logger)
            } catch {
                throw ConfigurationFaults(lines: ["\(listener).tls: \(error)"])
            }
        }
        http = try certificate("http", configuration.http.tls)
        management = try certificate("management", configuration.management.tls)
        gateway = try certificate("gateway", configuration.gateway?.tls)
        ownDashboard = try certificate("dashboard", configuration.dashboard.listener?.tls)
        dashboard = ownDashboard ?? http
    }

    var all: [Certificate] { [http, management, gateway, ownDashboard].compactMap(\.self) }
}
