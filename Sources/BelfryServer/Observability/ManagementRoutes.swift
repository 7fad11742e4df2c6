import BelfryAPI
import Hummingbird

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
