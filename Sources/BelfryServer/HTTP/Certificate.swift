import BelfryService
import Logging
import Metrics
import NIOSSL
import ServiceLifecycle
import Synchronization
import UnixSignals

/// The present certificate of a listener: new connections get the newest valid one, old ones keep theirs.
///
/// The files are checked every few seconds, and at once on SIGHUP. A new pair that cannot be used is reported once, and
/// the old one is kept.
final class Certificate: Service {
    private let listener: String
    private let files: TLSFiles
    private let clock: any WallClock
    private let pause: Duration
    private let obeysSignals: Bool
    private let logger: Logger
    private let held: Mutex<Held>

    private struct Held {
        var identity: TLSIdentity
        /// The stamps of the files when they were last read, whatever the result.
        var stamps: TLSFiles.FileStamps
        /// Why they were refused then. Their mode, a busy moment or time alone may end it, and no stamp changes.
        var refusal: String?
    }

    /// Throws `TLSFault` when the pair cannot be used. An expired one can: clients may be configured to accept it.
    init(
        listener: String, files: TLSFiles, clock: any WallClock, pause: Duration, obeysSignals: Bool, logger: Logger
    ) throws {
        self.listener = listener
        self.files = files
        self.clock = clock
        self.pause = pause
        self.obeysSignals = obeysSignals
        self.logger = logger
        let stamps = TLSFiles.FileStamps(files)
        let identity = try files.load()
        held = Mutex(Held(identity: identity, stamps: stamps))
        if let fault = identity.fault(at: clock.now) { report(fault) }
        measure()
    }

    var context: NIOSSLContext { held.withLock { $0.identity.context } }

    func run() async {
        await cancelWhenGracefulShutdown { [self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.lookNowAndThen() }
                if obeysSignals { group.addTask { await self.lookWhenSignalled() } }
                await group.waitForAll()
            }
        }
    }

    private func lookNowAndThen() async {
        while (try? await clock.sleep(for: pause)) != nil { reloadIfChanged() }
    }

    private func lookWhenSignalled() async {
        for await _ in await UnixSignalsSequence(trapping: .sighup) {
            reload(TLSFiles.FileStamps(files), isAsked: true)
        }
    }

    /// Reads the files again if their stamps have changed, or they were refused.
    func reloadIfChanged() {
        let stamps = TLSFiles.FileStamps(files)
        if held.withLock({ $0.stamps != stamps || $0.refusal != nil }) { reload(stamps) }
        measure()
    }

    private func reload(_ stamps: TLSFiles.FileStamps, isAsked: Bool = false) {
        do {
            let new = try files.load()
            if let fault = new.fault(at: clock.now) { throw fault }
            let isOther = held.withLock { held in
                defer { held = Held(identity: new, stamps: stamps) }
                return held.identity.fingerprint != new.fingerprint
            }
            guard isOther else { return }
            Metric.certificateReloads(listener, "taken").increment()
            logger.info("a new certificate is in use", metadata: ["listener": "\(listener)"])
        } catch {
            let refusal = "\(error)"
            let isNews = held.withLock { held in
                defer { (held.stamps, held.refusal) = (stamps, refusal) }
                return held.stamps != stamps || held.refusal != refusal
            }
            guard isNews || isAsked else { return }
            Metric.certificateReloads(listener, "refused").increment()
            report(error)
        }
        measure()
    }

    private func report(_ fault: any Error) {
        logger.error(
            "the certificate files of a listener cannot be used, the certificate is not renewed",
            metadata: ["listener": "\(listener)", "error": "\(fault)"])
    }

    private func measure() {
        let left = held.withLock { $0.identity.validUntil } - clock.now
        Metric.certificateDays(listener).set(left.milliseconds / 86_400_000)
    }
}

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
