import Hummingbird

/// The management port: what Prometheus scrapes and what a supervisor asks. It shows no customer's data.
struct ManagementRoutes: Sendable {
    let metrics: PrometheusRegistry
    let health: Health

    func responder() -> some HTTPResponder<BasicRequestContext> {
        let router = Router(context: BasicRequestContext.self)
        router.get("metrics") { _, _ in
            Response(
                status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text() + ProcessMetrics.text())))
        }
        router.get("health/live") { _, _ in HTTPResponse.Status.ok }
        router.get("health/ready") { _, _ in
            await health.isReady ? HTTPResponse.Status.ok : .serviceUnavailable
        }
        return router.buildResponder()
    }
}
