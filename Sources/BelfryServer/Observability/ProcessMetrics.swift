package import BelfryService
package import CoreMetrics
import Foundation
import Hummingbird
import Synchronization

/// The system's figures about this process, under the names that Prometheus clients share.
/// Source: Prometheus, "Writing client libraries", standard and process metrics; proc(5).
enum ProcessMetrics {
    static func text() -> String {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return """
            # HELP process_cpu_seconds_total User and system CPU time, in seconds.
            # TYPE process_cpu_seconds_total counter
            process_cpu_seconds_total \(cpu)
            # HELP process_open_fds Open file descriptors.
            # TYPE process_open_fds gauge
            process_open_fds \(files)
            # HELP process_max_fds File descriptors that the process may open.
            # TYPE process_max_fds gauge
            process_max_fds \(limit.rlim_cur)
            # HELP process_resident_memory_bytes Resident memory, in bytes.
            # TYPE process_resident_memory_bytes gauge
            process_resident_memory_bytes \(residentBytes)

            """
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    /// The second number of /proc/self/statm, in pages.
    private static var residentBytes: Int {
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    }
}

/// The management port: metrics for Prometheus and health for supervisors. It shows no customer's data.
struct ManagementRoutes: Sendable {
    let metrics: PrometheusRegistry
    let health: HealthRoutes

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let metrics: @Sendable () async -> Response = {
            let text = self.metrics.text() + ProcessMetrics.text() + (await readiness())
            return Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
        }
        let router = Router(context: BasicRequestContext.self)
        let answers: [(RouterPath, @Sendable () async -> Response)] = [
            ("metrics", metrics), ("health/live", { HealthRoutes.live() }),
            ("health/ready", { [health] in await health.ready(withReasons: true) }),
        ]
        for (path, answer) in answers {
            router.on(path, method: .get) { _, _ in await answer() }
            router.on(path, method: .head) { _, _ in await answer().createHeadResponse() }
        }
        return router.buildResponder()
    }

    /// The gauge that alerts read in place of `/health/ready`.
    private func readiness() async -> String {
        let name = "belfry_ready"
        let value = await health.isReady() ? 1 : 0
        return "# HELP \(name) \(MetricHelp.sentences[name] ?? "")\n# TYPE \(name) gauge\n\(name) \(value)\n"
    }
}

/// Keeps what a command counts, since its process has no metrics page: a server on the same database takes it into its own.
package final class CommandMetrics: MetricsFactory {
    private let counts = Mutex<[CommandCount.Series: Int64]>([:])

    private init() {}

    /// The metrics of this process, into which all counters count from now on. Not for a process that serves metrics itself.
    package static let ofProcess: CommandMetrics = {
        let metrics = CommandMetrics()
        MetricsSystem.bootstrap(metrics)
        return metrics
    }()

    /// Returns the counts since the last call, and resets them.
    package func taken() -> [CommandCount] {
        counts.withLock { counts in
            defer { counts = [:] }
            return counts.map { CommandCount($0.key, $0.value) }
        }
    }

    fileprivate func add(_ amount: Int64, to series: CommandCount.Series) {
        guard amount > 0 else { return }
        counts.withLock { $0[series, default: 0] += amount }
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let labels = dimensions.map { CommandCount.Label($0.0, $0.1) }
        return KeptCounter(metrics: self, series: CommandCount.Series(label, labels))
    }

    // Gauges and durations are of a process, and mean nothing in another.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        NOOPMetricsHandler.instance.makeMeter(label: label, dimensions: dimensions)
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        NOOPMetricsHandler.instance.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        NOOPMetricsHandler.instance.makeTimer(label: label, dimensions: dimensions)
    }

    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}
}

private final class KeptCounter: CounterHandler {
    private let metrics: CommandMetrics
    private let series: CommandCount.Series

    init(metrics: CommandMetrics, series: CommandCount.Series) {
        self.metrics = metrics
        self.series = series
    }

    func increment(by amount: Int64) { metrics.add(amount, to: series) }
    func reset() {}
}
