import HTTPTypes
package import Hummingbird

/// A fault that keeps a server from working.
package struct HealthFault: Sendable, Hashable {
    package enum Part: String, Sendable, CaseIterable { case server, database, keyRing = "key_ring", disk }

    package let part: Part
    /// The reason for an operator: it may name hosts and files.
    package let reason: String

    package init(_ part: Part, _ reason: String) {
        self.part = part
        self.reason = reason
    }
}

/// The health routes for load balancers and supervisors: `/health/live` and `/health/ready`.
package struct HealthRoutes: Sendable {
    private let faults: @Sendable () async -> [HealthFault]
    private let notices: @Sendable () async -> [String]

    /// - Parameters:
    ///   - notices: what wants an operator and keeps no server from working, such as a parked platform.
    ///   - faults: called for each `/health/ready`; it has to answer in time by itself.
    package init(
        notices: @escaping @Sendable () async -> [String] = { [] },
        faults: @escaping @Sendable () async -> [HealthFault]
    ) {
        self.notices = notices
        self.faults = faults
    }

    /// The public routes: they name what is wrong, without reasons.
    package func add(to router: Router<APIContext>) {
        router.serve("health/live", [.get: { _, _ in Self.live() }])
        router.serve("health/ready", [.get: { _, _ in await ready(withReasons: false) }])
    }

    /// The process responds, whatever else is wrong: a supervisor has no reason to end it.
    package static func live() -> Response { response(.ok, "live", []) }

    package func isReady() async -> Bool { await faults().isEmpty }

    package func ready(withReasons: Bool) async -> Response {
        let faults = await faults()
        let notices = withReasons ? await notices() : nil
        return faults.isEmpty
            ? Self.response(.ok, "ready", [], notices)
            : Self.response(.serviceUnavailable, "unready", faults, withReasons: withReasons, notices)
    }

    private static func response(
        _ status: HTTPResponse.Status, _ word: String, _ faults: [HealthFault], withReasons: Bool = false,
        _ notices: [String]? = nil
    ) -> Response {
        .object(status: status, headers: [.cacheControl: "no-store"]) { json in
            json.string("status", word)
            json.array("faults", faults) { json, fault in
                json.object { json in
                    json.string("part", fault.part.rawValue)
                    if withReasons { json.string("reason", fault.reason) }
                }
            }
            if let notices, !notices.isEmpty { json.strings("notices", notices) }
        }
    }
}
